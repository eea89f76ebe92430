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

static size_t shortest(struct fluid *fluid, const struct cluster_view *view)
{
    size_t first = 0;
    for (size_t i = 0; i < fluid->n; i++) {
        struct fluid_job *job = &fluid->jobs[i], *best = &fluid->jobs[first];
        job->size = time_on_all_s(view, job->job);
        job->weight = 0;
        if (job->size < best->size || (job->size == best->size && job->job->sequence < best->job->sequence)) first = i;
    }
    return first;
}

static int shortest_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct fluid *fluid = state;
    if (fluid->n > 0) fluid->jobs[shortest(fluid, view)].weight = 1;
    fluid_divide(fluid, view, plan);
    return fluid->code;
}

const struct scheduler scheduler_all_to_shortest = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "all-to-shortest",
               .summary = "all GPUs to the job that would finish first with them; preemptive, knows the true run times",
               .source = "Schrage, Operations Research 16(3) (1968)",
               .oracle = ORACLE_DURATION,
               .state_bytes = sizeof(struct fluid),
               .fini = fluid_fini},
    .notify = fluid_notify,
    .decide = shortest_decide,
};
