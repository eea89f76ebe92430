/* Consolidated: as few nodes as possible, or the nodes that the job asked for. A part of a job goes to the node that it
 * fills best: the lowest of those with the fewest free GPUs that suffice. A job of several nodes takes whole nodes and
 * puts the rest on one more; when it asked for more nodes than that, its GPUs are spread evenly. All or nothing. */
#include "policies/registry.h"

/* n_large parts of `large` GPUs, then n_small of `small`; large > small. */
struct parts {
    int32_t n_large, large, n_small, small;
};

static struct parts cut(const struct cluster_view *view, const struct job_view *job)
{
    int32_t per_node = view->gpus_per_node, whole = job->gpus / per_node, rest = job->gpus % per_node;
    int32_t fewest = whole + (rest > 0);
    if (job->nodes <= fewest) return (struct parts){whole, per_node, rest > 0, rest};
    int32_t nodes = job->nodes < job->gpus ? job->nodes : job->gpus;
    int32_t even = job->gpus / nodes, larger = job->gpus % nodes;
    return (struct parts){larger, even + 1, nodes - larger, even};
}

static bool consolidated_possible(void *state, const struct cluster_view *view, const struct job_view *job)
{
    (void)state;
    struct parts parts = cut(view, job);
    return parts.n_large + parts.n_small <= view->n_nodes;
}

/* Nodes in the order of best fit for parts of some size: fewest free GPUs first, then lowest. */
struct best_fit {
    int32_t free, next;
};

/* Puts `n` parts on nodes from the cursor on that have fewer than `stop` free GPUs. Returns how many are left over. */
static int32_t put_parts(const struct cluster_view *view, struct best_fit *cursor, int32_t stop, int32_t n,
                         int32_t gpus, struct placement *placement)
{
    while (n > 0 && cursor->free < stop) {
        int32_t node = cluster_view_next_node(view, cursor->free, cursor->free, cursor->next);
        if (node < 0) {
            *cursor = (struct best_fit){.free = cursor->free + 1};
            continue;
        }
        placement_add(placement, node, gpus);
        cursor->next = node + 1;
        n--;
    }
    return n;
}

static int consolidated_place(void *state, const struct cluster_view *view, const struct job_view *job,
                              struct placement *placement)
{
    (void)state;
    struct parts parts = cut(view, job);
    int32_t end = view->gpus_per_node + 1;
    if (parts.large == view->gpus_per_node && parts.n_large > cluster_view_nodes_with(view, parts.large)) return 0;
    struct best_fit for_large = {.free = parts.large}, for_small = {.free = parts.small};
    if (put_parts(view, &for_large, end, parts.n_large, parts.large, placement) > 0) return 0;
    int32_t left = put_parts(view, &for_small, parts.large, parts.n_small, parts.small, placement);
    return put_parts(view, &for_large, end, left, parts.small, placement) == 0;
}

const struct placer placement_consolidated = {
    .policy = {.abi = POLICY_ABI,
               .size = sizeof(struct placer),
               .family = POLICY_PLACEMENT,
               .name = "consolidated",
               .summary = "as few nodes as possible, best fit, whole nodes for jobs of several; all or nothing",
               .source = "Tiresias (NSDI 2019) simulator, scheme yarn; Lucid (ASPLOS 2023) simulator, consolidate"},
    .possible = consolidated_possible,
    .place = consolidated_place,
};
