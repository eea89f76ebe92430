/* Nodes that differ, from a file: how many GPUs each has and of which model, its CPU and its memory. */
#ifndef ORRERY_WORLD_CLUSTER_NODE_LIST_H
#define ORRERY_WORLD_CLUSTER_NODE_LIST_H

#include "sim/core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

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

/* Reads the file into `list`, of struct node_spec, in its order. Returns 0, SIM_E_IO, SIM_E_DATA or SIM_E_NOMEM with findings. */
int node_list_read(const struct node_list_config *config, struct arena *arena, struct config_list *list,
                   struct diag *diag);

#endif
