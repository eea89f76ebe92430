/* Tiresias as in Lucid's simulator (S-Lab-System-Group/Lucid @ 63685a3, simulation/policy/tiresias.py): jobs that have
 * attained more GPU time than the threshold go behind the others, first come first in each group. All jobs that fit in
 * this order have their turn. A job that finds no place in its turn keeps its GPUs from the jobs behind it. Lucid
 * decides once a minute ("jobs": {"round": "60s"}), so a job often has attained exactly the threshold: it is not behind
 * the others yet.
 *
 * Jobs submitted in the same second stand in order of submission. In Lucid those that run go before those that wait. */
#include "policies/declared.h"
#include "policies/scheduler/preemptive.h"
#include "sim/world/policy/scheduler.h"

#include <float.h>
#include <math.h>

struct lucid_params {
    double threshold; /* GPU-seconds */
};

struct lucid_job {
    struct preemptive_job preemptive; /* first */
    struct ranked clock; /* while it runs up to the threshold: ranked by its start, as if never interrupted */
};

struct lucid {
    struct preemptive preemptive; /* first */
    struct lucid_params params;
    struct pending clocks; /* clocks by class */
};

#define ROW_OF struct lucid_params
static const struct config_field lucid_fields[] = {
    ROW_REAL("threshold", threshold, DEFAULT("18000"), WITHIN(DBL_MIN, 1e12),
             "GPU-seconds that a job may attain; beyond them it goes behind the others"),
    {0}};
#undef ROW_OF

static int lucid_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct lucid *lucid = state;
    lucid->params = *(const struct lucid_params *)params;
    lucid->preemptive.params.keeps_turn = true;
    return 0;
}

static void lucid_fini(void *state)
{
    struct lucid *lucid = state;
    pending_fini(&lucid->clocks);
    preemptive_fini(&lucid->preemptive);
}

/* The first nanosecond at which a job has attained more than the threshold. */
static sim_ns span_ns(const struct lucid *lucid, int32_t gpus)
{
    const double time_ns = floor(lucid->params.threshold / gpus * SIM_NS_PER_S);
    return time_ns < (double)SIM_NS_MAX ? (sim_ns)time_ns + 1 : SIM_NS_MAX;
}

static int start_clock(struct lucid *lucid, const struct cluster_view *view, struct lucid_job *job)
{
    job->clock.rank = (struct rank){.first = view->now_ns - job_view_executed_ns(view, job->clock.job),
                                    .second = job->clock.job->sequence};
    return pending_add(&lucid->clocks, &job->clock);
}

/* A job that loses its GPUs beyond the threshold, unseen by a decision, waits behind the others. */
static void lucid_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct lucid *lucid = state;
    struct lucid_job *job = job_view_slot(note->job);
    const bool is_new = job->preemptive.level == 0 && lucid->preemptive.code == 0;
    const bool ends = note->event == JOB_EVENT_PREEMPT || note->event == JOB_EVENT_FINISH;
    job->clock.job = note->job;
    if (is_new && ends) pending_remove(&lucid->clocks, &job->clock);
    if (is_new && note->forced && job_view_executed_ns(view, note->job) >= span_ns(lucid, note->job->gpus))
        job->preemptive.level = 1;
    preemptive_notify(&lucid->preemptive, view, note);
    if (is_new && note->event == JOB_EVENT_START && lucid->preemptive.code == 0)
        lucid->preemptive.code = start_clock(lucid, view, job);
}

static void demote(struct lucid *lucid, const struct cluster_view *view)
{
    for (size_t i = 0; i < lucid->clocks.n && lucid->preemptive.code == 0; i++) {
        const struct pending_class *class = lucid->clocks.classes[i];
        sim_ns bound_ns = view->now_ns - span_ns(lucid, class->gpus);
        while (class->jobs.first != NULL && class->jobs.first->rank.first <= bound_ns) {
            struct lucid_job *job = job_view_slot(class->jobs.first->job);
            pending_remove(&lucid->clocks, &job->clock);
            preemptive_set_level(&lucid->preemptive, &job->preemptive, 1, view->now_ns);
        }
    }
}

static void plan_wake(const struct lucid *lucid, struct job_plan *plan)
{
    sim_ns next_ns = SIM_NS_MAX;
    for (size_t i = 0; i < lucid->clocks.n; i++) {
        const struct pending_class *class = lucid->clocks.classes[i];
        if (class->jobs.first == NULL) continue;
        sim_ns due_ns = sim_ns_add(class->jobs.first->rank.first, span_ns(lucid, class->gpus));
        if (due_ns < next_ns) next_ns = due_ns;
    }
    if (next_ns < SIM_NS_MAX) job_plan_wake_at(plan, next_ns);
}

static int lucid_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct lucid *lucid = state;
    demote(lucid, view);
    int code = preemptive_decide(&lucid->preemptive, view, plan);
    if (code == 0) plan_wake(lucid, plan);
    return code;
}

const struct scheduler scheduler_lucid_tiresias = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "lucid-tiresias",
               .summary = "least attained service first, in two queues, as in Lucid's simulator; preemptive",
               .source = "Hu et al., Lucid (ASPLOS 2023) simulator, tiresias",
               .params = lucid_fields,
               .params_bytes = sizeof(struct lucid_params),
               .state_bytes = sizeof(struct lucid),
               .init = lucid_init,
               .fini = lucid_fini},
    .job_bytes = sizeof(struct lucid_job),
    .notify = lucid_notify,
    .decide = lucid_decide,
    .ignores_estimates = true,
};
