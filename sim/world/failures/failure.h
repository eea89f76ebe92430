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
#include "sim/world/rows/component.h"
#include "sim/world/rows/site_env.h"

struct failures;

struct failures_options {
    bool places_jobs;  /* jobs are on particular nodes */
    bool has_breakers; /* that leave nodes without power */
};

/* Sets spare nodes aside, and watches who holds GPUs (holder.h). Site, cluster and config outlive the failures. Nodes can only fail where there are
 * some, and jobs are placed on them. Returns 0 or a negative code with findings. */
int failures_create(struct site_env *site, struct cluster *cluster, const struct failures_config *config,
                    const struct failures_options *options, struct failures **failures);

/* Draws the first failures at the start; metrics at the end. */
extern const struct component failures_component;

#endif
