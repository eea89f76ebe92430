/* All to shortest: all GPUs go to the job that would finish first with them, whatever it requests (SRPT with the
 * cluster as the single server). With linear speedup no policy has a smaller mean response time (Schrage 1968). With
 * concave speedup it wastes most of the GPUs, which makes it a baseline. */
#include "policies/declared.h"
#include "policies/scheduler/fluid.h"
#include "sim/world/policy/scheduler.h"

/* Seconds until the job would finish on all GPUs. */
static double time_on_all_s(const struct cluster_view *view, const struct job_view *job)
{
    double on_all = view->total_gpus < INT64_MAX ? job_view_speed_on(view, job, (double)view->total_gpus) : 1;
    double work_s = sim_s_from_ns(job_view_remaining_work_ns(view, job));
    return sim_s_from_ns(job_view_wait_ns(view, job)) + work_s / on_all;
}

static double size_of(const void *state, const struct cluster_view *view, const struct job_view *job)
{
    (void)state;
    return time_on_all_s(view, job);
}

/* The job that would finish first, or NULL. */
static const struct job_view *shortest(struct fluid *fluid, const struct cluster_view *view)
{
    fluid_rank_pending(fluid, view, size_of, false);
    const struct ranked *first = fluid->pending.first;
    const struct job_view *best = first != NULL ? first->job : NULL;
    struct rank rank = first != NULL ? first->rank : (struct rank){0};
    for (size_t i = 0; i < fluid->n_running; i++) {
        const struct job_view *job = fluid->running[i];
        const struct rank other = fluid_rank(time_on_all_s(view, job), job->sequence);
        if (best != NULL && !rank_before(&other, &rank)) continue;
        best = job;
        rank = other;
    }
    return best;
}

/* On an unlimited cluster every job gets what it requests. */
static int shortest_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct fluid *fluid = state;
    fluid_begin(fluid);
    const struct job_view *first = shortest(fluid, view);
    if (first != NULL) fluid_list(fluid, first, 0, 1);
    if (view->total_gpus == INT64_MAX) fluid_list_oldest(fluid, fluid->n_all, 0);
    fluid_divide(fluid, view, plan);
    return fluid->code;
}

const struct scheduler scheduler_all_to_shortest = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "all-to-shortest",
               .summary = "all GPUs to the job that would finish first with them; preemptive, knows the true run times",
               .source = "Schrage, Operations Research 16(3) (1968)",
               .oracle = ORACLE_DURATION | ORACLE_SPEEDS,
               .state_bytes = sizeof(struct fluid),
               .fini = fluid_fini},
    .job_bytes = sizeof(struct fluid_slot),
    .notify = fluid_notify,
    .decide = shortest_decide,
    .ignores_estimates = true,
};
