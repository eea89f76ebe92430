/* Iteration cost as a polynomial of the batch, one per phase: what closed forms and fits of other simulators need.
 *
 *     phase = (fixed + token T + sequence S + context C + pair P) / stages + stages * stage_s + undivided(T, S, C, P)
 *           + first_stage(T, S, C, P) on the first stage
 *
 * over the tokens T, sequences S, context tokens C and prefill_pairs P of that phase (iteration.h). From `large_from`
 * sequences on, another set of coefficients holds. A batch of both phases pays the larger constant part once, and the
 * variable parts of both.
 *
 * With stages > 1 it is the cost of one pipeline stage. Costs are what the coefficients say, but never below zero,
 * where some published fits with negative coefficients lead. */
#ifndef ORRERY_MODELS_AFFINE_H
#define ORRERY_MODELS_AFFINE_H

#include "models/iteration.h"

struct affine_terms {
    double fixed_s, token_s, sequence_s, context_token_s, pair_s;
};

struct affine_phase {
    struct affine_terms small, large;
    int64_t large_from;            /* sequences of this phase in the batch; 0: `small` always holds */
    double stage_s;                /* added once per pipeline stage */
    struct affine_terms undivided; /* not shared out over the stages */
    struct affine_terms first_stage; /* not divided either; on the first stage only */
};

struct affine {
    struct affine_phase prefill, decode;
    double stages;
};

/* An iteration_model's cost function; `model` is a struct affine. A decode run stays affine for ever, unless it falls
 * to zero. */
void affine_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost);

#endif
