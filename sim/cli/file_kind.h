/* What a JSON file evidently is, by its keys. A file for another verb gets one message, not one for each key. */
#ifndef ORRERY_CLI_FILE_KIND_H
#define ORRERY_CLI_FILE_KIND_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"

enum file_kind { FILE_SCENARIO, FILE_STUDY, FILE_FIGURE, FILE_LLM, FILE_BASELINE, FILE_TRACE, FILE_RESULTS };

/* Checks that a loaded document is not evidently of another kind than the one expected, such as a trace. `path` is its
 * file. Returns 0, also when its kind is not evident, or SIM_E_USAGE with a finding that names the verb for it. */
int file_kind_check(const struct config *config, const char *path, enum file_kind expected, struct diag *diag);

/* As file_kind_check, of a file that does not load because Python's json module wrote Infinity: whether it is a
 * config.json of Hugging Face. Any other file passes, and so does this one where an LLM is expected. */
int file_kind_check_python(const char *path, enum file_kind expected, struct diag *diag);

/* Loads the file and checks it; a stream passes, and so does what is no document, except a table or a trace in place of
 * a scenario, a study or a figure. Returns as file_kind_check. */
int file_kind_check_path(const char *path, enum file_kind expected, struct diag *diag);

/* Checks that an argument "FILE" or "FILE:RUN" may name results. Returns 0, also if the file cannot be read. SIM_E_DATA
 * with a finding that says what the file is: empty, binary data of a kind, JSON that is cut off, a scenario, a trace.
 * SIM_E_USAGE for the name of a scenario or study that comes with the program. */
int file_kind_check_results(const char *argument, struct diag *diag);

/* Checks that an argument may name an LLM for a verb: not a results database, a scenario, a study, a trace or a table.
 * Returns 0 or SIM_E_USAGE with a finding. */
int file_kind_check_llm(const char *argument, const char *verb, struct diag *diag);

/* The same for a baseline of 'orrery check'. */
int file_kind_check_baseline(const char *path, struct diag *diag);

/* Checks that a file may be an engine's log: neither results nor a scenario or the like. Returns 0 or SIM_E_USAGE with
 * a finding. */
int file_kind_check_log(const char *path, struct diag *diag);

#endif
