/* First fit: the free GPUs of the lowest nodes, spread over as many of them as it takes. Does not look at the number of
 * nodes that the job asked for. */
#include "policies/registry.h"

static int first_fit_place(void *state, const struct cluster_view *view, const struct job_view *job,
                           struct placement *placement)
{
    (void)state;
    int32_t missing = job->gpus;
    for (int32_t node = 0; missing > 0; node++) {
        node = cluster_view_next_node(view, 1, view->gpus_per_node, node);
        if (node < 0) return 0;
        int32_t free = view->node_free_gpus[node];
        int32_t gpus = free < missing ? free : missing;
        placement_add(placement, node, gpus);
        missing -= gpus;
    }
    return 1;
}

const struct placer placement_first_fit = {
    .policy = {.abi = POLICY_ABI,
               .size = sizeof(struct placer),
               .family = POLICY_PLACEMENT,
               .name = "first-fit",
               .summary = "the free GPUs of the lowest nodes, split over nodes as needed",
               .source = "folklore"},
    .place = first_fit_place,
};
