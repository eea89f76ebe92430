/* Topology-aware: one node if it holds the job, else the nodes of one rack (nodes_per_rack), else as few racks as
 * possible; always as few nodes as possible. Among suitable nodes, the one with the least GPU capacity left wins.
 * Among racks that take equally many parts of the job, the one with the least left wins. The scenario states the
 * slowdown by distance under "jobs.network_penalty". A job on several nodes costs a pass over all nodes for each of its
 * racks. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

static int32_t rack_size(const struct cluster_view *view)
{
    return view->nodes_per_rack > 0 ? view->nodes_per_rack : view->n_nodes;
}

static int32_t rack_end(const struct cluster_view *view, int32_t first)
{
    const int32_t left = view->n_nodes - first, size = rack_size(view);
    return first + (left < size ? left : size);
}

struct rack {
    int32_t first, n_parts; /* first node; parts of the job that fit */
    int64_t left_milli;
};

/* The rack that begins at node `first`, and how many of `n` parts fit there. */
static struct rack rack_at(const struct cluster_view *view, int32_t first, const struct part *part, int32_t n,
                           const struct placement *placement)
{
    struct rack rack = {.first = first};
    for (int32_t i = first; i < rack_end(view, first); i++) {
        rack.left_milli += view->nodes[i].left_milli;
        rack.n_parts += rack.n_parts < n && part_is_open(view, i, part, placement);
    }
    return rack;
}

static struct rack best_rack(const struct cluster_view *view, const struct part *part, int32_t n,
                             const struct placement *placement)
{
    struct rack best = {0};
    for (int32_t first = 0; first < view->n_nodes; first = rack_end(view, first)) {
        const struct rack rack = rack_at(view, first, part, n, placement);
        const bool better = rack.n_parts == best.n_parts ? rack.left_milli < best.left_milli
                                                         : rack.n_parts > best.n_parts;
        if (rack.n_parts > 0 && better) best = rack;
    }
    return best;
}

static int topology_aware_place(void *state, const struct cluster_view *view, const struct job_view *job,
                                struct placement *placement)
{
    const struct parts parts = parts_of(view, &view->requests[job->request]);
    const int32_t n = parts_n(&parts);
    if (n == 1) return scored_place(state, score_fullest, view, job, placement);
    struct rack rack = {.first = 0};
    for (int32_t i = 0; i < n; i++) {
        const struct part part = parts_get(&parts, i);
        if (rack.n_parts == 0) rack = best_rack(view, &part, n - i, placement);
        rack.n_parts--;
        const int32_t node = part_best_node(view, &part, rack.first, rack_end(view, rack.first), placement);
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
