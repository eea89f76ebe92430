/* What prefix stores and chunk stores check alike of the tiers that a scenario gives them. */
#ifndef ORRERY_WORLD_KV_STORE_TIERS_H
#define ORRERY_WORLD_KV_STORE_TIERS_H

#include "sim/core/config/config.h"
#include "sim/world/links/topology.h"

struct store_place {
    const char *name;
    const char *device; /* NULL: the host; else a name in cluster.storage */
    const struct policy *evictor;
};

/* Whether cluster.storage has a device of this name. */
bool store_has_device(const struct topology_config *links, const char *name);

/* Checks the last of places[n] beside those above it. `other_hint` names what else may stand for a device that is not
 * there, or is "". Returns 0 or SIM_E_CONFIG with a finding at `where`. */
int store_place_check(const struct store_place *places, size_t n, const struct topology_config *links,
                      const char *other_hint, const char *where, struct diag *diag);

/* The time per byte of a load that is alone on its links: that of the slowest one, over which so many of the shards
 * go. Also its latency. Returns 0 or SIM_E_NOMEM. */
int store_load_rate(struct topology_end from, struct topology_end to, double *s_per_byte, double *latency_s);

#endif
