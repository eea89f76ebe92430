/* The engine of placers that differ only in their score: the node with the highest score gets the job, or one drawn
 * from all nodes with room.
 *
 * Scores are kept per request and node, and recomputed only for nodes that have changed. A placement costs one score
 * and a step per level of a tournament (sim/core/tournament.h) for each node that changed since the last job with the
 * same request. About 2 million scores are kept, of 17 bytes each (36 MB), but at least those of 8 requests: with 10
 * million nodes 1.4 GB. Where more different requests take turns, those that find no scores cost a pass over all
 * nodes.
 *
 * The node that comes first wins ties: as listed, or ("ties": "shuffled") in an order drawn once per run. The released
 * code of FGD numbers its nodes at random and takes the lowest, which is the latter. */
#ifndef ORRERY_POLICIES_PLACEMENT_SCORED_H
#define ORRERY_POLICIES_PLACEMENT_SCORED_H

#include "policies/placement/parts.h"

enum scored_ties { SCORED_LISTED, SCORED_SHUFFLED };

struct scored_params {
    int ties; /* enum scored_ties */
};

extern const struct config_field scored_params[];
extern const char *const scored_ties_names[];

#define SCORED_ROW_TIES(member)                                                                                        \
    ROW_CHOICE("ties", member, DEFAULT("listed"), scored_ties_names,                                                   \
               "of equally good nodes the first wins: by number, or in an order drawn once per run")

/* First member of the placer's state. */
struct scored {
    struct scored_params params;
    struct scored_table *tables; /* [n_tables]: each of the large or the small parts of a request */
    int32_t n_tables;
    int32_t *order;              /* [n_nodes], order of ties; NULL: as listed */
    int32_t *places;             /* [n_nodes]: each node's place in that order */
    int32_t most_gpus;           /* GPUs of the largest node; 0: not known yet */
    int64_t most_cpu_milli;      /* 0: CPU is not counted */
    bool draws;                  /* a node is drawn evenly, whatever its score */
};

/* The score of a node where the part fits: 0 or more, higher is better. For a share, `gpu` is the GPU that it fits
 * best; the score may choose another. `state` is the placer's. */
typedef int32_t (*scored_fn)(void *state, const struct cluster_view *view, int32_t node, const struct part *part,
                             int32_t *gpu);

void scored_fini(void *state);

/* A score: all nodes with room are equally good. */
int32_t score_equal(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu);

/* A score: the less GPU capacity is left on the node, the better. */
int32_t score_fullest(void *state, const struct cluster_view *view, int32_t node, const struct part *part,
                      int32_t *gpu);

/* Puts each part of the job on its best node. Returns as `place` of struct placer. */
int scored_place(struct scored *scored, scored_fn score, const struct cluster_view *view, const struct job_view *job,
                 struct placement *placement);

/* The capacity left on the node after the part, as a share of the largest node: the mean over GPUs and, if counted,
 * CPU. */
double scored_rest_frac(const struct scored *scored, const struct node_view *node, const struct part *part);

/* Defines a placer by its score. The other arguments are members of struct policy: name, summary, source. */
#define SCORED_PLACER(symbol, score, ...)                                                                              \
    static int symbol##_place(void *state, const struct cluster_view *view, const struct job_view *job,                \
                              struct placement *placement)                                                             \
    {                                                                                                                  \
        return scored_place(state, score, view, job, placement);                                                       \
    }                                                                                                                  \
    const struct placer symbol = {.policy = {POLICY_HEAD(placer, POLICY_PLACEMENT), .params = scored_params,           \
                                             .params_bytes = sizeof(struct scored_params),                             \
                                             .state_bytes = sizeof(struct scored), .fini = scored_fini, __VA_ARGS__},  \
                                  .by_node = true, .possible = parts_possible, .place = symbol##_place}

#endif
