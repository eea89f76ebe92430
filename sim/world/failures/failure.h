/* Failures at a site: what strikes nodes and jobs, what becomes of them, and when they come back.
 *
 * Every component (GPU, node, switch, site) of a cause has a lifetime of its own, which goes on by the clock, whether or not
 * a job uses it, and begins anew once it is repaired. Shocks of a domain strike several of its nodes, one by one over a
 * while. A node that fails loses its jobs, which fall back to their last checkpoint, and its replicas of services
 * (service_struck.c), and is away until it is repaired; a failure without repair only interrupts. What strikes a node that is away already passes unseen. Failures of scope 'job' come
 * with the time for which a job has held GPUs.
 *
 * Everything is drawn from streams named by cause and component, and nothing depends on jobs but what befalls them: under one
 * seed all policies meet with the same failures. Failures keep no run alive; a repair that a job may wait for does.
 *
 * A failure costs O(log n) of the components, what the jobs that it strikes cost their scheduler, and for each node that it strikes
 * a look at all GPUs of all replicas.
 *
 * Leaves out: GPUs that fail without their node; services whose replicas cannot start anew: what they hold goes on, on a node that
 * is away, too. */
#ifndef ORRERY_WORLD_FAILURES_FAILURE_H
#define ORRERY_WORLD_FAILURES_FAILURE_H

#include "sim/core/engine.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/failures/failure_config.h"
#include "sim/world/rows/site_env.h"

struct failures;
struct job;
struct jobs;
struct service;

struct failures_options {
    bool places_jobs;  /* jobs are on particular nodes */
    bool has_breakers; /* that leave nodes without power */
};

/* Sets spare nodes aside. Site, cluster and config outlive the failures. Nodes can only fail where there are
 * some, and jobs are placed on them. Returns 0 or a negative code with findings. */
int failures_create(struct site_env *site, struct cluster *cluster, const struct failures_config *config,
                    const struct failures_options *options, struct failures **failures);

/* Not before the jobs. */
void failures_destroy(struct failures *failures);

/* Whose jobs they strike; before the start. */
void failures_strike_jobs(struct failures *failures, struct jobs *jobs);

/* And whose replicas: those of services that service_may_be_struck. The array outlives the failures. */
void failures_strike_services(struct failures *failures, struct service *const *services, size_t n);

/* Draws the first failures. Returns 0 or SIM_E_NOMEM. */
int failures_start(struct failures *failures);

/* A job with GPUs begins to hold those of its allocation, holds others, or none. Ending without a beginning is fine. */
int failures_job_begins(struct failures *failures, struct job *job, sim_ns now); /* 0 or SIM_E_NOMEM */
void failures_job_ends(struct failures *failures, struct job *job);

/* It leaves the system. When no jobs are left, and no requests of a service that they strike, repairs keep the run alive no longer. */
void failures_job_leaves(struct failures *failures, struct job *job, bool is_last);
void failures_jobs_end(struct failures *failures); /* there are none any more */
void failures_service_ends(struct failures *failures); /* of one of them */

/* Mean time between the failures of a job that holds what it holds now, as its causes' means have it; INFINITY: it never fails. And
 * the mean of what a failure makes it wait before it computes again. */
double failures_job_mtbf_s(const struct failures *failures, const struct job *job);
double failures_job_restart_s(const struct failures *failures, const struct job *job);

/* A breaker leaves nodes without power until a time: they fail at this moment, and none of them, those that are away or spare
 * included, is in service before. Counted under "breaker". Returns 0 or SIM_E_NOMEM. */
int failures_black_out(struct failures *failures, int32_t first_node, int32_t n_nodes, sim_ns until_ns);

/* Emits metrics at the end of the run. Returns 0 or the sink's code. */
int failures_emit(const struct failures *failures, sim_ns now);

#endif
