/* Shared by schedulers that choose the jobs of each round anew: the jobs with GPUs in order of submission, the times of
 * rounds, and the plan of a round. Rounds begin at multiples of their length. Jobs of CPUs alone start at once. */
#ifndef ORRERY_POLICIES_SCHEDULER_ROUNDS_H
#define ORRERY_POLICIES_SCHEDULER_ROUNDS_H

#include "policies/scheduler/cpu_jobs.h"

#include <stdbool.h>
#include <stddef.h>

/* The first member of a job's slot. */
struct round_job {
    struct ranked waiting; /* for cpu_jobs */
    const struct job_view *view;
    bool is_chosen;        /* for the round to come */
};

/* Zero-initialised. */
struct rounds {
    struct cpu_jobs cpu_jobs;
    struct round_job **all; /* [n_all] in order of submission */
    size_t n_all, all_capacity;
    struct round_job **jobs; /* [n] the oldest of these, in the order of a decision */
    size_t n, capacity;
    sim_ns decided_ns;       /* of the last round, plus 1; 0: none */
};

void rounds_fini(struct rounds *rounds);

/* For the note of every job. Returns 0 or SIM_E_NOMEM. */
int rounds_notify(struct rounds *rounds, const struct job_note *note);

/* Whether a round begins now. Then `jobs` has the oldest jobs, at most `depth`, none of them chosen. Returns 1, 0 or
 * SIM_E_NOMEM. */
int rounds_begin(struct rounds *rounds, const struct cluster_view *view, sim_ns round_ns, int64_t depth);

/* Sorts `jobs`. The arguments of `before` point to pointers to jobs. */
void rounds_sort(struct rounds *rounds, int (*before)(const void *, const void *));

/* Chooses a job if it is not chosen and fits into *gpus. */
void rounds_choose(struct round_job *job, int64_t *gpus);

/* Preempts running jobs that are not chosen, and starts chosen ones. */
void rounds_apply(const struct rounds *rounds, struct job_plan *plan, const char *lost, const char *won);

/* Ends every decision: starts jobs of CPUs alone, and asks for the next round. Returns 0 or a negative code. */
int rounds_end(struct rounds *rounds, const struct cluster_view *view, sim_ns round_ns, struct job_plan *plan);

#endif
