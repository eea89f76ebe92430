/* Live rows about jobs that wait and jobs that are slowed down. No database stores them: `orrery why` simulates its run
 * again and reads them. */
#include "sim/world/jobs/job.h"

#include <math.h>

/* The most free GPUs of one node, by the index of nodes with equal numbers of free GPUs. */
static int64_t most_on_node_gpus(const struct cluster *cluster)
{
    int64_t gpus = cluster->gpus_per_node;
    while (gpus > 0 && cluster_next_node(cluster, (int32_t)gpus, (int32_t)gpus, 0) < 0) gpus--;
    return gpus;
}

int jobs_emit_queue(const struct jobs *jobs, const struct job *submitted, sim_ns now)
{
    const struct sink *sink = jobs->site->sink;
    if (sink->queue == NULL || (submitted != NULL && job_gpu_milli(submitted) < 1000)) return 0;
    const struct cluster *cluster = jobs->cluster;
    struct queue_row row = {.t_s = sim_s_from_ns(now),
                            .job = submitted != NULL ? submitted->view.id : -1,
                            .most_on_node_gpus = -1,
                            .gpus = submitted != NULL ? submitted->view.gpus : 0,
                            .pending = jobs->view.n_pending,
                            .running = jobs->view.n_running};
    for (; cluster != NULL; cluster = jobs->scheduler->uses_node_types ? cluster->next : NULL) {
        row.free_gpus += cluster_free_amount(cluster);
        if (jobs->placer == NULL || cluster->n_nodes == 0) continue;
        const int64_t most = most_on_node_gpus(cluster);
        if (most > row.most_on_node_gpus) row.most_on_node_gpus = most;
        if (cluster->gpus_per_node > row.gpus_per_node) row.gpus_per_node = cluster->gpus_per_node;
    }
    return sink->queue(sink->context, &row);
}

int job_emit_clock(const struct job *job, sim_ns now)
{
    const struct sink *sink = job->jobs->site->sink;
    const struct holder *holder = &job->holder;
    if (sink->job_clock == NULL) return 0;
    const struct job_clock_row row = {.t_s = sim_s_from_ns(now),
                                      .job = job->view.id,
                                      .speed_frac = holder->speed_frac,
                                      .power_domain = holder->power_domain,
                                      .power_target = holder->power_target,
                                      .power_given_s = sim_s_from_ns(holder->power_given_ns),
                                      .power_since_s = sim_s_from_ns(holder->power_since_ns)};
    return sink->job_clock(sink->context, &row);
}
