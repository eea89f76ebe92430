/* Iteration cost as measured: a curve of seconds over tokens for iterations with prompts, another for decoding alone.
 *
 * Between two measurements the curve is linear, and beyond both ends the outer segments go on (never below zero),
 * which is flagged as extrapolated. A batch of both kinds costs the prompt curve at all its tokens, times a factor.
 * Context length has no effect. This is the performance model of SplitwiseSim (Patel et al., ISCA 2024). */
#ifndef ORRERY_MODELS_OPERATORS_TABLE_H
#define ORRERY_MODELS_OPERATORS_TABLE_H

#include "models/iteration.h"

#include <stddef.h>

/* One measurement: seconds of an iteration over `tokens` tokens, one token per decoding sequence. */
struct table_point {
    double tokens, seconds;
};

struct table_curve {
    const struct table_point *points; /* by rising tokens, all different */
    size_t n;                         /* >= 1; a single point is a constant */
};

struct table {
    struct table_curve prefill, decode;
    double mixed_factor;
};

/* Sorts the points and leaves one per number of tokens, with the median of its seconds (of an even number the mean of
 * the middle two). Returns how many are left. */
size_t table_reduce(struct table_point *points, size_t n);

/* Seconds at `tokens`; *extrapolated is set outside the measured range. */
double table_curve_s(const struct table_curve *curve, double tokens, bool *extrapolated);

/* An iteration_model's cost function; `model` is a struct table. */
void table_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost);

#endif
