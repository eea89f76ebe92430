/* Worst fit: the node on which the job leaves the most CPU and GPUs, measured as in best fit; this balances the load.
 * A share of a GPU goes to the GPU with the most left. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

static int32_t score(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    const struct node_view *of = &view->nodes[node];
    for (int32_t g = 0; *gpu >= 0 && g < of->gpus; g++)
        if (of->gpu_left_milli[g] > of->gpu_left_milli[*gpu]) *gpu = g;
    return (int32_t)(scored_rest_frac(state, of, part) * 100);
}

SCORED_PLACER(placement_worst_fit, score, .name = "worst-fit",
              .summary = "node on which the job leaves the most CPU and GPUs, in steps of 1 %",
              .source = "folklore");
