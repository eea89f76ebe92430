/* The rest of a plan: CPUs and memory of running jobs, its end, and its rows: decisions with their reasons, and the
 * scheduler's warnings; and what the trace noted; live rows. */
#include "sim/core/text.h"
#include "sim/world/jobs/job.h"
#include "sim/world/rows/priority.h"

#include <inttypes.h>
#include <math.h>
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

/* Whether some type says how the batch size of its jobs changes. */
static bool has_regimes(const struct jobs *jobs)
{
    const struct job_type *types = jobs->config->all_types.items;
    size_t i = 0;
    while (i < jobs->config->all_types.n && types[i].regimes.n == 0) i++;
    return i < jobs->config->all_types.n;
}

int jobs_emit_notes(const struct jobs *jobs)
{
    struct source_note note;
    int code = 0;
    for (size_t i = 0; code == 0 && jobs->site->sink->warning != NULL && jobs->source->note(jobs->source, i, &note);
         i++) {
        char text[512];
        const bool is_unprofiled = strcmp(note.code, SOURCE_UNPROFILED) == 0;
        if (is_unprofiled && has_regimes(jobs)) continue;
        snprintf(text, sizeof text, "jobs: %s%s%s%s", note.text,
                 is_unprofiled ? ": take this trace as \"profiles\" of jobs, too" : "",
                 note.where != NULL ? ", first at " : "", source_note_place(&note));
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

/* --- Live rows ---
 *
 * About jobs that wait and jobs that are slowed down, and about what the scheduler sees. No database stores them:
 * `orrery why` and `orrery check` simulate a run again and read them. */

enum { JOBS_TOLD = 8 };

/* The most free GPUs of one node, up to `most`, by the index of nodes with equal numbers of free GPUs. */
static int64_t most_on_node_gpus(const struct cluster *cluster, int64_t most)
{
    int64_t gpus = most;
    while (gpus > 0 && cluster_next_node(cluster, (int32_t)gpus, (int32_t)gpus, 0) < 0) gpus--;
    return gpus;
}

static int64_t whole_nodes(const struct cluster *cluster)
{
    const int32_t gpus = cluster->gpus_per_node;
    int64_t n = 0;
    for (int32_t node = 0; (node = cluster_next_node(cluster, gpus, gpus, node)) >= 0; node++) n++;
    return n;
}

/* The type that the trace names, while its record is at hand; else that of the scenario. NULL: none. */
static const char *type_name(const struct jobs *jobs, const struct job *job)
{
    const char *named = jobs->record.id == job->view.id ? jobs->record.type : NULL;
    if (named != NULL && *named != '\0') return named;
    return job->type != NULL ? job->type->name : NULL;
}

int jobs_emit_queue(const struct jobs *jobs, const struct job *submitted, sim_ns now)
{
    const struct sink *sink = jobs->site->sink;
    const struct cluster *cluster = jobs->cluster;
    struct queue_row row = {.t_s = sim_s_from_ns(now),
                            .job = submitted != NULL ? submitted->view.id : -1,
                            .most_on_node_gpus = -1,
                            .gpus = submitted != NULL ? submitted->view.gpus : 0,
                            .gpu_milli = submitted != NULL ? job_gpu_milli(submitted) : 1000,
                            .pending = jobs->view.n_pending,
                            .running = jobs->view.n_running,
                            .type = submitted != NULL ? type_name(jobs, submitted) : NULL,
                            .other_gpus = -(double)jobs->stats.ugpus_in_use.value / GPU_MICRO};
    for (; cluster != NULL; cluster = jobs->scheduler->uses_node_types ? cluster->next : NULL) {
        row.free_gpus += cluster_free_amount(cluster);
        row.other_gpus += cluster_gpus_in_use(cluster);
        if (jobs->placer == NULL || cluster->n_nodes == 0) continue;
        const int64_t most = most_on_node_gpus(cluster, cluster->gpus_per_node);
        const int64_t beside = most_on_node_gpus(cluster, cluster->gpus_per_node - 1);
        if (most > row.most_on_node_gpus) row.most_on_node_gpus = most;
        if (beside > row.most_beside_gpus) row.most_beside_gpus = beside;
        if (cluster->gpus_per_node < row.gpus_per_node) continue;
        row.whole_nodes = whole_nodes(cluster) + (cluster->gpus_per_node == row.gpus_per_node ? row.whole_nodes : 0);
        row.gpus_per_node = cluster->gpus_per_node;
    }
    return sink->queue(sink->context, &row);
}

int job_emit_clock(const struct job *job, sim_ns now)
{
    const struct sink *sink = job->jobs->site->sink;
    if (sink->job_clock == NULL) return 0;
    const struct holder_command command = holders_command(&job->jobs->cluster->holders, &job->holder);
    const struct job_clock_row row = {.t_s = sim_s_from_ns(now),
                                      .job = job->view.id,
                                      .speed_frac = job->holder.speed_frac,
                                      .power_domain = command.domain,
                                      .power_target = command.target,
                                      .power_given_s = sim_s_from_ns(command.given_ns),
                                      .power_since_s = sim_s_from_ns(command.since_ns)};
    return sink->job_clock(sink->context, &row);
}

/* The oldest jobs of a state: GPUs, submission, the user's estimate, and the time for which it has held GPUs. */
static void tell_jobs(const struct jobs *jobs, enum job_state state, sim_ns now, struct text *text)
{
    int n = 0;
    for (const struct job *job = jobs->oldest; job != NULL; job = job->next) {
        const struct job_view *view = &job->view;
        if (view->state != state || !job_needs_node(job)) continue;
        if (n++ == JOBS_TOLD) {
            text_add(text, ", ..");
            return;
        }
        text_printf(text, "%s %" PRId64 " (%.10g, %.10g s, %.10g s, %.10g s)", n > 1 ? "," : ": job", view->id,
                    state == JOB_RUNNING ? view->held_gpus : (double)view->gpus, sim_s_from_ns(view->submit_ns),
                    sim_s_from_ns(view->estimate_ns), sim_s_from_ns(job_executed_ns(job, now)));
    }
}

int jobs_emit_seen(const struct jobs *jobs, sim_ns now)
{
    const struct sink *sink = jobs->site->sink;
    struct text text;
    text_init(&text);
    for (const struct cluster_view *view = &jobs->view; view != NULL; view = view->next_type)
        if (view->total_gpus < INT64_MAX)
            text_printf(&text, "%.10g of %" PRId64 " GPUs free; ", view->free_amount, view->total_gpus);
    text_printf(&text, "jobs with their GPUs, submission, estimate and time on GPUs; %" PRId64 " wait",
                jobs->view.n_pending);
    tell_jobs(jobs, JOB_PENDING, now, &text);
    text_printf(&text, "; %" PRId64 " run", jobs->view.n_running);
    tell_jobs(jobs, JOB_RUNNING, now, &text);
    struct decision_row row = {.t_s = sim_s_from_ns(now), .service = "", .policy = jobs->scheduler->policy.name,
                               .action = "see", .subject = -1, .reason = text.chars};
    const int code = text.failed ? SIM_E_NOMEM : sink->seen(sink->context, &row);
    text_fini(&text);
    return code;
}
