/* Shared by schedulers that divide all GPUs among all jobs again whenever a job arrives or leaves. GPUs are real
 * numbers, down to 1e-6. If a placer places whole GPUs, parts are rounded to whole numbers, up for jobs with the
 * largest remainders. A job that finds no room for all of its part then gets as much of it as fits.
 *
 * Jobs of CPUs alone have no part: they start when they fit and are never preempted.
 *
 * A job's delay before it works (restarts) does not reduce its part. On an unlimited cluster jobs get what they
 * request. The cost of a decision grows with the number of jobs in the system. */
#ifndef ORRERY_POLICIES_SCHEDULER_FLUID_H
#define ORRERY_POLICIES_SCHEDULER_FLUID_H

#include "sim/world/policy/scheduler.h"

#include <stddef.h>

struct fluid_job {
    const struct job_view *job;
    double size;   /* for the scheduler's own use */
    double weight; /* its share of the GPUs; all weights add up to 1 */
    double gpus;   /* GPUs that it gets */
};

/* Zero-initialised. */
struct fluid {
    size_t n, n_all, capacity;
    struct fluid_job *jobs; /* [n_all] in the system, in any order, but the n with GPUs first */
    int code;               /* SIM_E_NOMEM once a job could not be kept */
};

void fluid_fini(void *state);

/* For policies whose state begins with a struct fluid. */
void fluid_notify(void *state, const struct cluster_view *view, const struct job_note *note);

/* Gives every job with GPUs its share: first the jobs that shrink, then the others. Then starts jobs without GPUs.
 * Leaves both groups in order of submission. */
void fluid_divide(struct fluid *fluid, const struct cluster_view *view, struct job_plan *plan);

#endif
