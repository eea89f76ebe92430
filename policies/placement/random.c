/* Random: a node drawn evenly from the nodes with room, and for a share also a GPU drawn from that node's GPUs with
 * room. The run's random stream for placers supplies the draws. */
#include "policies/declared.h"
#include "policies/placement/scored.h"
#include "sim/core/rng.h"

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
    struct scored *scored = state;
    const struct resource_request *request = &view->requests[job->request];
    scored->draws = true;
    const int code = scored_place(scored, score_equal, view, job, placement);
    if (code != 1 || request->gpu_milli == 1000) return code;
    const struct parts parts = parts_of(view, request);
    const struct part part = parts_get(&parts, 0);
    placement->gpu = draw_gpu(view, &view->nodes[placement->nodes[0]], &part);
    return 1;
}

const struct placer placement_random = {
    .policy = {POLICY_HEAD(placer, POLICY_PLACEMENT),
               .name = "random",
               .summary = "node drawn at random from the nodes with room",
               .source = "Tiresias (NSDI 2019) simulator, scheme random; Weng et al., FGD (USENIX ATC 2023), Random",
               .state_bytes = sizeof(struct scored),
               .fini = scored_fini},
    .by_node = true,
    .possible = parts_possible,
    .place = random_place,
};
