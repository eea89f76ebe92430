/* Best fit: the node on which the job leaves the least CPU and GPUs. Both are shares of the largest node's, weighted
 * equally, in steps of 1 % as in the released code. A share of a GPU goes to the GPU that it fits best. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

static int32_t score(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    (void)gpu;
    return (int32_t)((1 - scored_rest_frac(state, &view->nodes[node], part)) * 100);
}

SCORED_PLACER(placement_best_fit, score, .name = "best-fit",
              .summary = "node on which the job leaves the least CPU and GPUs, in steps of 1 %",
              .source = "Weng et al., FGD (USENIX ATC 2023), BestFit");
