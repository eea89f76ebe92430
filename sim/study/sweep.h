/* Doing the runs of a study: on local cores, as one shard of several, or as ranks of MPI. Whichever way, the results file
 * has the same rows.
 *
 * Every worker is a process of its own that writes what it finished to a shard file in the directory OUTPUT.shards, one
 * transaction per run; in the end the shards are merged, in order of run ids, into OUTPUT, which appears under its name only
 * when it is complete. So whatever kills a sweep, what was finished is found by the next one that resumes. */
#ifndef ORRERY_STUDY_SWEEP_H
#define ORRERY_STUDY_SWEEP_H

#include "sim/study/study.h"

#include <signal.h>
#include <stdbool.h>

/* How the roof does one run. Called in worker processes. */
struct sweep_runner {
    void *context;
    const char *version, *git_commit, *platform; /* as in struct run_info */
    const char *program; /* tells this program from any other: version, commit, hashes of it and of its plug-ins */
    bool apart; /* a process for every run: one that does a run may leave something behind that changes the next one */

    /* Loads the scenario with the run's settings over it, simulates, and writes it to `results` under the run's id.
     * Returns 0 or a negative code with findings; then nothing of it is in the results. */
    int (*run)(void *context, const struct study *study, const struct study_run *run, struct results *results,
               struct diag *diag);

    /* What `run` would write as scenario_hash and trace_hash (an empty text for NULL). Returns 0 or a negative code. */
    int (*identify)(void *context, const struct study *study, const struct study_run *run,
                    char scenario_hash[HASH_HEX_CHARS], char trace_hash[HASH_HEX_CHARS], struct diag *diag);
};

struct sweep_progress {
    size_t n_done, n_failed, n_runs; /* n_done: by now, those of a sweep before included; n_runs: of a search, so far known */
    size_t n_found;                  /* of n_done: finished by a sweep before */
};

struct sweep_options {
    const char *output;
    const struct ranks *ranks; /* NULL: on this machine alone; mpi.h */
    int workers;               /* 0: as many as there are cores */
    size_t shard, n_shards;    /* this is shard 1 .. n_shards; 0, 0: the whole study */
    bool resume;               /* take what a sweep of the same study before has finished; what failed is done again */
    const volatile sig_atomic_t *interrupt; /* may be NULL */
    void (*look)(void *context, const struct sweep_progress *progress); /* in the parent, now and then; may be NULL */
    void *look_context;
};

/* What came of it. */
struct sweep_result {
    bool was_complete;             /* the output was there with all runs: nothing was done */
    size_t n_runs, n_found, n_failed;
};

/* Returns 0 when every run is in the output. A run that fails, or whose worker dies, is kept with status 'failed' and a
 * warning row that says why; the others are done all the same, and the code of the first one that failed is returned, with
 * findings. SIM_E_INTERRUPTED, SIM_E_STORE and SIM_E_NOMEM: what is finished stays in the shards. SIM_E_USAGE: the output
 * holds something else, or there are shards of a sweep that this one does not go on with. `result` may be NULL. */
int sweep(const struct study *study, const struct sweep_options *options, const struct sweep_runner *runner,
          struct sweep_result *result, struct diag *diag);

/* Whether the scenario can be loaded and its world built: for one run per value of each axis, and for both ends of what is
 * searched. Returns 0, or the code of the first that cannot, with findings. */
int sweep_check(const struct study *study, const struct sweep_runner *runner, struct diag *diag);

/* Merges results files of one study, such as shards from several machines, into a new file `output`. Runs that are in
 * several of them must have equal result hashes, and all must be from one world (alike.h). Without `partial`, all runs of the study must be there. Returns 0 or a
 * negative code with findings. */
int sweep_merge(const char *const *inputs, size_t n_inputs, const char *output, bool partial, struct diag *diag);

#endif
