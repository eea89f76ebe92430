/* Where jobs are: what the network between their nodes costs them, and rows that tell of it. A stretch that a preemption ended
 * is told when the job starts again or the run ends: until the scheduler has made up its mind, the job may stay where it is
 * after all. Of parts of counted GPUs, which are on no node, no row tells. */
#include "sim/world/jobs/job.h"

static int emit(const struct job *job, sim_ns to_ns, int64_t node, int64_t gpus)
{
    const struct sink *sink = job->jobs->site->sink;
    struct placement_row row = {.job = job->view.id,
                                .node = node,
                                .gpus = gpus,
                                .start_s = sim_s_from_ns(job->held_from_ns),
                                .end_s = sim_s_from_ns(to_ns)};
    return sink->placement(sink->context, &row);
}

int job_emit_placement(struct job *job, sim_ns now)
{
    sim_ns to_ns = job->view.state == JOB_RUNNING ? now : job->held_to_ns;
    int code = 0;
    if (job->jobs->site->sink->placement != NULL && job->view.gpus > 0 && job->held_from_ns < to_ns) {
        const int32_t first_node = jobs_cluster_of(job->jobs, job->view.node_type)->first_node;
        if (job->holder.held == NULL && job->holder.ugpus % GPU_MICRO == 0)
            code = emit(job, to_ns, -1, job->holder.ugpus / GPU_MICRO);
        for (const struct allocation *part = job->holder.held; code == 0 && part != NULL; part = part->next)
            code = emit(job, to_ns, first_node + part->node, part->gpus);
    }
    job->held_from_ns = to_ns;
    return code;
}

double jobs_place_speed(const struct jobs *jobs, const struct allocation *allocation)
{
    const struct network_penalty *penalty = &jobs->config->network_penalty;
    const int32_t per_rack = jobs->cluster->nodes_per_rack;
    if (allocation == NULL || allocation->next == NULL) return 1;
    bool one_rack = true;
    for (const struct allocation *part = allocation->next; per_rack > 0 && part != NULL; part = part->next)
        one_rack = one_rack && part->node / per_rack == allocation->node / per_rack;
    return 1 - (one_rack ? penalty->nodes_frac : penalty->racks_frac);
}

int jobs_check_power(const struct jobs *jobs)
{
    if (jobs->placer != NULL) return 0;
    return diag_error(jobs->site->diag, SIM_E_CONFIG, "jobs", "take \"placement\": \"consolidated\"",
                      "'cluster.power' has domains of nodes, and the jobs' placement policy only counts GPUs");
}
