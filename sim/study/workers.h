/* Parallel runs: processes that take the next run from a shared counter, each with a shard of its own. */
#ifndef ORRERY_STUDY_WORKERS_H
#define ORRERY_STUDY_WORKERS_H

#include "sim/study/shards.h"

/* A run to do: a seed at a point, and the tried value in a search. */
struct task {
    int64_t run_id;
    size_t point, seed; /* numbers, from 0 */
    char value[64];     /* "": no search */
};

/* The runs to do, and the context of doing them. */
struct work {
    const struct study *study;
    const struct sweep_options *options;
    const struct sweep_runner *runner;
    const struct shards *shards;
    size_t n_tasks;
    const struct task *tasks;
    struct sweep_progress progress; /* progress before these runs */
    size_t first_shard;    /* worker i writes shard first_shard + i */
    size_t failures_shard; /* shard for runs that killed their workers */
};

/* Does all runs, on as many processes as the options say; with runner->apart, each run in a process of its own. A
 * run that fails, or kills or ends its worker, leaves a record of that. Returns 0, SIM_E_INTERRUPTED, SIM_E_STORE or
 * SIM_E_NOMEM. */
int workers_run(const struct work *work, struct diag *diag);

/* Calls a function in a process of its own. Returns its code, with its findings; SIM_E_POLICY if the process died. */
int workers_apart(int (*act)(void *context, struct diag *diag), void *context, struct diag *diag);

/* Builds the run of a task. Returns 0 or SIM_E_NOMEM. */
int workers_describe(const struct study *study, const struct task *task, struct arena *arena, struct study_run *run);

/* Processes on several machines that do the runs of a study together: rank 0 hands out runs, the others write shards
 * into a shared directory. */
struct ranks {
    int rank, n;

    /* On rank 0: hands out the work, like workers_run. */
    int (*run)(const struct work *work, struct diag *diag);

    /* On rank 0: releases the other ranks, after the last work or if there will be none. */
    void (*release)(void);

    /* On the other ranks: does the runs that rank 0 hands out, until it releases them. `work` has no tasks. Returns
     * 0 or the code of what stopped this rank, with findings. */
    int (*serve)(const struct work *work, struct diag *diag);
};

#endif
