/* How the tokens of a batch spread over the experts of one GPU: how many experts are touched, by how many rows, in how
 * many tiles of rows. Of several GPUs that hold the experts, the one with the most work, which all others wait for.
 *
 * Without skew every token picks its experts at random, and all GPUs are taken to be equally busy; `in_turn`, tokens
 * are dealt to the experts one after another, as benchmarks do.
 *
 * With skew the rows of an expert follow a power law with that exponent between 1 and 0.8 tokens (0.01 and 2 as long as
 * there are fewer choices than experts), scaled to the sum of choices, rounded, none above `tokens`; what rounding
 * leaves goes to untouched experts of the busiest GPU (as aiconfigurator's benchmarks draw loads:
 * ai-dynamo/aiconfigurator @ 095f58a5). Expected values: quantiles of the law stand for the experts, and the busiest
 * GPU holds those of an upper share of the law whose mean is that of the largest of so many sums (gamma distributed, by
 * Wilson and Hilferty 1931). / */
#ifndef ORRERY_MODELS_OPERATORS_EXPERT_LOAD_H
#define ORRERY_MODELS_OPERATORS_EXPERT_LOAD_H

#include <stdbool.h>

struct expert_load_shape {
    double tokens;
    double chosen, experts; /* of each token; in all */
    double held;            /* experts of the GPU */
    double skew;            /* exponent of the power law, 1.2 is strong; 0: none */
    bool in_turn;
};

struct expert_load {
    double touched; /* experts with at least one row */
    double rows;    /* of all of them */
    double tiles;   /* of `tile_rows` rows, each of one expert */
};

struct expert_load expert_load_of(const struct expert_load_shape *shape, double tile_rows);

#endif
