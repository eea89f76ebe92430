/* Which GPU holds which expert, with copies of the busiest ones (deepseek-ai/EPLB, eplb.py).
 *
 * Each copy beyond the first goes to the expert with the most load per copy so far. Copies of an expert share its load
 * evenly. Then all copies, from the busiest to the idlest, go to the GPU with the least load that has a place left.
 * Each GPU has equally many. All others wait for the most loaded GPU. This is EPLB's global policy.
 *
 * The hierarchical policy first gives each node equally many whole groups of experts, by the same rule. It then applies
 * the global policy within each node. Tokens that choose few groups thus visit few nodes. Left out: loads that
 * change. */
#ifndef ORRERY_MODELS_OPERATORS_EXPERT_PLACEMENT_H
#define ORRERY_MODELS_OPERATORS_EXPERT_PLACEMENT_H

#include <stddef.h>

/* One copy of an expert. */
struct expert_copy {
    size_t expert, gpu;
    double load; /* its share of the expert's load */
};

/* What a GPU holds. */
struct expert_gpu {
    double load;
    size_t copies;
};

/* Zipf's law: the load of expert i is (i + 1)^-exponent. 0: all are alike. A token chooses `chosen` different experts,
 * so none gets more than one in `chosen` of all choices. What the law gives an expert beyond that, the others get by
 * the law. Loads are in any unit. */
void expert_zipf_loads(double *loads, size_t experts, size_t chosen, double exponent);

/* Places `slots` copies of the experts with these loads on the GPUs, slots / n_gpus on each. slots is at least the
 * number of experts and a multiple of n_gpus; loads are not negative. Fills copies[slots] and gpus[n_gpus]. */
void expert_place(const double *loads, size_t experts, struct expert_copy *copies, size_t slots,
                  struct expert_gpu *gpus, size_t n_gpus);

/* The hierarchical policy: `groups` groups of experts that follow each other, on `nodes` nodes. They divide each other:
 * groups the experts, nodes groups, slots and GPUs. At most EXPERT_GROUPS_MOST groups. */
enum { EXPERT_GROUPS_MOST = 1024 };

struct expert_groups {
    size_t groups, nodes;
};

void expert_place_in_groups(const double *loads, size_t experts, struct expert_groups split, struct expert_copy *copies,
                            size_t slots, struct expert_gpu *gpus, size_t n_gpus);

/* Load of the most loaded GPU over the mean, at least 1; 1 without any load. */
double expert_imbalance(const struct expert_gpu *gpus, size_t n_gpus);

#endif
