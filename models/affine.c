#include "models/affine.h"

#include "models/piece.h"

/* What a phase brings to the batch, as factors of struct affine_terms. */
struct phase_work {
    int64_t sequences;
    double tokens, context_tokens, pairs;
};

static double variable_s(const struct affine_terms *terms, const struct phase_work *work)
{
    return terms->token_s * work->tokens + terms->sequence_s * (double)work->sequences +
           terms->context_token_s * work->context_tokens + terms->pair_s * work->pairs;
}

static const struct affine_terms *divided_terms(const struct affine_phase *phase, int64_t sequences)
{
    return phase->large_from > 0 && sequences >= phase->large_from ? &phase->large : &phase->small;
}

/* Adds a phase's variable part to *variable and raises *constant to its constant part. */
static void add_phase(const struct affine_phase *phase, const struct phase_work *work, double stages, double *constant,
                      double *variable)
{
    if (work->sequences == 0) return;
    const struct affine_terms *terms = divided_terms(phase, work->sequences);
    const double fixed_s = terms->fixed_s / stages + stages * phase->stage_s + phase->undivided.fixed_s;
    if (fixed_s > *constant) *constant = fixed_s;
    *variable += variable_s(terms, work) / stages + variable_s(&phase->undivided, work);
}

void affine_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct affine *affine = model;
    const struct phase_work prefill = {work->prefill_sequences, (double)work->prefill_tokens,
                                       (double)work->prefill_context_tokens, work->prefill_pairs};
    const struct phase_work decode = {work->decode_sequences, (double)work->decode_sequences,
                                      (double)work->decode_context_tokens, 0.0};
    double constant_s = 0.0, variable = 0.0;
    add_phase(&affine->prefill, &prefill, affine->stages, &constant_s, &variable);
    add_phase(&affine->decode, &decode, affine->stages, &constant_s, &variable);
    const struct affine_terms *terms = divided_terms(&affine->decode, decode.sequences);
    const double context_s = terms->context_token_s / affine->stages + affine->decode.undivided.context_token_s;
    const struct piece line = piece_line(constant_s + variable, context_s * (double)decode.sequences);
    const struct piece run = piece_max(line, piece_line(0.0, 0.0));
    *cost = (struct iteration_cost){
        .first_s = run.now,
        .slope_s = run.slope,
        .until = work->prefill_sequences > 0 ? 1 : run.until,
        .extrapolated_frac = 0.0,
    };
}
