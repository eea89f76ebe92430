/* For placers that look at nodes one by one: what a job puts on a node, and whether it fits there. A job goes to one
 * node when the largest node can hold it and it did not ask for more; else it takes as many GPUs as that node has on
 * each of several, and the rest on one more. When it asked for more nodes than that, its GPUs are spread evenly. CPU
 * and memory go with the GPUs. */
#ifndef ORRERY_POLICIES_PLACEMENT_PARTS_H
#define ORRERY_POLICIES_PLACEMENT_PARTS_H

#include "sim/world/policy/placement.h"

/* What goes to one node. */
struct part {
    int32_t gpus, gpu_milli;
    int64_t cpu_milli, memory_bytes;
    uint64_t gpu_models;
};

/* Parts of a job: n_large of `large` GPUs, then n_small of `small`. */
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

/* GPUs of the node that have room for one more share, or are wholly free. */
int32_t part_gpus_on(const struct node_view *node, const struct part *part);

bool part_fits(const struct node_view *node, const struct part *part);
bool part_fits_empty(const struct node_view *node, const struct part *part);

/* The GPU that a share fits best: the one with the least left that suffices, the lowest of equals. -1 when there is
 * none. */
int32_t part_best_gpu(const struct node_view *node, const struct part *part);

/* Whether the part fits on a node that the placement does not name yet. */
bool part_is_open(const struct cluster_view *view, int32_t node, const struct part *part,
                  const struct placement *placement);

/* Of the nodes from `first` to before `end` that are open to the part the one that leaves least of its GPUs, the
 * lowest of equals; -1 when there is none. */
int32_t part_best_node(const struct cluster_view *view, const struct part *part, int32_t first, int32_t end,
                       const struct placement *placement);

/* Puts the part on a node where it fits; a share on the GPU that it fits best. */
void part_put(const struct cluster_view *view, int32_t node, const struct part *part, struct placement *placement);

/* Whether the job's parts fit on different nodes of the empty cluster: for `possible`. */
bool parts_possible(void *state, const struct cluster_view *view, const struct job_view *job);

#endif
