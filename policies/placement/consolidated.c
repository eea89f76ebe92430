/* Consolidated: as few nodes as possible, or the number of nodes that the job requests, all or nothing. A part of a
 * job goes to the node that it fills best: the lowest of those with the fewest sufficient free GPUs. A job of several
 * nodes takes whole nodes and puts the rest on one more. If it requests more nodes than that, its GPUs are spread
 * evenly.
 *
 * If nodes differ, or CPU and memory count, the best fit is the node with the least GPU capacity left, shares
 * included. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

static struct parts cut(const struct cluster_view *view, const struct job_view *job)
{
    return parts_of(view, &(struct resource_request){.gpus = job->gpus, .nodes = job->nodes});
}

static bool consolidated_possible(void *state, const struct cluster_view *view, const struct job_view *job)
{
    if (view->nodes != NULL) return parts_possible(state, view, job);
    struct parts parts = cut(view, job);
    return parts_n(&parts) <= view->n_nodes - view->n_spare_nodes;
}

/* A cursor over nodes in order of best fit for parts of one size: fewest free GPUs first, then lowest id. */
struct best_fit {
    int32_t free, next;
};

/* Puts `n` parts on nodes with fewer than `stop` free GPUs, from the cursor on. Returns the parts left over. */
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
    if (view->nodes != NULL) return scored_place(state, score_fullest, view, job, placement);
    struct parts parts = cut(view, job);
    int32_t end = view->gpus_per_node + 1;
    if (parts.large == view->gpus_per_node && parts.n_large > cluster_view_nodes_with(view, parts.large)) return 0;
    struct best_fit for_large = {.free = parts.large}, for_small = {.free = parts.small};
    if (put_parts(view, &for_large, end, parts.n_large, parts.large, placement) > 0) return 0;
    int32_t left = put_parts(view, &for_small, parts.large, parts.n_small, parts.small, placement);
    return put_parts(view, &for_large, end, left, parts.small, placement) == 0;
}

const struct placer placement_consolidated = {
    .policy = {POLICY_HEAD(placer, POLICY_PLACEMENT),
               .name = "consolidated",
               .summary = "as few nodes as possible by best fit, whole nodes for jobs of several; all or nothing",
               .source = "Tiresias (NSDI 2019) simulator, scheme yarn; Lucid (ASPLOS 2023) simulator, consolidate",
               .state_bytes = sizeof(struct scored),
               .fini = scored_fini},
    .possible = consolidated_possible,
    .place = consolidated_place,
};
