/* Dot product: the node whose remaining CPU and GPUs have the smallest dot product with the job's request, both as
 * shares of the largest node's. Resources that the job does not need stay free. Scores have steps of 1 % as in the
 * released code. A share goes to the GPU that it fits best. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

static int32_t score(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    (void)gpu;
    const struct scored *scored = state;
    const struct node_view *of = &view->nodes[node];
    const double gpu_milli = 1000.0 * scored->most_gpus, cpu_milli = (double)scored->most_cpu_milli;
    const double of_gpus = of->left_milli / gpu_milli * (part->gpus * part->gpu_milli / gpu_milli);
    if (scored->most_cpu_milli == 0) return (int32_t)(100 * (1 - of_gpus));
    const double of_cpu = (double)of->cpu_left_milli / cpu_milli * ((double)part->cpu_milli / cpu_milli);
    return (int32_t)(100 * (1 - (of_cpu + of_gpus) / 2));
}

SCORED_PLACER(placement_dot_product, score, .name = "dot-product",
              .summary = "node whose remaining CPU and GPUs have the smallest dot product with the request",
              .source = "Grandl et al., Tetris (SIGCOMM 2014); Weng et al., FGD (USENIX ATC 2023), DotProd");
