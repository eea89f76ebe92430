/* Jobs beside each other: how many share the cluster, and how many of its GPUs stand idle while one of them waits. CPU jobs are
 * none of them. O(1) per event. */
#ifndef ORRERY_WORLD_JOBS_JOB_CROWD_H
#define ORRERY_WORLD_JOBS_JOB_CROWD_H

#include "sim/core/tally.h"
#include "sim/core/units.h"

struct jobs;
struct job;

struct job_crowd {
    sim_ns last_ns;
    tally_int128 job_ns;                     /* integral of the jobs in the system, up to last_ns */
    tally_int128 used_ugpu_ns, idle_ugpu_ns; /* of the GPUs in use; of those free while a job waits */
};

/* Brings it to `now`. To be called before jobs come, start, stop or go. */
void job_crowd_move(struct jobs *jobs, sim_ns now);

/* How often as long the job took as it would have on its share of the GPUs that it may run on, these divided by the jobs in the
 * system, mean over its time there: rho of finish-time fairness (Mahajan et al., Themis, NSDI 2020, section 3), at a speed
 * in proportion to the share, and no faster than on what it asked for. At its end; NAN when it took no time. */
double job_crowd_rho(const struct job *job, sim_ns now);

#endif
