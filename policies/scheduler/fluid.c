#include "policies/scheduler/fluid.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>

static const double SMALLEST_GPUS = 1e-6;

void fluid_fini(void *state)
{
    mem_free(((struct fluid *)state)->jobs);
}

static void add(struct fluid *fluid, const struct job_view *job)
{
    if (vec_reserve(&fluid->jobs, &fluid->capacity, fluid->n_all + 1) != 0) {
        fluid->code = SIM_E_NOMEM;
        return;
    }
    const size_t at = job->gpus > 0 ? fluid->n++ : fluid->n_all;
    fluid->jobs[fluid->n_all++] = fluid->jobs[at];
    fluid->jobs[at] = (struct fluid_job){.job = job};
}

static void take_out(struct fluid *fluid, const struct job_view *job)
{
    size_t at = 0;
    while (at < fluid->n_all && fluid->jobs[at].job != job) at++;
    if (at == fluid->n_all) return; /* the list had no memory for it at submission */
    if (at < fluid->n) {
        fluid->jobs[at] = fluid->jobs[--fluid->n];
        at = fluid->n;
    }
    fluid->jobs[at] = fluid->jobs[--fluid->n_all];
}

void fluid_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    if (note->event == JOB_EVENT_SUBMIT) add(state, note->job);
    if (note->event == JOB_EVENT_FINISH) take_out(state, note->job);
}

static int by_age(const void *a, const void *b)
{
    int64_t x = ((const struct fluid_job *)a)->job->sequence, y = ((const struct fluid_job *)b)->job->sequence;
    return (x > y) - (x < y);
}

/* Largest remainder first, then age. The remainder is that of `gpus`. */
static int by_remainder(const void *a, const void *b)
{
    double x = ((const struct fluid_job *)a)->gpus, y = ((const struct fluid_job *)b)->gpus;
    double rest_x = x - floor(x), rest_y = y - floor(y);
    return rest_x != rest_y ? (rest_x < rest_y ? 1 : -1) : by_age(a, b);
}

/* Hamilton's method: every part is rounded down, and the largest remainders get one GPU more. */
static void round_to_whole(struct fluid *fluid, int64_t total_gpus)
{
    qsort(fluid->jobs, fluid->n, sizeof *fluid->jobs, by_remainder);
    for (size_t i = 0; i < fluid->n; i++) total_gpus -= (int64_t)floor(fluid->jobs[i].gpus);
    for (size_t i = 0; i < fluid->n; i++) fluid->jobs[i].gpus = floor(fluid->jobs[i].gpus) + ((int64_t)i < total_gpus);
}

static void set_gpus(struct fluid *fluid, const struct cluster_view *view)
{
    bool unlimited = view->total_gpus == INT64_MAX;
    for (size_t i = 0; i < fluid->n; i++) {
        struct fluid_job *job = &fluid->jobs[i];
        double part = (double)view->total_gpus * job->weight;
        job->gpus = unlimited ? job->job->gpus : view->n_nodes > 0 ? part : floor(part / SMALLEST_GPUS) * SMALLEST_GPUS;
    }
    if (view->n_nodes > 0 && !unlimited) round_to_whole(fluid, view->total_gpus);
}

static void shrink(const struct fluid_job *job, struct job_plan *plan)
{
    if (job->job->state != JOB_RUNNING || job->gpus >= job->job->held_gpus) return;
    if (job->gpus > 0)
        job_plan_resize(plan, job->job, job->gpus, "its part is smaller");
    else
        job_plan_preempt(plan, job->job, "it has no part");
}

static bool give(const struct fluid_job *job, double gpus, struct job_plan *plan)
{
    if (job->job->state == JOB_RUNNING) return job_plan_resize(plan, job->job, gpus, "its part is larger");
    return job_plan_start_as(plan, job->job, &(struct job_grant){.gpus = gpus}, "its part");
}

/* Starts or grows the job, on nodes to as much of its part as there is room for. Returns whether it did. */
static bool grow(const struct fluid_job *job, bool is_placed, struct job_plan *plan)
{
    const double held = job->job->state == JOB_RUNNING ? job->job->held_gpus : 0;
    for (double gpus = job->gpus; gpus > held; gpus--) {
        if (give(job, gpus, plan)) return true;
        if (!is_placed) break;
    }
    return false;
}

/* A job that moves to other nodes may make room that an earlier job did not find. Returns whether any job grew. */
static bool grow_all(const struct fluid *fluid, bool is_placed, struct job_plan *plan)
{
    bool has_grown = false;
    for (size_t i = 0; i < fluid->n; i++) has_grown = grow(&fluid->jobs[i], is_placed, plan) || has_grown;
    return has_grown;
}

static void divide_gpus(struct fluid *fluid, const struct cluster_view *view, struct job_plan *plan)
{
    set_gpus(fluid, view);
    qsort(fluid->jobs, fluid->n, sizeof *fluid->jobs, by_age);
    for (size_t i = 0; i < fluid->n; i++) shrink(&fluid->jobs[i], plan);
    while (grow_all(fluid, view->n_nodes > 0, plan)) continue;
}

void fluid_divide(struct fluid *fluid, const struct cluster_view *view, struct job_plan *plan)
{
    const size_t n_others = fluid->n_all - fluid->n;
    if (fluid->n > 0) divide_gpus(fluid, view, plan);
    if (n_others > 0) qsort(fluid->jobs + fluid->n, n_others, sizeof *fluid->jobs, by_age);
    for (size_t i = fluid->n; i < fluid->n_all; i++)
        if (fluid->jobs[i].job->state == JOB_PENDING) job_plan_start(plan, fluid->jobs[i].job, "it needs no GPUs");
}
