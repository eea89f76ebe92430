/* The nodes of a site as its section "cluster" describes them, checked before any of them is built. */
#ifndef ORRERY_WORLD_CLUSTER_CLUSTER_CONFIG_H
#define ORRERY_WORLD_CLUSTER_CLUSTER_CONFIG_H

#include "sim/core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

struct catalog;

/* What a node has. */
struct node_spec {
    int32_t gpus;
    const char *gpu_model;           /* "" when the file does not say */
    int64_t cpu_milli, memory_bytes; /* INT64_MAX: not counted */
};

enum { NODE_LIST_MAX_GPUS = 64 }; /* of a node */

/* "nodes_file" of a scenario's cluster. */
struct node_list_config {
    const char *path; /* NULL: none */
    int format;
    bool cpu_nodes;
};

extern const struct config_field node_list_config_fields[];

/* A section of "node_types". */
struct node_type_config {
    const char *name; /* its key */
    int64_t nodes, gpus_per_node;
    const char *gpu, *mig; /* mig: profile that cuts each GPU; NULL: GPUs are whole */
    int64_t slices;        /* of each GPU, after cluster_config_load; 0: GPUs are whole */
    double gpu_usd_per_h; /* rental price of one GPU; not above 0: that of the hardware catalog */
    double cpus_per_node, memory_per_node_bytes; /* not above 0: not counted */
};

struct cluster_config {
    int64_t nodes, gpus_per_node; /* with a list of nodes: how many it has, and the most of any */
    double cpus_per_node, memory_per_node_bytes; /* as for a node type */
    int64_t nodes_per_rack;                      /* of every type; 0: all in one rack */
    struct node_list_config nodes_file;
    struct config_list node_list; /* struct node_spec: what is in that file */
    const char *gpu; /* name in the hardware catalog; NULL: the scenario gives none */
    const char *mig; /* as for a node type, like the next one */
    int64_t slices;
    double gpu_usd_per_h; /* as for a node type */
    bool unlimited;
    struct config_list node_types; /* struct node_type_config */
};

/* The rows of "node_types". */
extern const struct config_field node_type_config_fields[];

/* Nodes of all types, and the GPUs of one of them: the cluster's own nodes come first, then those of node_types. */
int64_t cluster_config_nodes(const struct cluster_config *config);
int64_t cluster_config_node_gpus(const struct cluster_config *config, int64_t node);

/* Most GPUs of a node that has this GPU; 0: the cluster is unlimited, or has none. */
int64_t cluster_config_gpus_per_node(const struct cluster_config *config, const char *gpu);

/* Reads the list of nodes, if there is one, cuts GPUs by their MIG profiles, and checks the limits of
 * node_resources.h. A node type with slices then has the slice as its `gpu`, as many more gpus_per_node, and a
 * slice's price. Returns 0, or a negative code with findings at their places in `document`. */
int cluster_config_load(struct cluster_config *config, const struct config *document, const struct catalog *catalog,
                        struct arena *arena, struct diag *diag);

/* Slices of each GPU of the site, 1: GPUs are whole, or one slice each; -1: node types differ. */
int64_t cluster_config_slices(const struct cluster_config *config);

#endif
