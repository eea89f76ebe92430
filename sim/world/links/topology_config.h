/* The parts of a scenario's "cluster" about links and memory beyond the GPUs: PCIe, host, network, storage. All are
 * optional. */
#ifndef ORRERY_WORLD_LINKS_TOPOLOGY_CONFIG_H
#define ORRERY_WORLD_LINKS_TOPOLOGY_CONFIG_H

#include "sim/core/config/config_field.h"

#include <stdint.h>

/* Zero or NAN: not given. */
struct pcie_switch_config {
    int64_t gpus;       /* below each switch; 0: no switches */
    double bytes_per_s; /* of its link to the host */
};

struct host_config {
    const char *device;   /* of the storage catalog, kind "dram" */
    const char *software; /* one of its stacks */
    double memory_bytes;
};

enum network_per { NETWORK_PER_GPU, NETWORK_PER_NODE };

/* What connects the NICs (graph.h). */
#define NETWORK_TOPOLOGIES(X)                                                                                          \
    X(NETWORK_FLAT, "flat")                                                                                            \
    X(NETWORK_LEAF_SPINE, "leaf-spine")                                                                                \
    X(NETWORK_RAILS, "rails")                                                                                          \
    X(NETWORK_FAT_TREE, "fat-tree")

enum network_topology {
#define NETWORK_TOPOLOGY_ENUM(id, name) id,
    NETWORK_TOPOLOGIES(NETWORK_TOPOLOGY_ENUM)
#undef NETWORK_TOPOLOGY_ENUM
};

/* Which of the equal paths a flow takes: by a hash, or the least loaded one when it begins. */
enum network_paths { NETWORK_ECMP, NETWORK_PLANNED };

/* When jobs send: all the time that they work, at one moment; or in the part of their step that their bytes take, at
 * moments that have nothing to do with those of other jobs. */
enum network_sends { NETWORK_SENDS_ALWAYS, NETWORK_SENDS_IN_PART };

/* Collectives of replicas over nodes: timed as if alone on the network, which does not carry them; or on its links,
 * with all other traffic. */
enum network_collectives { NETWORK_COLLECTIVES_ALONE, NETWORK_COLLECTIVES_SHARED };

struct network_config {
    double bytes_per_s; /* of each NIC */
    int per;            /* enum network_per */
    double fabric_bytes_per_s;
    int64_t latency_ns; /* from node to node */
    int topology;       /* enum network_topology */
    int64_t nodes_per_leaf, leaves_per_pod; /* 0: not given */
    int64_t ports, levels;                  /* of a fat tree; 0: not given */
    double oversubscription, pod_oversubscription;
    double uplink_bytes_per_s; /* of each port between switches, at most */
    int paths;               /* enum network_paths */
    int sends;               /* enum network_sends */
    int collectives;         /* enum network_collectives */
};

/* How data gets from a device to a GPU. */
enum storage_way { STORAGE_WAY_USUAL, STORAGE_WAY_HOST, STORAGE_WAY_DIRECT };

/* Equal devices of a node, over which data are striped. */
struct storage_config {
    const char *name;
    const char *device, *software; /* of the storage catalog */
    int64_t count;
    double ceiling_bytes_per_s, capacity_bytes;
    int way; /* enum storage_way */
};

struct topology_config {
    double pcie_bytes_per_s;
    struct pcie_switch_config pcie_switch;
    struct host_config host;
    struct network_config network;
    struct config_list storage; /* struct storage_config */
};

extern const struct config_field pcie_switch_config_fields[], host_config_fields[], network_config_fields[],
    storage_config_fields[];

#endif
