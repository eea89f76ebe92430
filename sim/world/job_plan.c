/* The actions a scheduler may ask for, applied as it asks, and what it sees of a job. */
#include "sim/world/job.h"
#include "sim/world/priority.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

sim_ns job_view_executed_ns(const struct cluster_view *view, const struct job_view *job)
{
    return job_executed_ns(job_of(job), view->now_ns);
}

sim_ns job_view_estimated_remaining_ns(const struct cluster_view *view, const struct job_view *job)
{
    sim_ns remaining_ns = job->estimate_ns - job_view_executed_ns(view, job);
    return remaining_ns > 0 ? remaining_ns : 0;
}

/* Remembers the first fault of a policy and tells of it. */
__attribute__((format(printf, 3, 4))) static void fault(struct jobs *jobs, const struct policy *policy,
                                                        const char *format, ...)
{
    if (jobs->plan.code < 0) return;
    char text[DIAG_TEXT_CHARS], where[DIAG_WHERE_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(where, sizeof where, "%s.%s", jobs->where, policy->family == POLICY_SCHEDULER ? "scheduler" : "placement");
    double now_s = sim_s_from_ns(engine_now(jobs->engine));
    jobs->plan.code = diag_error(jobs->diag, SIM_E_POLICY, where, NULL, "policy '%s' %s, at %.15g s", policy->name,
                                 text, now_s);
}

sim_ns job_view_remaining_ns(const struct cluster_view *view, const struct job_view *job)
{
    struct jobs *jobs = job_of(job)->jobs;
    if (!(jobs->scheduler->policy.oracle & ORACLE_DURATION))
        fault(jobs, &jobs->scheduler->policy, "asks for the true run time of job %lld without having declared it",
              (long long)job->id);
    return job_of(job)->duration_ns - job_view_executed_ns(view, job);
}

void *job_view_slot(const struct job_view *job)
{
    return job_of(job) + 1;
}

int32_t cluster_view_next_node(const struct cluster_view *view, int32_t low, int32_t high, int32_t from)
{
    return cluster_next_node(view->cluster, low, high, from);
}

int32_t cluster_view_nodes_with(const struct cluster_view *view, int32_t free_gpus)
{
    return view->cluster->nodes_by_free[free_gpus].n_members;
}

void job_plan_begin(struct jobs *jobs)
{
    struct job_plan *plan = &jobs->plan;
    plan->jobs = jobs;
    plan->number++;
    plan->wake_ns = SIM_NS_MAX;
    plan->n_actions = 0;
}

/* Notes an action for the decision table. Returns its index, -1 when nobody wants to know. */
static int32_t add_action(struct job_plan *plan, struct job *job, const char *name, const char *reason)
{
    if (plan->jobs->sink->decision == NULL) return -1;
    if (plan->n_actions == plan->actions_capacity) {
        int32_t capacity = plan->actions_capacity * 2 + 16;
        struct job_action *actions = mem_realloc(plan->actions, (size_t)capacity * sizeof *actions);
        if (actions == NULL) {
            plan->code = SIM_E_NOMEM;
            return -1;
        }
        plan->actions = actions;
        plan->actions_capacity = capacity;
    }
    plan->actions[plan->n_actions] = (struct job_action){.job = job, .name = name, .reason = reason,
                                                        .free_gpus = plan->jobs->cluster->free_gpus};
    return plan->n_actions++;
}

static void void_preemption(struct job_plan *plan, struct job *job)
{
    job->view.preemptions--;
    plan->jobs->stats.n_preemptions--;
    if (job->preempt_action >= 0) plan->actions[job->preempt_action].job = NULL;
}

static int grow_placement(struct placement *placement, int32_t capacity)
{
    if (capacity <= placement->capacity) return 0;
    int32_t *nodes = mem_realloc(placement->nodes, (size_t)capacity * sizeof *nodes);
    if (nodes != NULL) placement->nodes = nodes;
    int32_t *gpus = mem_realloc(placement->gpus, (size_t)capacity * sizeof *gpus);
    if (gpus != NULL) placement->gpus = gpus;
    if (nodes == NULL || gpus == NULL) return SIM_E_NOMEM;
    placement->capacity = capacity;
    return 0;
}

/* Asks the placer for GPUs and takes them. Returns 1, 0 when there is no room, or a negative code. */
static int place(struct jobs *jobs, struct job *job)
{
    sim_ns now = jobs->view.now_ns;
    if (jobs->placer == NULL) return cluster_take(jobs->cluster, now, job->view.gpus, NULL, &job->allocation) == 0;
    struct placement *placement = &jobs->placement;
    int32_t n_nodes = jobs->view.n_nodes;
    int code = grow_placement(placement, job->view.gpus < n_nodes ? job->view.gpus : n_nodes);
    if (code < 0) return code;
    placement->n = 0;
    int found = jobs->placer->place(jobs->placer_state, &jobs->view, &job->view, placement);
    if (found <= 0) return found;
    code = cluster_take(jobs->cluster, now, job->view.gpus, placement, &job->allocation);
    if (code == SIM_E_POLICY)
        fault(jobs, &jobs->placer->policy, "puts job %lld on GPUs that are not free or not as many as it asked for",
              (long long)job->view.id);
    return code < 0 ? code : 1;
}

static const char *state_name(enum job_state state)
{
    static const char *const names[] = {"pending", "running", "finished", "rejected"};
    return names[state];
}

bool job_plan_start(struct job_plan *plan, const struct job_view *view, const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *job = job_of(view);
    if (plan->code < 0) return false;
    if (view->state != JOB_PENDING) {
        fault(jobs, &jobs->scheduler->policy, "starts job %lld, which is %s (reason: %s)", (long long)view->id,
              state_name(view->state), reason);
        return false;
    }
    if (view->gpus > jobs->view.free_gpus) return false;
    sim_ns now = jobs->view.now_ns;
    bool undone = job->preempted_in == plan->number && cluster_retake(jobs->cluster, now, view->gpus, job->allocation);
    if (!undone) {
        int told = job_emit_placement(job, now);
        if (told != 0) plan->code = told;
        cluster_forget(jobs->cluster, job->allocation);
        job->allocation = NULL;
        int placed = place(jobs, job);
        if (placed < 0 && plan->code == 0) plan->code = placed;
        if (placed <= 0 || told != 0) return false;
        job->held_from_ns = now;
    }
    jobs->view.n_pending--;
    jobs->view.n_running++;
    job_stats_hold(&jobs->stats, now, view->gpus);
    if (undone)
        void_preemption(plan, job);
    else
        add_action(plan, job, job->first_start_ns < 0 ? "start" : "resume", reason);
    job_run(job, now);
    jobs_notify(jobs, JOB_EVENT_START, job);
    return true;
}

void job_plan_preempt(struct job_plan *plan, const struct job_view *view, const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *job = job_of(view);
    if (plan->code < 0) return;
    if (view->state != JOB_RUNNING) {
        fault(jobs, &jobs->scheduler->policy, "preempts job %lld, which is %s (reason: %s)", (long long)view->id,
              state_name(view->state), reason);
        return;
    }
    sim_ns now = jobs->view.now_ns;
    job->executed_ns = job_executed_ns(job, now);
    job->held_to_ns = now;
    job->view.state = JOB_PENDING;
    job->view.preemptions++;
    job->preempted_in = plan->number;
    job->preempt_action = add_action(plan, job, "preempt", reason);
    engine_disarm(jobs->engine, &job->finish);
    cluster_release(jobs->cluster, now, view->gpus, job->allocation);
    job_stats_hold(&jobs->stats, now, -view->gpus);
    jobs->stats.n_preemptions++;
    jobs->view.n_running--;
    jobs->view.n_pending++;
    jobs_notify(jobs, JOB_EVENT_PREEMPT, job);
}

void job_plan_wake_at(struct job_plan *plan, sim_ns time_ns)
{
    struct jobs *jobs = plan->jobs;
    if (time_ns <= jobs->view.now_ns)
        fault(jobs, &jobs->scheduler->policy, "asks to be woken at %.15g s, which is not later than now",
              sim_s_from_ns(time_ns));
    if (time_ns < plan->wake_ns) plan->wake_ns = time_ns;
}

/* The policy's reason, and the GPUs that the action moved. */
static void describe(const struct jobs *jobs, const struct job_action *action, char *reason, size_t reason_bytes)
{
    int gpus = action->job->view.gpus;
    const char *what = strcmp(action->name, "preempt") == 0 ? "gives back" : "takes";
    int n = snprintf(reason, reason_bytes, "%s: %s %d GPU%s", action->reason, what, gpus, gpus == 1 ? "" : "s");
    if (n > 0 && (size_t)n < reason_bytes && jobs->cluster->total_gpus < INT64_MAX)
        snprintf(reason + n, reason_bytes - (size_t)n, ", then %lld of %lld are free", (long long)action->free_gpus,
                 (long long)jobs->cluster->total_gpus);
}

static int emit_actions(const struct job_plan *plan)
{
    const struct jobs *jobs = plan->jobs;
    for (int32_t i = 0; i < plan->n_actions; i++) {
        const struct job_action *action = &plan->actions[i];
        if (action->job == NULL) continue;
        char reason[256];
        describe(jobs, action, reason, sizeof reason);
        struct decision_row row = {.t_s = sim_s_from_ns(jobs->view.now_ns),
                                   .service = "",
                                   .policy = jobs->scheduler->policy.name,
                                   .action = action->name,
                                   .subject = action->job->view.id,
                                   .reason = reason};
        int code = jobs->sink->decision(jobs->sink->context, &row);
        if (code < 0) return code;
    }
    return 0;
}

int job_plan_end(struct jobs *jobs)
{
    const struct job_plan *plan = &jobs->plan;
    if (plan->code < 0) return plan->code;
    if (plan->wake_ns < SIM_NS_MAX)
        engine_arm(jobs->engine, plan->wake_ns, PRIORITY_JOB_DECIDE, jobs_on_wake, &jobs->wake);
    return emit_actions(plan);
}
