/* What a JSON file evidently is, by its keys. A file for another verb gets one message, not one for each key. */
#ifndef ORRERY_CLI_FILE_KIND_H
#define ORRERY_CLI_FILE_KIND_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"

enum file_kind { FILE_SCENARIO, FILE_STUDY, FILE_FIGURE, FILE_KINDS, FILE_TRACE };

/* Checks that a loaded document is not evidently of another kind than the one expected, such as a trace. `path` is its
 * file. Returns 0, also when its kind is not evident, or SIM_E_USAGE with a finding that names the verb for it. */
int file_kind_check(const struct config *config, const char *path, enum file_kind expected, struct diag *diag);

/* Loads the file and checks it; what is no document, or a stream, passes. FILE_KINDS: results are expected; FILE_TRACE:
 * a trace. Returns as file_kind_check. */
int file_kind_check_path(const char *path, enum file_kind expected, struct diag *diag);

/* Checks that a file may be a results database, or text. Returns 0, also if it is empty or cannot be read, or
 * SIM_E_DATA with a finding that says what it is: binary data of a kind, JSON that is cut off, a scenario. */
int file_kind_check_results(const char *path, struct diag *diag);

#endif
