/* A scenario on its way to a run: found, loaded, options laid over it, bound, with everything that belongs to it. */
#ifndef ORRERY_CLI_RUN_SETUP_H
#define ORRERY_CLI_RUN_SETUP_H

#include "sim/cli/outputs.h"
#include "sim/cli/plugins.h"
#include "sim/core/config/config.h"
#include "sim/core/hash.h"
#include "sim/study/study.h"
#include "sim/world/scenario.h"

struct setup {
    struct arena arena;
    struct config *config;
    const struct plugins *plugins; /* may be NULL */
    struct config_families families;
    struct catalog catalog;
    struct hash_sum files; /* that the catalog has read */
    struct scenario scenario;
};

/* What the command line lays over the scenario; NULL members change nothing. */
struct setup_options {
    const struct option_texts *settings; /* --set, in their order */
    const char *seed, *keep, *name;
    const struct plugins *plugins; /* of struct cli */
    const struct study_run *run;   /* a run of a study: its settings and its seed */
    struct catalog_memory *memory; /* of a process with many runs */
};

/* Loads a scenario: a path, or the name of one that comes with the program ("quickstart"). Returns 0 or a negative code
 * with findings. setup_fini may be called in either case. */
int setup_load(struct setup *setup, const char *scenario, const struct setup_options *options, struct diag *diag);

/* The same from the resolved JSON of an earlier run, which `name` stands for in findings. */
int setup_load_text(struct setup *setup, const char *name, const char *json, const struct plugins *plugins,
                    struct diag *diag);

void setup_fini(struct setup *setup);

/* The resolved scenario as JSON, which loads to the same one. Returns 0 or SIM_E_NOMEM. */
int setup_dump(const struct setup *setup, struct text *json);

/* The policies in force (scenario_policies), and behind them the plug-ins that they come from. */
void setup_policies(const struct setup *setup, struct text *text);

/* --- The files that a bound configuration names by path: traces above all --- */

/* Takes the path of a file, and returns 0 or a negative code, which ends the walk. */
typedef int (*named_file_fn)(void *context, const char *path);

/* Visits all that `bound` names, in the order of the fields, of lists, maps and the alternatives that were chosen, too. Returns
 * 0 or what `visit` returned. */
int named_files_each(const struct config_families *families, const struct config_field *fields, const void *bound,
                     named_file_fn visit, void *context);

/* The hash over the bytes of all files that the scenario names by path, traces above all, in its order, and of what the
 * catalog has read so far: GPUs, LLMs, engines, calibrations. An empty text without any, and with a warning when one of them is a pipe or a device, which can be read only once. Returns 0,
 * SIM_E_IO or SIM_E_NOMEM. */
int setup_hash_files(const struct setup *setup, char hex[HASH_HEX_CHARS], struct diag *diag);

/* Whether one of the outputs is a file that the scenario was loaded from or names by path, or a plug-in. Returns 0 or
 * SIM_E_USAGE with a finding. */
int setup_check_outputs(const struct setup *setup, struct outputs *outputs);

#endif
