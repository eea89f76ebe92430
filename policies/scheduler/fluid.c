#include "policies/scheduler/fluid.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SMALLEST_GPUS = 1e-6;

void fluid_fini(void *state)
{
    struct fluid *fluid = state;
    mem_free(fluid->jobs);
    mem_free(fluid->running);
    ranked_list_fini(&fluid->fresh);
    cpu_jobs_fini(&fluid->cpu_jobs);
}

/* --- Jobs that come and go --- */

/* Jobs come in the order of their sequence numbers. */
static void append(struct fluid *fluid, const struct job_view *job)
{
    struct fluid_slot *slot = job_view_slot(job), *before = fluid->youngest;
    slot->waiting.job = job;
    slot->older = before;
    slot->younger = NULL;
    *(before != NULL ? &before->younger : &fluid->oldest) = slot;
    fluid->youngest = slot;
    fluid->n_all++;
}

/* Makes room for one more job in every list. */
static void enter(struct fluid *fluid, const struct job_view *job)
{
    const size_t n = fluid->n_all + 1;
    if (vec_reserve(&fluid->jobs, &fluid->capacity, n) != 0 ||
        vec_reserve(&fluid->running, &fluid->running_capacity, n) != 0 ||
        vec_reserve(&fluid->fresh.items, &fluid->fresh.capacity, n) != 0) {
        fluid->code = SIM_E_NOMEM;
        return;
    }
    append(fluid, job);
}

static void await_rank(struct fluid *fluid, const struct job_view *job)
{
    struct fluid_slot *slot = job_view_slot(job);
    slot->waiting = (struct ranked){.job = job};
    fluid->fresh.items[fluid->fresh.n++] = &slot->waiting;
}

static void run(struct fluid *fluid, const struct job_view *job)
{
    struct fluid_slot *slot = job_view_slot(job);
    if (slot->is_ranked) ranking_remove(&fluid->pending, &slot->waiting);
    if (slot->is_ranked && fluid->pending.first != NULL) job_view_prefetch(fluid->pending.first->job);
    slot->is_ranked = false;
    slot->at = fluid->n_running;
    fluid->running[fluid->n_running++] = job;
}

static void stop(struct fluid *fluid, const struct job_view *job)
{
    const struct fluid_slot *slot = job_view_slot(job);
    const struct job_view *last = fluid->running[--fluid->n_running];
    fluid->running[slot->at] = last;
    ((struct fluid_slot *)job_view_slot(last))->at = slot->at;
}

static void leave(struct fluid *fluid, const struct job_view *job)
{
    const struct fluid_slot *slot = job_view_slot(job);
    *(slot->older != NULL ? &slot->older->younger : &fluid->oldest) = slot->younger;
    *(slot->younger != NULL ? &slot->younger->older : &fluid->youngest) = slot->older;
    fluid->n_all--;
}

void fluid_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct fluid *fluid = state;
    const enum job_event event = note->event;
    if (fluid->code < 0) return;
    cpu_jobs_notify(&fluid->cpu_jobs, note, &((struct fluid_slot *)job_view_slot(note->job))->waiting);
    if (note->job->gpus == 0) return;
    if (event == JOB_EVENT_SUBMIT) enter(fluid, note->job);
    if (fluid->code < 0) return;
    if (event == JOB_EVENT_START) run(fluid, note->job);
    if (event == JOB_EVENT_PREEMPT || event == JOB_EVENT_FINISH) stop(fluid, note->job);
    if (event == JOB_EVENT_SUBMIT || event == JOB_EVENT_PREEMPT) await_rank(fluid, note->job);
    if (event == JOB_EVENT_FINISH) leave(fluid, note->job);
}

/* --- The jobs of a decision --- */

bool fluid_is_whole(const struct cluster_view *view)
{
    return view->n_nodes > 0 && view->total_gpus < INT64_MAX;
}

void fluid_begin(struct fluid *fluid)
{
    fluid->n = 0;
    fluid->number++;
}

void fluid_list(struct fluid *fluid, const struct job_view *job, double size, double weight)
{
    struct fluid_slot *slot = job_view_slot(job);
    if (slot->listed_in == fluid->number) return;
    slot->listed_in = fluid->number;
    fluid->jobs[fluid->n++] = (struct fluid_job){.job = job, .size = size, .weight = weight};
}

struct ranked *fluid_next_pending(const struct fluid *fluid, const struct ranked *ranked)
{
    return ranking_first_from(&fluid->pending, (struct rank){ranked->rank.first, ranked->rank.second, 1});
}

void fluid_list_oldest(struct fluid *fluid, size_t most, double weight)
{
    const struct fluid_slot *next = fluid->oldest;
    for (; next != NULL && most > 0; most--, next = next->younger) fluid_list(fluid, next->waiting.job, 0, weight);
}

