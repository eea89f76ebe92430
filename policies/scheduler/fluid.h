/* What the schedulers have in common that divide all GPUs anew among all jobs whenever one comes or goes. GPUs are
 * real numbers, down to 1e-6; where a placer places, they are rounded to whole ones, up for those that lose most by
 * it, and a job that finds no room for all of its part beside the others gets as much of it as there is room for.
 *
 * Jobs of CPUs alone have no part: they start where there is room, and nobody preempts them.
 *
 * What a job waits before it works (restarts) is not held against it, and jobs on an unlimited cluster get what they
 * asked for. A decision costs as much as there are jobs in the system. */
#ifndef ORRERY_POLICIES_SCHEDULER_FLUID_H
#define ORRERY_POLICIES_SCHEDULER_FLUID_H

#include "sim/world/policy/scheduler.h"

#include <stddef.h>

struct fluid_job {
    const struct job_view *job;
    double size;   /* the scheduler's own */
    double weight; /* its part of the GPUs; those of all add up to 1 */
    double gpus;   /* that it gets */
};

/* Zero-initialised. */
struct fluid {
    size_t n, n_all, capacity;
    struct fluid_job *jobs; /* [n_all] in the system, in any order, but first the n with GPUs */
    int code;               /* SIM_E_NOMEM once a job could not be kept */
};

void fluid_fini(void *state);

/* For policies whose state begins with a struct fluid. */
void fluid_notify(void *state, const struct cluster_view *view, const struct job_note *note);

/* Gives every job with GPUs its weight's part: first those that shrink, then the others. Then starts those without.
 * Leaves both in the order of submission. */
void fluid_divide(struct fluid *fluid, const struct cluster_view *view, struct job_plan *plan);

#endif
