/* Fragmentation gradient descent: the node, and for a share the GPU, where the job adds least to fragmentation
 * (models/fragmentation.h). Fragmentation is the GPU capacity of no use to a job drawn at random from the kinds of
 * jobs. The kinds that make up 95 % of the trace are known beforehand.
 *
 * The released code compares floor(100 / (1 + exp(D))), where D is the growth of fragmentation in GPUs. Differences
 * below about 0.04 GPUs are ties, and the node that comes first in a random order wins ("ties": "shuffled"). Integer
 * scores are the default here, to reproduce the published figures. "exact" compares D in steps of 1e-6 GPUs. */
#include "policies/declared.h"
#include "policies/placement/scored.h"

#include "sim/core/mem.h"

#include <math.h>

struct fgd_params {
    struct scored_params scored;
    bool exact;
};

struct fgd {
    struct scored scored;
    bool exact;
    double *milli;  /* [n_nodes]: fragmentation of each node */
    uint32_t *seen; /* [n_nodes]: the node's change count at that time */
};

enum { MOST_LEFT = 64 };

#define ROW_OF struct fgd_params
static const struct config_field params[] = {
    SCORED_ROW_TIES(scored.ties),
    ROW_BOOL("exact", exact, DEFAULT("false"),
             "compare the growth of fragmentation, in steps of 1e-6 GPUs; false: its logistic function, in steps of 1 %, as the released code"),
    {0}};
#undef ROW_OF

static int fgd_init(void *state, const void *given, struct diag *diag)
{
    (void)diag;
    struct fgd *fgd = state;
    const struct fgd_params *own = given;
    fgd->scored.params = own->scored;
    fgd->exact = own->exact;
    return 0;
}

static void fgd_fini(void *state)
{
    struct fgd *fgd = state;
    mem_free(fgd->milli);
    mem_free(fgd->seen);
    scored_fini(state);
}

static double fragmentation(const struct cluster_view *view, const struct frag_node *node)
{
    return fragmentation_milli(node, view->tasks, view->n_tasks);
}

static double fragmentation_now(struct fgd *fgd, const struct cluster_view *view, int32_t node)
{
    const struct node_view *of = &view->nodes[node];
    if (fgd->seen[node] != of->changes) {
        fgd->seen[node] = of->changes;
        fgd->milli[node] = fragmentation(
            view, &(struct frag_node){of->gpu_left_milli, of->gpus, of->gpu_model, of->cpu_left_milli});
    }
    return fgd->milli[node];
}

static int32_t score_of(const struct fgd *fgd, double growth_milli)
{
    if (fgd->exact) return (int32_t)(1000000000 - llround(growth_milli * 1000));
    return (int32_t)(100 / (1 + exp(growth_milli / 1000)));
}

static int32_t score_share(const struct fgd *fgd, const struct cluster_view *view, struct frag_node *after,
                           int32_t *left_milli, double before_milli, int32_t gpu_milli, int32_t *gpu)
{
    int32_t best = -1;
    for (int32_t g = 0; g < after->gpus; g++) {
        if (left_milli[g] < gpu_milli) continue;
        left_milli[g] -= gpu_milli;
        const int32_t score = score_of(fgd, fragmentation(view, after) - before_milli);
        left_milli[g] += gpu_milli;
        if (score <= best) continue;
        best = score;
        *gpu = g;
    }
    return best;
}

static int32_t score(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    struct fgd *fgd = state;
    const struct node_view *of = &view->nodes[node];
    int32_t left_milli[MOST_LEFT], missing = part->gpus;
    for (int32_t g = 0; g < of->gpus; g++) left_milli[g] = of->gpu_left_milli[g];
    struct frag_node after = {left_milli, of->gpus, of->gpu_model, of->cpu_left_milli - part->cpu_milli};
    const double before_milli = fragmentation_now(fgd, view, node);
    if (part_is_share(part)) return score_share(fgd, view, &after, left_milli, before_milli, part->gpu_milli, gpu);
    for (int32_t g = 0; g < of->gpus && missing > 0; g++) {
        if (left_milli[g] < 1000) continue;
        left_milli[g] = 0;
        missing--;
    }
    return score_of(fgd, fragmentation(view, &after) - before_milli);
}

static int fgd_place(void *state, const struct cluster_view *view, const struct job_view *job,
                     struct placement *placement)
{
    struct fgd *fgd = state;
    if (fgd->milli == NULL) fgd->milli = mem_zalloc((size_t)view->n_nodes, sizeof *fgd->milli);
    if (fgd->seen == NULL) fgd->seen = mem_zalloc((size_t)view->n_nodes, sizeof *fgd->seen);
    if (fgd->milli == NULL || fgd->seen == NULL) return SIM_E_NOMEM;
    return scored_place(state, score, view, job, placement);
}

const struct placer placement_fgd = {
    .policy = {POLICY_HEAD(placer, POLICY_PLACEMENT),
               .name = "fgd",
               .summary = "node and GPU where the job adds least to fragmentation",
               .source = "Weng et al., Beware of Fragmentation (USENIX ATC 2023)",
               .oracle = ORACLE_MIX,
               .params = params,
               .params_bytes = sizeof(struct fgd_params),
               .state_bytes = sizeof(struct fgd),
               .init = fgd_init,
               .fini = fgd_fini},
    .by_node = true,
    .wants_tasks = true,
    .possible = parts_possible,
    .place = fgd_place,
};
