/* Iteration costs stated or fitted as a whole, not built from kernels: polynomials of the batch, and tables. */
#ifndef ORRERY_MODELS_STATED_H
#define ORRERY_MODELS_STATED_H

#include "models/iteration.h"

#include <stddef.h>

/* Iteration cost as a polynomial of the batch, one per phase, for closed forms and fits of other simulators.
 *
 *     phase = (fixed + token T + sequence S + context C + pair P) / stages + stages * stage_s + undivided(T, S, C, P)
 *           + first_stage(T, S, C, P) on the first stage
 *
 * over the tokens T, sequences S, context tokens C and prefill_pairs P of that phase (iteration.h). From `large_from`
 * sequences on, another set of coefficients holds. A batch of both phases pays the larger constant part once, and the
 * variable parts of both.
 *
 * With stages > 1 it is the cost of one pipeline stage. Costs are clamped at zero, since some published fits have
 * negative coefficients. */
struct affine_terms {
    double fixed_s, token_s, sequence_s, context_token_s, pair_s;
};

struct affine_phase {
    struct affine_terms small, large;
    int64_t large_from;            /* sequences of this phase in the batch; 0: `small` always holds */
    double stage_s;                /* added once per pipeline stage */
    struct affine_terms undivided; /* not divided by the stages */
    struct affine_terms first_stage; /* not divided either; on the first stage only */
};

struct affine {
    struct affine_phase prefill, decode;
    double stages;
};

/* An iteration_model's cost function; `model` is a struct affine. A decode run stays affine without end, unless it
 * falls to zero. */
void affine_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost);

/* Iteration cost as measured: a curve of seconds over tokens for iterations with prompts, another for decoding alone.
 *
 * Between two measurements the curve is linear, and beyond both ends the outer segments go on (never below zero),
 * which is flagged as extrapolated. A batch of both kinds costs the prompt curve at all its tokens, times a factor.
 * Context length has no effect. This is the performance model of SplitwiseSim (Patel et al., ISCA 2024). */

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

/* Sorts the points and keeps one per number of tokens, with the median of its seconds (for an even number the mean of
 * the middle two). Returns the number kept. */
size_t table_reduce(struct table_point *points, size_t n);

/* Seconds at `tokens`; *extrapolated is set outside the measured range. */
double table_curve_s(const struct table_curve *curve, double tokens, bool *extrapolated);

/* An iteration_model's cost function; `model` is a struct table. */
void table_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost);

#endif
