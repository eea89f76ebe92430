/* The free resources of each node of a cluster: CPU, memory, and each GPU in 1/1000. They are tracked if nodes differ,
 * if CPU or memory counts, or if the placer chooses nodes one by one. Other clusters count whole GPUs per node.
 *
 * A job holds a share of one GPU, or whole GPUs: the free ones with the lowest numbers. Shares of a GPU never add up to
 * more than the GPU; the same holds for CPU and memory (INV-6). */
#ifndef ORRERY_WORLD_CLUSTER_NODE_RESOURCES_H
#define ORRERY_WORLD_CLUSTER_NODE_RESOURCES_H

#include "sim/core/change_log.h"
#include "sim/world/cluster/cluster_config.h"
#include "sim/world/policy/cluster_view.h"

#include <stdbool.h>
#include <stdint.h>

/* Resources held on one node. */
struct node_allocation {
    int32_t node, gpus;    /* gpus 0: only CPU and memory */
    int32_t gpu_milli;     /* of each GPU; 1000: whole GPUs */
    int32_t gpu;           /* a share: number of the GPU on the node */
    uint64_t gpu_set;      /* bits of the GPUs held */
    int64_t cpu_milli, memory_bytes;
    bool is_group;         /* of a service: not counted among jobs */
};

/* The models of GPUs at a site, each with a number of its own: all its node types share one list. */
enum { GPU_MODELS_MAX = 64 };

struct gpu_models {
    int32_t n;
    const char *names[GPU_MODELS_MAX];
};

struct node_resources {
    int32_t n_nodes, n_kinds; /* kinds of allocations on a node: shares, then 1 .. whole GPUs */
    struct node_view *nodes;            /* the policies' view */
    struct change_log changed;          /* nodes */
    int32_t *left_milli;                /* of each GPU, node after node */
    int32_t *jobs_by_gpus;              /* [n_nodes * n_kinds] */
    uint64_t *group_sets;               /* [n_nodes] GPUs that services hold */
    struct node_allocation *down;       /* [n_nodes] resources withdrawn from nodes that are down */
    const struct gpu_models *models;    /* of the site, which owns them */
    uint64_t model_set;                 /* bits of the models of its GPUs */
};

/* Tracks free nodes and adds their GPU models, by name, to those of the site. The specs' texts and the
 * models outlive it. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG: a node has more than NODE_LIST_MAX_GPUS, or the site more
 * than GPU_MODELS_MAX models. */
int node_resources_create(const struct node_spec *specs, int32_t n_nodes, struct gpu_models *models,
                          struct node_resources **resources);
void node_resources_destroy(struct node_resources *resources); /* NULL is allowed */

/* Takes the allocation on its node, choosing GPUs when gpu_set is empty. False, changing nothing, if they are not
 * free. */
bool node_resources_take(struct node_resources *resources, struct node_allocation *allocation);
void node_resources_release(struct node_resources *resources, const struct node_allocation *allocation);

/* Whether the allocation may have so much CPU and memory in place of its own. */
bool node_resources_has_host(const struct node_resources *resources, const struct node_allocation *allocation,
                             int64_t cpu_milli, int64_t memory_bytes);

/* Changes its CPU and memory. There must be as much. */
void node_resources_set_host(struct node_resources *resources, struct node_allocation *allocation, int64_t cpu_milli,
                             int64_t memory_bytes);

/* Takes whole GPUs of a node for a service, or releases any that services hold there. There must be as many. */
void node_resources_take_group(struct node_resources *resources, int32_t node, int32_t gpus);
void node_resources_release_group(struct node_resources *resources, int32_t node, int32_t gpus);

/* Withdraws what is free on a node until the node returns. Called again while it is down: withdraws what was released
 * since. */
void node_resources_remove_node(struct node_resources *resources, int32_t node);
void node_resources_return_node(struct node_resources *resources, int32_t node);

/* The bits of the models in a list "A|B"; all bits if it is NULL or empty, 0 if no node has any of them. */
uint64_t gpu_models_of(const struct gpu_models *models, const char *list);

/* Checks INV-6: no more of a GPU, of CPU or of memory is held than exists, and the sums agree. Returns what is wrong,
 * or NULL. */
const char *node_resources_fault(const struct node_resources *resources);

#endif
