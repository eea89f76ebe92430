/* Shared by schedulers that divide all GPUs among all jobs again whenever a job arrives or leaves. GPUs are real
 * numbers, down to 1e-6. If a placer places whole GPUs, parts are rounded to whole numbers, up for jobs with the
 * largest remainders. A job that finds no room for all of its part then gets as much of it as fits.
 *
 * Jobs of CPUs alone have no part: they start when they fit and are never preempted.
 *
 * A job's delay before it works (restarts) does not reduce its part. On an unlimited cluster jobs get what they
 * request.
 *
 * A scheduler lists the jobs that may get GPUs in this decision, then fluid_divide resizes, starts and preempts. If
 * parts are whole numbers, at most as many jobs as there are GPUs get any. Then a decision costs O(log n) for each of
 * these, for n jobs in the system. If parts are fractions, it changes the GPUs of all jobs. */
#ifndef ORRERY_POLICIES_SCHEDULER_FLUID_H
#define ORRERY_POLICIES_SCHEDULER_FLUID_H

#include "policies/scheduler/cpu_jobs.h"
#include "policies/scheduler/ranking.h"
#include "sim/world/policy/scheduler.h"

#include <stddef.h>

/* A job listed in a decision. */
struct fluid_job {
    const struct job_view *job;
    double size;   /* for the scheduler's own use */
    double weight; /* its share of the GPUs; all weights add up to 1 */
    double gpus;   /* GPUs that it gets */
};

/* A job's slot. */
struct fluid_slot {
    struct ranked waiting; /* first; in fluid.pending or fluid.cpu_jobs; its job is always set */
    struct fluid_slot *older, *younger; /* the next ones of all jobs with GPUs, or NULL */
    size_t at;             /* index in fluid.running, while it runs */
    uint64_t listed_in;    /* number of the last decision that listed it */
    bool is_ranked;        /* it is in fluid.pending */
};

/* Zero-initialised. */
struct fluid {
    struct fluid_slot *oldest, *youngest; /* of the n_all jobs with GPUs, linked by age */
    struct ranking pending;      /* of these, the pending ones by fluid_rank, once fluid_rank_pending has run */
    struct cpu_jobs cpu_jobs;
    struct ranked_list fresh;    /* pending since the last fluid_rank_pending */
    const struct job_view **running; /* [n_running] jobs with GPUs, in any order */
    size_t n_all, n_running, running_capacity;
    struct fluid_job *jobs; /* [n] listed in this decision */
    size_t n, capacity;
    uint64_t number;   /* of this decision */
    int64_t ranked_for; /* view->total_gpus at the last fluid_rank_pending */
    bool is_ranked;     /* the scheduler uses fluid_rank_pending */
    int code;           /* SIM_E_NOMEM once a job could not be kept */
};

void fluid_fini(void *state);

/* For policies whose state begins with a struct fluid, and with struct fluid_slot as the job's slot. */
void fluid_notify(void *state, const struct cluster_view *view, const struct job_note *note);

/* Whether parts are whole numbers of a limited number of GPUs. */
bool fluid_is_whole(const struct cluster_view *view);

/* Starts a decision: no job is listed. */
void fluid_begin(struct fluid *fluid);

/* Lists a job, unless it is listed. */
void fluid_list(struct fluid *fluid, const struct job_view *job, double size, double weight);

/* Lists the `most` oldest jobs, each with this weight. */
void fluid_list_oldest(struct fluid *fluid, size_t most, double weight);

/* The pending job ranked after this one, or NULL. */
struct ranked *fluid_next_pending(const struct fluid *fluid, const struct ranked *ranked);

/* The size of a job, at least 0; constant while it is pending and view->total_gpus does not change. */
typedef double (*fluid_size_fn)(const void *state, const struct cluster_view *view, const struct job_view *job);

/* The rank of a size. Of equal sizes the job with the lower `tie` goes first. */
struct rank fluid_rank(double size, int64_t tie);

/* Brings fluid.pending up to date, by the size of the jobs and then by age: the oldest first or, if youngest_first,
 * last. The scheduler must call it in its first decision and in all later ones. */
void fluid_rank_pending(struct fluid *fluid, const struct cluster_view *view, fluid_size_fn size, bool youngest_first);

/* Gives every listed job its share, and other running jobs none: first the jobs that shrink, then the others. Then
 * starts jobs without GPUs. */
void fluid_divide(struct fluid *fluid, const struct cluster_view *view, struct job_plan *plan);

#endif
