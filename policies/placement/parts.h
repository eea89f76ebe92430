/* The parts of a job, one per node, for placers that examine single nodes. A job goes to one node if the largest node
 * can hold it and it requests no more nodes. Else it fills nodes with as many GPUs as the largest node has, and puts
 * the rest on one more. If it requests more nodes than that, its GPUs are spread evenly. CPU and memory are divided
 * like the GPUs. */
#ifndef ORRERY_POLICIES_PLACEMENT_PARTS_H
#define ORRERY_POLICIES_PLACEMENT_PARTS_H

#include "sim/world/policy/placement.h"

/* The request of one part; gpu_models: bit set of the GPU models that it accepts. */
struct part {
    int32_t gpus, gpu_milli;
    int64_t cpu_milli, memory_bytes;
    uint64_t gpu_models;
};

/* n_large parts of `large` GPUs, then n_small parts of `small` GPUs. */
struct parts {
    int32_t n_large, large, n_small, small;
    const struct resource_request *request;
};

struct parts parts_of(const struct cluster_view *view, const struct resource_request *request);
struct part parts_get(const struct parts *parts, int32_t index);

static inline int32_t parts_n(const struct parts *parts)
{
    return parts->n_large + parts->n_small;
}

static inline bool part_is_share(const struct part *part)
{
    return part->gpu_milli < 1000;
}

/* GPUs of the node with room for one more share; for whole GPUs: free GPUs. */
int32_t part_gpus_on(const struct node_view *node, const struct part *part);

/* Whether the part fits on the node now. */
bool part_fits(const struct node_view *node, const struct part *part);

/* The GPU that a share fits best: the lowest of those with the least sufficient capacity left. -1: none. */
int32_t part_best_gpu(const struct node_view *node, const struct part *part);

/* Whether the part fits on a node that the placement does not use yet. */
bool part_is_open(const struct cluster_view *view, int32_t node, const struct part *part,
                  const struct placement *placement);

/* The node from `first` to before `end` that is open to the part and has the least GPU capacity left; the lowest of
 * equals. -1: none. */
int32_t part_best_node(const struct cluster_view *view, const struct part *part, int32_t first, int32_t end,
                       const struct placement *placement);

/* Puts the part on a node where it fits, and a share on the GPU that it fits best. */
void part_put(const struct cluster_view *view, int32_t node, const struct part *part, struct placement *placement);

/* Whether the job's parts fit on different nodes of the empty cluster, but for its spare nodes. A `possible` of struct
 * placer; state is not used. */
bool parts_possible(void *state, const struct cluster_view *view, const struct job_view *job);

#endif
