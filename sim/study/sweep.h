/* Runs a study: on local cores, as one shard of several, or on ranks of MPI. The results file has the same rows in
 * each case.
 *
 * Every worker is a process that writes its finished runs to a shard file in the directory OUTPUT.shards, one
 * transaction per run. At the end the shards are merged, in order of run ids, into OUTPUT, which gets its name only
 * when complete. A sweep that resumes a killed one therefore finds all finished runs. */
#ifndef ORRERY_STUDY_SWEEP_H
#define ORRERY_STUDY_SWEEP_H

#include "sim/study/study.h"

#include <signal.h>
#include <stdbool.h>

/* The caller's functions for one run. Called in worker processes. */
struct sweep_runner {
    void *context;
    const char *version, *git_commit, *platform; /* as in struct run_info */
    const char *program; /* identifies this program: version, commit, hashes of it and of its plug-ins */
    bool apart; /* a process for every run: a run may leave something behind that changes the next one */

    /* Loads the scenario with the run's settings over it, simulates, and writes it to `results` under the run's id.
     * Returns 0 or a negative code with findings; then nothing of it is in the results. */
    int (*run)(void *context, const struct study *study, const struct study_run *run, struct results *results,
               struct diag *diag);

    /* Writes the files of the plug-ins in force in a run, which are at fault if it ends its process; empty: none. */
    void (*name_plugins)(void *context, const struct study *study, const struct study_run *run, char *files,
                         size_t files_bytes);

    /* The scenario_hash and trace_hash that `run` would write (an empty text for NULL). Returns 0 or a negative
     * code. */
    int (*identify)(void *context, const struct study *study, const struct study_run *run,
                    char scenario_hash[HASH_HEX_CHARS], char trace_hash[HASH_HEX_CHARS], struct diag *diag);
};

struct sweep_progress {
    size_t n_done, n_failed, n_runs; /* n_done includes an earlier sweep's; n_runs of a search: known so far */
    size_t n_found;                  /* of n_done: finished by an earlier sweep */
    double bytes; /* of the files with these runs */
};

struct sweep_options {
    const char *output;
    const struct ranks *ranks; /* NULL: this machine only; mpi.h */
    int workers;               /* 0: one per core */
    double limit_bytes;        /* of all runs' results together; 0: none */
    size_t shard, n_shards;    /* this is shard 1 .. n_shards; 0, 0: the whole study */
    bool resume;               /* keep runs that an earlier sweep of the study finished; run failed ones again */
    bool replaces;             /* an existing output stays until all runs are there, and gives way then */
    const volatile sig_atomic_t *interrupt; /* may be NULL */
    void (*on_progress)(void *context, const struct sweep_progress *progress); /* in the parent; may be NULL */
    void *progress_context;
};

/* The result. */
struct sweep_result {
    bool was_complete;             /* the output existed with all runs: nothing was done */
    size_t n_runs, n_found, n_failed;
    size_t n_unfit; /* of n_runs: points that do not fit */
};

/* Returns 0 if every run is in the output. A run that fails, or whose worker dies, is stored with status 'failed'
 * and a warning row with the reason. The other runs are still done, and the code of the first failed run is
 * returned, with findings. A run that ends with SIM_E_UNFIT is an answer: it gets the status 'unfit' and a warning row
 * with the reason. After SIM_E_INTERRUPTED, SIM_E_STORE and SIM_E_NOMEM, finished runs stay in the shards. SIM_E_STORE
 * is also returned if the results exceed the limit.
 * SIM_E_USAGE: the output holds something else, or shards of another sweep exist that this one does not resume.
 * `result` may be NULL. */
int sweep(const struct study *study, const struct sweep_options *options, const struct sweep_runner *runner,
          struct sweep_result *result, struct diag *diag);

/* Checks that the scenario loads and its world can be built: for one run per value of each axis, and for both ends
 * of a search. Returns 0, or the code of the first failure, with findings. What does not fit is a warning. */
int sweep_check(const struct study *study, const struct sweep_runner *runner, struct diag *diag);

/* Merges results files of one study, such as shards from several machines, into a new file `output`. A run in
 * several of them must have equal result hashes, and all runs must come from one world (alike.h). Without `partial`,
 * all runs of the study must exist. Returns 0 or a negative code with findings. */
int sweep_merge(const char *const *inputs, size_t n_inputs, const char *output, bool partial, struct diag *diag);

#endif
