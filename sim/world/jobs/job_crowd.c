#include "sim/world/jobs/job_crowd.h"

#include "sim/world/jobs/job.h"

#include <math.h>

/* GPUs that jobs may run on; 0: unlimited. */
static int64_t reach_gpus(const struct jobs *jobs)
{
    const struct cluster *cluster = jobs->cluster;
    if (cluster->total_gpus == INT64_MAX) return 0;
    int64_t gpus = 0;
    for (; cluster != NULL; cluster = jobs->scheduler->uses_node_types ? cluster->next : NULL)
        gpus += cluster->total_gpus;
    return gpus;
}

/* The integral of the GPUs of these nodes that are in use. */
static tally_int128 used_ugpu_ns(const struct jobs *jobs, sim_ns now)
{
    tally_int128 sum = 0;
    const struct cluster *cluster = jobs->cluster;
    for (; cluster != NULL; cluster = jobs->scheduler->uses_node_types ? cluster->next : NULL) {
        const struct level *level = &cluster->ugpus_in_use;
        sum += level->integral + (tally_int128)level->value * (now - level->since_ns);
    }
    return sum;
}

void job_crowd_move(struct jobs *jobs, sim_ns now)
{
    struct job_crowd *crowd = &jobs->crowd;
    const sim_ns past_ns = now - crowd->last_ns;
    if (past_ns == 0) return;
    const int64_t gpus = reach_gpus(jobs);
    const tally_int128 used = used_ugpu_ns(jobs, now);
    crowd->job_ns += (tally_int128)(jobs->view.n_pending + jobs->view.n_running) * past_ns;
    if (jobs->view.n_pending > 0 && gpus > 0)
        crowd->idle_ugpu_ns += (tally_int128)(gpus * GPU_MICRO) * past_ns - (used - crowd->used_ugpu_ns);
    crowd->used_ugpu_ns = used;
    crowd->last_ns = now;
}

double job_crowd_rho(const struct job *job, sim_ns now)
{
    const struct jobs *jobs = job->jobs;
    const double jct_ns = (double)(now - job->view.submit_ns), run_ns = (double)job->progress.work_ns;
    if (!(jct_ns > 0) || !(run_ns > 0)) return (double)NAN;
    const double beside = (double)(jobs->crowd.job_ns - job->crowd_before) / jct_ns;
    const int64_t gpus = reach_gpus(jobs);
    const double asked = job->view.gpus * job_gpu_milli(job) / 1000.0;
    const double slower = gpus > 0 ? asked * beside / (double)gpus : 1;
    return jct_ns / (run_ns * fmax(1, slower));
}
