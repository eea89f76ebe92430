/* Random: a node drawn evenly from the nodes with room, and for a share also a GPU drawn from that node's GPUs with
 * room. The run's random stream for placers supplies the draws. */
#include "policies/declared.h"
#include "policies/placement/parts.h"
#include "sim/core/rng.h"

/* -1: no node has room. */
static int32_t draw_node(const struct cluster_view *view, const struct part *part, const struct placement *placement)
{
    uint64_t n = 0;
    for (int32_t i = 0; i < view->n_nodes; i++) n += part_is_open(view, i, part, placement);
    if (n == 0) return -1;
    uint64_t index = rng_below(view->random, n);
    int32_t node = 0;
    while (!part_is_open(view, node, part, placement) || index-- > 0) node++;
    return node;
}

static int32_t draw_gpu(const struct cluster_view *view, const struct node_view *node, const struct part *part)
{
    uint64_t index = rng_below(view->random, (uint64_t)part_gpus_on(node, part));
    int32_t g = 0;
    while (node->gpu_left_milli[g] < part->gpu_milli || index-- > 0) g++;
    return g;
}

static int random_place(void *state, const struct cluster_view *view, const struct job_view *job,
                        struct placement *placement)
{
    (void)state;
    const struct parts parts = parts_of(view, &view->requests[job->request]);
    for (int32_t i = 0; i < parts_n(&parts); i++) {
        const struct part part = parts_get(&parts, i);
        const int32_t node = draw_node(view, &part, placement);
        if (node < 0) return 0;
        placement_add(placement, node, part.gpus);
        if (part_is_share(&part)) placement->gpu = draw_gpu(view, &view->nodes[node], &part);
    }
    return 1;
}

const struct placer placement_random = {
    .policy = {POLICY_HEAD(placer, POLICY_PLACEMENT),
               .name = "random",
               .summary = "node drawn at random from the nodes with room",
               .source = "Tiresias (NSDI 2019) simulator, scheme random; Weng et al., FGD (USENIX ATC 2023), Random"},
    .by_node = true,
    .possible = parts_possible,
    .place = random_place,
};
