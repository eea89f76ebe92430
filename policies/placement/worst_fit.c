/* Worst fit: the node on which the job leaves most, measured as in best fit; loads are kept even. A share goes to the
 * GPU with the most left. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

static int32_t score(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    const struct node_view *of = &view->nodes[node];
    for (int32_t g = 0; *gpu >= 0 && g < of->gpus; g++)
        if (of->gpu_left_milli[g] > of->gpu_left_milli[*gpu]) *gpu = g;
    return (int32_t)(scored_rest_frac(state, of, part) * 100);
}

static int worst_fit_place(void *state, const struct cluster_view *view, const struct job_view *job,
                           struct placement *placement)
{
    return scored_place(state, score, view, job, placement);
}

const struct placer placement_worst_fit = {
    .policy = {POLICY_HEAD(placer, POLICY_PLACEMENT),
               .name = "worst-fit",
               .summary = "the node with the most CPU and GPUs left after it, in steps of 1 %",
               .source = "folklore",
               .params = scored_params,
               .params_bytes = sizeof(struct scored_params),
               .state_bytes = sizeof(struct scored),
               .init = scored_init,
               .fini = scored_fini},
    .by_node = true,
    .possible = scored_possible,
    .place = worst_fit_place,
};
