/* The section "cluster" of a scenario: nodes, links, and power, each read by its own room. */
#ifndef ORRERY_WORLD_CLUSTER_SECTION_H
#define ORRERY_WORLD_CLUSTER_SECTION_H

#include "sim/world/cluster/cluster_config.h"
#include "sim/world/links/topology_config.h"
#include "sim/world/power/power_config.h"

struct cluster_section {
    struct cluster_config nodes;
    struct topology_config links; /* and memory beyond the GPUs' own */
    struct server_power_config server_power;
    struct power_config power;
};

extern const struct config_field cluster_section_fields[];

/* Warns of each 'gpu_price', also of node types, that nothing reads: for a site without services and market, where
 * jobs cost nothing. */
void cluster_section_warn_prices(const struct cluster_section *section, const struct config *config, struct diag *diag);

/* Warns of keys of an unlimited cluster that only describe nodes and links. "gpus_per_node", "cpus_per_node" and
 * "memory_per_node", which have no effect there either, get no warning. */
void cluster_section_warn_unlimited(const struct cluster_section *section, const struct config *config,
                                    struct diag *diag);

/* Checks that the catalog has the GPUs of further node types, whether or not a pool wants them. Returns 0 or a
 * negative code with findings. */
int cluster_section_check_gpus(const struct cluster_section *section, const struct catalog *catalog,
                               const struct config *config, struct arena *arena, struct diag *diag);

#endif
