/* Packing: shares go to GPUs that are held in part, the one with the least left first; else jobs go to nodes on which
 * somebody holds GPUs, where they break into the fewest free ones; else to an idle node, the smallest first. Jobs
 * without GPUs go to the first node that has room. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

enum { SHARED = 100, OCCUPIED = 50, IDLE = 33 }; /* the best that each case reaches; none falls below the next one's */

static int32_t at_least(int32_t value, int32_t floor)
{
    return value > floor ? value : floor;
}

static int32_t score(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    (void)state;
    const struct node_view *of = &view->nodes[node];
    if (part->gpus == 0) return 0;
    if (of->free_gpus == of->gpus) return at_least(IDLE - of->gpus, of->gpus);
    const int32_t left_milli = *gpu >= 0 ? of->gpu_left_milli[*gpu] : 1000;
    if (left_milli == 1000) return at_least(OCCUPIED - part->gpus, IDLE);
    return at_least(SHARED - left_milli / 10 / 10, OCCUPIED);
}

SCORED_PLACER(placement_packing, score, .name = "packing",
              .summary = "shared GPUs first, then nodes in use, then idle nodes",
              .source = "Weng et al., MLaaS in the Wild (NSDI 2022); Weng et al., FGD (USENIX ATC 2023), GpuPacking");
