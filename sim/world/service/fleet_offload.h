/* The part of building a fleet that is about offloading. */
#ifndef ORRERY_WORLD_SERVICE_FLEET_OFFLOAD_H
#define ORRERY_WORLD_SERVICE_FLEET_OFFLOAD_H

#include "sim/world/service/fleet.h"

/* The path, and the place, of a key of the pool, or of the service where it has no pools. The path is NULL without memory. */
const char *fleet_path_of(const struct fleet *fleet, const struct fleet_pool *pool, const char *key);
const char *fleet_place_of(const struct fleet *fleet, const struct fleet_pool *pool, const char *key);

/* Asks the offloading policy of a pool for a placement, whose model then prices iterations. Replicas of one node share its host
 * memory, and the site's PCIe switch, by equal parts. Returns 0 or a negative code with findings: a tier that the policy needs
 * and that is not there, stages that it cannot place, preemption that contradicts the batcher's. */
int fleet_place_offloaded(const struct fleet *fleet, struct fleet_pool *pool);

#endif
