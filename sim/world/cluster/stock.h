/* What is left on each node of a cluster: CPU, memory, and of each GPU in 1/1000. It stands behind clusters whose nodes differ
 * or whose placer looks at nodes one by one; other clusters count whole GPUs per node and do without it.
 *
 * A job holds a share of one GPU, or whole GPUs: those with the lowest numbers that nobody holds a part of. Shares of one GPU
 * never add up to more than the GPU, and neither do CPU and memory (INV-6). */
#ifndef ORRERY_WORLD_CLUSTER_STOCK_H
#define ORRERY_WORLD_CLUSTER_STOCK_H

#include "sim/world/cluster/cluster_config.h"
#include "sim/world/policy/view.h"

#include <stdbool.h>
#include <stdint.h>

/* What somebody holds on one node. */
struct holding {
    int32_t node, gpus;    /* gpus 0: only CPU and memory */
    int32_t gpu_milli;     /* of each GPU; 1000: whole ones */
    int32_t gpu;           /* of a share: which GPU of the node */
    uint64_t gpu_set;      /* bits of the GPUs that it holds */
    int64_t cpu_milli, memory_bytes;
    bool is_group;         /* of a service: it shows in no count of jobs */
};

/* The models of GPUs at a site, each with a number of its own: all its node types share one list. */
enum { GPU_MODELS_MAX = 64 };

struct gpu_models {
    int32_t n;
    const char *names[GPU_MODELS_MAX];
};

struct stock {
    int32_t n_nodes, n_kinds; /* kinds of holdings on a node: shares, then 1 .. whole GPUs */
    struct node_view *nodes;            /* what policies see */
    int32_t *left_milli;                /* of each GPU, node after node */
    int32_t *jobs_by_gpus;              /* [n_nodes * n_kinds] */
    uint64_t *group_sets;               /* [n_nodes] GPUs that services hold */
    struct holding *away;               /* [n_nodes] what nodes that are away have taken with them */
    const struct gpu_models *models;    /* of the site; not its own */
    uint64_t model_set;                 /* bits of those that its GPUs have */
};

/* Of nodes that are all free. Their models join those of the site, told apart by name. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG: a
 * node has more than NODE_LIST_MAX_GPUS, or the site more than GPU_MODELS_MAX models. The specs' texts and the models outlive it. */
int stock_create(const struct node_spec *specs, int32_t n_nodes, struct gpu_models *models, struct stock **stock);
void stock_destroy(struct stock *stock); /* NULL is allowed */

/* Takes it if it is free: sets gpu_set of a holding that names none, else takes those very GPUs. Returns whether it did. */
bool stock_take(struct stock *stock, struct holding *holding);
void stock_give(struct stock *stock, const struct holding *holding);

/* GPUs of a node, whole ones, for a service, and back: any of those it holds there. There must be so many. */
void stock_take_group(struct stock *stock, int32_t node, int32_t gpus);
void stock_give_group(struct stock *stock, int32_t node, int32_t gpus);

/* All that is left of a node is nobody's until the node returns. Again, as long as it is away: what has been given back goes, too. */
void stock_remove_node(struct stock *stock, int32_t node);
void stock_return_node(struct stock *stock, int32_t node);

/* The bits of the models in a list "A|B"; all of them when it is NULL or empty, 0 when no node has any of them. */
uint64_t gpu_models_of(const struct gpu_models *models, const char *list);

/* Says what is wrong (INV-6), or NULL: nothing more is held of a GPU, of CPU or of memory than there is, and the sums agree. */
const char *stock_fault(const struct stock *stock);

#endif
