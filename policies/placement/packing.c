/* Packing: shares go to GPUs that are partly taken, the one with the least left first. Other jobs go to nodes in use,
 * where they break into the fewest free GPUs, else to the smallest idle node. Jobs without GPUs go to the first node
 * with room. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

enum { SHARED = 100, OCCUPIED = 50, IDLE = 33 }; /* the best score of each case; none falls below the next case's */

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
