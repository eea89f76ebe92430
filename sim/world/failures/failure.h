/* Failures at a site: what strikes nodes and jobs, what they lose, and when they return.
 *
 * Every component (GPU, node, switch, site) of a cause has a lifetime of its own. It passes by the clock, whether or
 * not a job uses the component, and begins anew after a repair. A shock of a domain strikes several of its nodes, one
 * by one over a while. A node that fails loses its jobs, which fall back to their last checkpoint, and its replicas of
 * services (service_failures.c). It is down until it is repaired; a failure without repair only interrupts. A strike of
 * a node that is already down has no effect and counts as unseen. Failures of scope 'job' come with the time for which
 * a job has held GPUs.
 *
 * Everything is drawn from streams named by cause and component. Only the effect of a failure depends on jobs, so under
 * one seed all policies meet the same failures. Failures keep no run alive; a repair for which a job may wait
 * does.
 *
 * A failure costs O(log n) in the components, the decisions of the schedulers whose jobs it strikes, and for each
 * failed node a scan over all replicas.
 *
 * A cause may make its components slow, or hang, instead: failure_slow.c. Outages may be planned: failure_outages.c.
 * Jobs may come back only when the cause is found: failure_recovery.c.
 *
 * Not modelled: GPUs that fail without their node; services whose replicas cannot restart (they keep what they hold on
 * a node that is down). */
#ifndef ORRERY_WORLD_FAILURES_FAILURE_H
#define ORRERY_WORLD_FAILURES_FAILURE_H

#include "sim/core/engine.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/failures/failure_config.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/site_env.h"

struct failures;
struct topology;

struct failures_options {
    bool places_jobs;  /* jobs are on particular nodes */
    bool has_breakers; /* breakers leave nodes without power */
    struct topology *topology; /* NULL: there are no links, and no cause makes them slow */
};

/* Sets spare nodes aside and watches who holds GPUs (holder.h). Site, cluster and config outlive the failures. Causes
 * that strike nodes need nodes, and jobs placed on them. Returns 0 or a negative code with findings. */
int failures_create(struct site_env *site, struct cluster *cluster, const struct failures_config *config,
                    const struct failures_options *options, struct failures **failures);

/* Draws the first failures at the start; metrics at the end. */
extern const struct component failures_component;

#endif
