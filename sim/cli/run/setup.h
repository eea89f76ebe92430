/* A scenario that is loaded, with options applied, bound, and with all it needs for a run. */
#ifndef ORRERY_CLI_RUN_SETUP_H
#define ORRERY_CLI_RUN_SETUP_H

#include "sim/cli/paths.h"
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
    struct hash_sum files; /* hash of files that the catalog has read */
    struct catalog_memory memory; /* of the catalog, unless its options name another: shared by the worlds of a call */
    struct scenario scenario;
};

/* Changes from the command line; NULL members change nothing. */
struct setup_options {
    const struct option_texts *settings; /* --set, in their order */
    const char *seed, *keep, *name;
    const struct plugins *plugins; /* as in struct cli */
    const char *data;              /* as in struct cli */
    const struct study_run *run;   /* a run of a study: its settings and its seed */
    struct catalog_memory *memory; /* shared by the runs of one process; NULL: by those of the setup */
};

/* Loads a scenario: a path, or the name of one that comes with the program ("quickstart"). Returns 0 or a negative
 * code with findings; setup_fini may follow either. */
int setup_load(struct setup *setup, const char *scenario, const struct setup_options *options, struct diag *diag);

/* Loads the site of a scenario, or a cluster that comes with the program ("dgx-h100"). Nothing need arrive there.
 * Returns like setup_load. */
int setup_load_site(struct setup *setup, const char *name, const struct setup_options *options, struct diag *diag);

/* The resolved scenario of a run, and the hash of the inputs that it read (NULL or empty: none). */
struct stored_scenario {
    const char *json, *trace_hash;
};

/* Loads the scenario of an earlier run from the results in the file `results`; `name` stands for it in findings.
 * Relative paths start at the current directory, or else at the one of `results` or of the data that comes with the
 * program: the first of these that has all files. If their files differ, it is the first one whose files have the
 * bytes that the run read; if none has, the first one, with a warning. Returns like setup_load. */
int setup_load_stored(struct setup *setup, const char *results, const char *name, const struct stored_scenario *stored,
                      const struct plugins *plugins, struct diag *diag);

/* Loads a scenario from JSON, with the options laid over it. Relative paths start at the current directory. */
int setup_load_json(struct setup *setup, const char *name, const char *json, const struct setup_options *options,
                    struct diag *diag);

void setup_fini(struct setup *setup);

/* Writes the resolved scenario as JSON, which loads to an equal one. Returns 0 or SIM_E_NOMEM. */
int setup_dump(const struct setup *setup, struct text *json);

/* Adds the policies in force (scenario_policies), then the plug-ins they come from. */
void setup_policies(const struct setup *setup, struct text *text);

/* --- The files that a bound configuration names by path: traces above all --- */

/* Called with the path of a file. Returns 0, or a negative code that ends the walk. */
typedef int (*named_file_fn)(void *context, const char *path);

/* Visits all paths in `bound`, in the order of the fields, including lists, maps and chosen alternatives. Returns 0
 * or the code of `visit`. */
int named_files_each(const struct config_families *families, const struct config_field *fields, const void *bound,
                     named_file_fn visit, void *context);

/* Whether a trace is a pipe or a device, which a second run cannot read. */
bool setup_reads_once(const struct setup *setup);

/* The hash of the content of all files that the scenario names by path, in order, and of the catalog files read so
 * far: GPUs, LLMs, engines, calibrations. Empty without any file. Empty with a warning if one is a pipe or device,
 * which can be read only once. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int setup_hash_files(const struct setup *setup, char hex[HASH_HEX_CHARS], struct diag *diag);

/* Checks that no output is a plug-in, or a file that the scenario was loaded from or names by path. Returns 0 or
 * SIM_E_USAGE with a finding. */
int setup_check_outputs(const struct setup *setup, struct outputs *outputs);

#endif
