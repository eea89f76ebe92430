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

struct metric_list;

/* How the roof does one run: loads the scenario with the run's settings over it, simulates, and writes it to `results` under
 * the run's id. Called in worker processes. Metrics of the run, for searches, go to `metrics` in the arena. Returns 0 or a
 * negative code with findings. */
struct sweep_runner {
    void *context;
    int (*run)(void *context, const struct study *study, const struct study_run *run, struct results *results,
               struct arena *arena, struct metric_list *metrics, struct diag *diag);
};

struct sweep_progress {
    size_t n_done, n_failed, n_runs;
    double elapsed_s;
};

struct sweep_options {
    const char *output;
    int workers;               /* 0: as many as there are cores */
    size_t shard, n_shards;    /* this is shard 1 .. n_shards; 0, 0: the whole study */
    bool resume;               /* take what a killed sweep of the same study has finished */
    const volatile sig_atomic_t *interrupt;
    void (*look)(void *context, const struct sweep_progress *progress); /* in the parent, now and then; may be NULL */
    void *look_context;
};

/* Returns 0 when every run is in the output. A run that fails is kept with status 'failed' and a warning row that says why;
 * the others are done all the same, and the first failure's code is returned with its findings. */
int sweep(const struct study *study, const struct sweep_options *options, const struct sweep_runner *runner,
          struct diag *diag);

/* Merges results files of one study, such as shards from several machines, into a new file `output`. Runs that are in
 * several of them must have equal result hashes. Returns 0 or a negative code with findings. */
int sweep_merge(const char *const *inputs, size_t n_inputs, const char *output, struct diag *diag);

#endif
