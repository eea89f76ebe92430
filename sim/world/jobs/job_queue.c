/* Live rows about jobs that wait and jobs that are slowed down, and about what the scheduler sees. No database stores
 * them: `orrery why` and `orrery check` simulate a run again and read them. */
#include "sim/core/text.h"
#include "sim/world/jobs/job.h"

#include <inttypes.h>
#include <math.h>

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
