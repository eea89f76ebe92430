/* Topology-aware: one node if it holds the job, else the nodes of one rack (nodes_per_rack), else as few racks as
 * possible; always as few nodes as possible. Where racks form pods (a network of three levels), the racks are of one
 * pod, or of as few as possible. Among suitable nodes, the one with the least GPU capacity left wins. Among racks or
 * pods that take equally many parts of the job, the one with the least left wins. The scenario states the slowdown by
 * distance under "jobs.network_penalty", or it follows from the links. A job on several nodes costs a pass over all
 * nodes for each of its racks. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

/* A block of neighbours: a rack, or a pod of racks. */
struct block {
    int32_t first, end, n_parts; /* nodes first .. end - 1; parts of the job that fit */
    int64_t left_milli;
};

/* The block that begins at node `first`, and how many of `n` parts fit there. */
static struct block block_at(const struct cluster_view *view, int32_t first, int32_t end, const struct part *part,
                             int32_t n, const struct placement *placement)
{
    struct block block = {.first = first, .end = end};
    for (int32_t i = first; i < end; i++) {
        block.left_milli += view->nodes[i].left_milli;
        block.n_parts += block.n_parts < n && part_is_open(view, i, part, placement);
    }
    return block;
}

/* Of the blocks of `size` nodes within another one: the most parts, then the least capacity left, then the first. */
static struct block best_block(const struct cluster_view *view, const struct block *within, int32_t size,
                               const struct part *part, int32_t n, const struct placement *placement)
{
    struct block best = {0};
    if (size == 0) size = view->n_nodes;
    for (int32_t first = within->first; first < within->end; first += size) {
        const int32_t end = within->end - first < size ? within->end : first + size;
        const struct block block = block_at(view, first, end, part, n, placement);
        const bool better = block.n_parts == best.n_parts ? block.left_milli < best.left_milli
                                                          : block.n_parts > best.n_parts;
        if (block.n_parts > 0 && better) best = block;
    }
    return best;
}

static int topology_aware_place(void *state, const struct cluster_view *view, const struct job_view *job,
                                struct placement *placement)
{
    const struct parts parts = parts_of(view, &view->requests[job->request]);
    const struct block all = {.end = view->n_nodes};
    const int32_t n = parts_n(&parts);
    if (n == 1) return scored_place(state, score_fullest, view, job, placement);
    struct block pod = all, rack = {0};
    if (view->nodes_per_pod > 0) pod.n_parts = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct part part = parts_get(&parts, i);
        if (view->nodes_per_pod > 0 && rack.n_parts == 0 && pod.n_parts == 0)
            pod = best_block(view, &all, view->nodes_per_pod, &part, n - i, placement);
        if (rack.n_parts == 0) rack = best_block(view, &pod, view->nodes_per_rack, &part, n - i, placement);
        rack.n_parts--;
        pod.n_parts--;
        const int32_t node = part_best_node(view, &part, rack.first, rack.end, placement);
        if (node < 0) return 0;
        part_put(view, node, &part, placement);
    }
    return 1;
}

const struct placer placement_topology_aware = {
    .policy = {POLICY_HEAD(placer, POLICY_PLACEMENT),
               .name = "topology-aware",
               .summary = "one node, else one rack, else as few racks as possible; best fit",
               .source = "Amaral et al. (SC 2017); Tiresias (NSDI 2019), scheme yarn with switches",
               .state_bytes = sizeof(struct scored),
               .fini = scored_fini},
    .by_node = true,
    .possible = parts_possible,
    .place = topology_aware_place,
};