/* Doubles of at least 0 have the order of their bits. */
struct rank fluid_rank(double size, int64_t tie)
{
    struct rank rank = {.second = tie};
    const double ordered = isnan(size) ? (double)INFINITY : size;
    memcpy(&rank.first, &ordered, sizeof rank.first);
    return rank;
}

/* Moves all ranked jobs to the fresh ones. */
static void forget_ranks(struct fluid *fluid)
{
    for (struct ranked *first = fluid->pending.first; first != NULL; first = fluid->pending.first) {
        ranking_remove(&fluid->pending, first);
        ((struct fluid_slot *)job_view_slot(first->job))->is_ranked = false;
        fluid->fresh.items[fluid->fresh.n++] = first;
    }
}

void fluid_rank_pending(struct fluid *fluid, const struct cluster_view *view, fluid_size_fn size, bool youngest_first)
{
    if (fluid->ranked_for != view->total_gpus) forget_ranks(fluid);
    fluid->ranked_for = view->total_gpus;
    fluid->is_ranked = true;
    for (size_t i = 0; i < fluid->fresh.n; i++) {
        struct ranked *ranked = fluid->fresh.items[i];
        const int64_t sequence = ranked->job->sequence;
        ranked->rank = fluid_rank(size(fluid, view, ranked->job), youngest_first ? -sequence : sequence);
        ranking_add(&fluid->pending, ranked);
        ((struct fluid_slot *)job_view_slot(ranked->job))->is_ranked = true;
    }
    fluid->fresh.n = 0;
}

/* --- Parts --- */

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

/* The most GPUs up to its part on which a job runs, else the fewest beyond. A job that trains by a plan runs on whole
 * ranks. 0: it runs on none. */
static double runnable(const struct cluster_view *view, const struct job_view *job, double part)
{
    const double rank = job_view_rank_gpus(job);
    const double whole = rank > 1 ? floor(part / rank) * rank : part;
    if (!(part > 0) || view->total_gpus == INT64_MAX) return part;
    for (double gpus = whole; gpus > 0; gpus -= rank)
        if (job_view_speed_on(view, job, gpus) > 0) return gpus;
    for (double gpus = floor(whole) + rank; gpus <= (double)view->total_gpus; gpus += rank)
        if (job_view_speed_on(view, job, gpus) > 0) return gpus;
    return 0;
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
    for (size_t i = 0; i < fluid->n; i++) fluid->jobs[i].gpus = runnable(view, fluid->jobs[i].job, fluid->jobs[i].gpus);
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

/* Starts or grows the job, on nodes or in whole ranks to as much of its part as there is room for. Returns whether it
 * did. */
static bool grow(const struct fluid_job *job, const struct cluster_view *view, struct job_plan *plan)
{
    const double held = job->job->state == JOB_RUNNING ? job->job->held_gpus : 0;
    const int32_t rank = job_view_rank_gpus(job->job);
    for (double gpus = job->gpus; gpus > held; gpus -= rank) {
        if (!(job_view_speed_on(view, job->job, gpus) > 0)) continue;
        if (give(job, gpus, plan)) return true;
        if (view->n_nodes == 0 && rank == 1) break;
    }
    return false;
}

/* A job that moves to other nodes may make room that an earlier job did not find. Returns whether any job grew. */
static bool grow_all(const struct fluid *fluid, const struct cluster_view *view, struct job_plan *plan)
{
    bool has_grown = false;
    for (size_t i = 0; i < fluid->n; i++) has_grown = grow(&fluid->jobs[i], view, plan) || has_grown;
    return has_grown;
}

static void divide_gpus(struct fluid *fluid, const struct cluster_view *view, struct job_plan *plan)
{
    set_gpus(fluid, view);
    qsort(fluid->jobs, fluid->n, sizeof *fluid->jobs, by_age);
    for (size_t i = 0; i < fluid->n; i++) shrink(&fluid->jobs[i], plan);
    while (grow_all(fluid, view, plan)) continue;
}

void fluid_divide(struct fluid *fluid, const struct cluster_view *view, struct job_plan *plan)
{
    if (!fluid->is_ranked) fluid->fresh.n = 0;
    for (size_t i = 0; i < fluid->n_running; i++) fluid_list(fluid, fluid->running[i], 0, 0);
    if (fluid->n > 0) divide_gpus(fluid, view, plan);
    cpu_jobs_room(&fluid->cpu_jobs); /* jobs with GPUs may have shrunk or moved */
    const int code = cpu_jobs_start(&fluid->cpu_jobs, view, false, plan);
    if (code < 0) fluid->code = code;
}
