/* The rest of a plan: CPUs and memory of running jobs, its end, and its rows: decisions with their reasons, and the
 * scheduler's warnings; and what the trace noted. */
#include "sim/world/jobs/job.h"
#include "sim/world/rows/priority.h"

#include <stdio.h>
#include <string.h>

static void ask_for_warnings(struct jobs *jobs)
{
    if (jobs->scheduler->finish == NULL) return;
    jobs_refresh_view(jobs);
    job_plan_begin(jobs);
    jobs->scheduler->finish(jobs->scheduler_state, &jobs->plan);
}

int job_plan_emit_warnings(struct jobs *jobs)
{
    int code = 0;
    ask_for_warnings(jobs);
    for (int32_t i = 0; code == 0 && i < jobs->plan.n_warnings && jobs->site->sink->warning != NULL; i++) {
        const struct job_warning *warning = &jobs->plan.warnings[i];
        const struct warning_row row = {.t_s = sim_s_from_ns(warning->first_ns), .code = warning->code,
                                        .text = warning->text, .count = warning->count};
        code = jobs->site->sink->warning(jobs->site->sink->context, &row);
    }
    return code;
}

void job_say_node_type(const struct jobs *jobs, const struct cluster *cluster, char *text, size_t bytes)
{
    text[0] = '\0';
    if (jobs->cluster->next == NULL || !jobs->scheduler->uses_node_types) return;
    if (cluster->type_name != NULL)
        snprintf(text, bytes, " of node type '%.64s'", cluster->type_name);
    else
        snprintf(text, bytes, " of the cluster's own nodes");
}

/* The policy's reason, and the GPUs that the action moved. A stopped job may have had none. */
static void describe(const struct job_action *action, char *reason, size_t reason_bytes)
{
    const char *what = strcmp(action->name, "preempt") == 0 ? "gives back" : "takes";
    if (strcmp(action->name, "resize") == 0) what = "goes on with";
    if (strcmp(action->name, "migrate") == 0) what = "goes on elsewhere with";
    if (strcmp(action->name, "stop") == 0) {
        snprintf(reason, reason_bytes, "%s", action->reason);
        return;
    }
    if (strcmp(action->name, "tune") == 0) {
        const struct job_host *counted = &action->job->jobs->share_of_gpu; /* 0: not */
        char cpus[32] = "", memory[32] = "";
        if (counted->cpu_milli > 0) snprintf(cpus, sizeof cpus, "%.10g CPUs", (double)action->host.cpu_milli / 1000);
        if (counted->memory_bytes > 0)
            snprintf(memory, sizeof memory, "%.6g GB", (double)action->host.memory_bytes / 1e9);
        snprintf(reason, reason_bytes, "%s: has %s%s%s beside %.10g GPU%s", action->reason, cpus,
                 cpus[0] != '\0' && memory[0] != '\0' ? " and " : "", memory, action->gpus,
                 action->gpus == 1 ? "" : "s");
        return;
    }
    const struct cluster *cluster = action->cluster;
    char where[96];
    job_say_node_type(action->job->jobs, cluster, where, sizeof where);
    int n = snprintf(reason, reason_bytes, "%s: %s %.10g GPU%s%s", action->reason, what, action->gpus,
                     action->gpus == 1 ? "" : "s", where);
    if (n > 0 && (size_t)n < reason_bytes && cluster->total_gpus < INT64_MAX)
        snprintf(reason + n, reason_bytes - (size_t)n, ", then %.10g of %lld are free", action->free_gpus,
                 (long long)cluster->total_gpus);
}

int job_plan_emit_actions(const struct job_plan *plan)
{
    const struct jobs *jobs = plan->jobs;
    for (int32_t i = 0; i < plan->n_actions; i++) {
        const struct job_action *action = &plan->actions[i];
        if (action->job == NULL) continue;
        char reason[256];
        describe(action, reason, sizeof reason);
        struct decision_row row = {.t_s = sim_s_from_ns(jobs->view.now_ns),
                                   .service = "",
                                   .policy = jobs->scheduler->policy.name,
                                   .action = action->name,
                                   .subject = action->job->view.id,
                                   .reason = reason};
        int code = jobs->site->sink->decision(jobs->site->sink->context, &row);
        if (code < 0) return code;
    }
    return 0;
}

