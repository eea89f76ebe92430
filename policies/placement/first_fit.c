/* First fit: the free GPUs of the lowest nodes, spread over as many nodes as needed. The number of nodes that the job
 * requests is ignored. If nodes differ, or CPU and memory count, each part of the job (parts.h) goes to the lowest
 * node with room for it, and a share to the GPU that it fits best. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

static bool first_fit_possible(void *state, const struct cluster_view *view, const struct job_view *job)
{
    return view->nodes == NULL || parts_possible(state, view, job);
}

static int first_fit_place(void *state, const struct cluster_view *view, const struct job_view *job,
                           struct placement *placement)
{
    if (view->nodes != NULL) return scored_place(state, score_equal, view, job, placement);
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
    .policy = {POLICY_HEAD(placer, POLICY_PLACEMENT),
               .name = "first-fit",
               .summary = "free GPUs of the lowest nodes, spread over as many nodes as needed",
               .source = "folklore",
               .state_bytes = sizeof(struct scored),
               .fini = scored_fini},
    .possible = first_fit_possible,
    .place = first_fit_place,
};
