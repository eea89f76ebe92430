/* Clustering: jobs that request equally many GPUs, or a share of one, run on the same nodes. A job goes to a node that
 * holds only such jobs, else to one that holds some, else to an empty one, else to any. Within each case the fullest
 * node wins, in steps of 1/25. Jobs without GPUs go to the first node with room. A share goes to the GPU that it fits
 * best. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

enum { STEP = 25 };

static int32_t score(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    (void)gpu;
    const struct node_view *of = &view->nodes[node];
    if (part->gpus == 0) return 0;
    const int32_t all_milli = ((const struct scored *)state)->most_gpus * 1000;
    const int32_t full = STEP * (all_milli - of->left_milli) / all_milli;
    if (of->jobs_by_gpus[part_is_share(part) ? 0 : part->gpus] > 0) return full + (of->n_kinds == 1 ? 3 : 2) * STEP;
    return full + (of->n_kinds == 0 ? STEP : 0);
}

SCORED_PLACER(placement_clustering, score, .name = "clustering",
              .summary = "nodes that hold jobs with equally many GPUs",
              .source = "Xiao et al., Gandiva (OSDI 2018); Weng et al., FGD (USENIX ATC 2023), GpuClustering");