int jobs_emit_notes(const struct jobs *jobs)
{
    struct source_note note;
    int code = 0;
    for (size_t i = 0; code == 0 && jobs->site->sink->warning != NULL && jobs->source->note(jobs->source, i, &note);
         i++) {
        char text[512];
        snprintf(text, sizeof text, "jobs: %s%s%s", note.text, note.where != NULL ? ", first at " : "",
                 source_note_place(&note));
        struct warning_row row = {.t_s = (double)NAN, .code = note.code, .text = text, .count = note.count};
        code = jobs->site->sink->warning(jobs->site->sink->context, &row);
    }
    return code;
}

/* --- CPUs and memory --- */

bool job_plan_set_host(struct job_plan *plan, const struct job_view *view, const struct job_host *host,
                       const char *reason)
{
    struct jobs *jobs = plan->jobs;
    struct job *job = job_of(view);
    if (plan->code < 0) return false;
    if (view->state != JOB_RUNNING || host->cpu_milli < 0 || host->memory_bytes < 0) {
        job_plan_blame(jobs, &jobs->scheduler->policy,
                       "gives %lld CPUs in 1/1000 and %lld bytes to job %lld, which %s (reason: %s)",
                       (long long)host->cpu_milli, (long long)host->memory_bytes, (long long)view->id,
                       view->state == JOB_RUNNING ? "cannot be" : "does not run", reason);
        return false;
    }
    if (jobs->cluster->resources == NULL || job->holder.held == NULL) return false;
    struct resource_request request = {.cpu_milli = host->cpu_milli, .memory_bytes = host->memory_bytes};
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) request.gpus += part->gpus;
    struct cluster *cluster = jobs_cluster_of(jobs, view->node_type);
    if (request.gpus == 0 || !cluster_set_host(cluster, job->holder.held, &request)) return false;
    const int32_t index = job_plan_add_action(plan, job, "tune", reason);
    if (index >= 0) plan->actions[index].host = *host;
    jobs_refresh_view(jobs);
    job_speed_changed(job, jobs->view.now_ns);
    return true;
}

/* --- The rest --- */

void job_plan_wake_at(struct job_plan *plan, sim_ns time_ns)
{
    struct jobs *jobs = plan->jobs;
    if (time_ns <= jobs->view.now_ns)
        job_plan_blame(jobs, &jobs->scheduler->policy, "asks to be woken at %.15g s, which is not later than now",
                       sim_s_from_ns(time_ns));
    if (time_ns < plan->wake_ns) plan->wake_ns = time_ns;
}

void job_plan_warn(struct job_plan *plan, const char *code, const char *text)
{
    struct jobs *jobs = plan->jobs;
    int32_t at = 0;
    while (at < plan->n_warnings && strcmp(plan->warnings[at].code, code) != 0) at++;
    if (at == JOB_PLAN_WARNINGS) {
        job_plan_blame(jobs, &jobs->scheduler->policy, "warns of more than %d things, of '%s' last", JOB_PLAN_WARNINGS,
                       code);
        return;
    }
    if (at == plan->n_warnings)
        plan->warnings[plan->n_warnings++] = (struct job_warning){code, text, jobs->view.now_ns, 0};
    plan->warnings[at].count++;
}

int job_plan_end(struct jobs *jobs)
{
    const struct job_plan *plan = &jobs->plan;
    if (plan->code < 0) return plan->code;
    const bool wakes = plan->wake_ns < SIM_NS_MAX;
    if (!jobs_are_stuck(jobs, wakes) && wakes)
        engine_arm(jobs->site->engine, plan->wake_ns, PRIORITY_JOB_DECIDE, jobs_on_wake, &jobs->wake);
    if (jobs->n_ended > 0) return jobs_end_after_plan(jobs);
    return plan->n_actions > 0 ? job_plan_emit_actions(plan) : 0;
}
