#include "models/stated.h"

#include "models/piece.h"

#include <stdlib.h>

/* --- Polynomials --- */

/* Work of a phase, as factors of struct affine_terms. */
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

/* Seconds of a stage: the larger constant part of both phases, and the sum of their variable parts. */
struct stage_cost {
    double constant_s, variable_s;
};

static void add(struct stage_cost *cost, double constant_s, double variable_s_)
{
    if (constant_s > cost->constant_s) cost->constant_s = constant_s;
    cost->variable_s += variable_s_;
}

/* Adds a phase to the cost of any stage, and to that of the first one. */
static void add_phase(const struct affine_phase *phase, const struct phase_work *work, double stages,
                      struct stage_cost *any, struct stage_cost *first)
{
    if (work->sequences == 0) return;
    const struct affine_terms *terms = divided_terms(phase, work->sequences);
    const double fixed_s = terms->fixed_s / stages + stages * phase->stage_s + phase->undivided.fixed_s;
    const double rest_s = variable_s(terms, work) / stages + variable_s(&phase->undivided, work);
    add(any, fixed_s, rest_s);
    add(first, fixed_s + phase->first_stage.fixed_s, rest_s + variable_s(&phase->first_stage, work));
}

/* Cost of one more context token of a decoding sequence. */
static double context_token_s(const struct affine *affine, int64_t sequences, bool is_first)
{
    const struct affine_phase *decode = &affine->decode;
    return divided_terms(decode, sequences)->context_token_s / affine->stages + decode->undivided.context_token_s +
           (is_first ? decode->first_stage.context_token_s : 0.0);
}

static double seconds_of(const struct stage_cost *cost)
{
    const double seconds = cost->constant_s + cost->variable_s;
    return seconds > 0.0 ? seconds : 0.0;
}

void affine_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct affine *affine = model;
    const struct phase_work prefill = {work->prefill_sequences, (double)work->prefill_tokens,
                                       (double)work->prefill_context_tokens, work->prefill_pairs};
    const struct phase_work decode = {work->decode_sequences, (double)iteration_decode_tokens(work),
                                      (double)work->decode_context_tokens, 0.0};
    const bool alone = affine->stages == 1.0;
    struct stage_cost any = {0.0, 0.0}, first = {0.0, 0.0};
    add_phase(&affine->prefill, &prefill, affine->stages, &any, &first);
    add_phase(&affine->decode, &decode, affine->stages, &any, &first);
    const struct stage_cost *stage = alone ? &first : &any;
    const double slope_s = context_token_s(affine, decode.sequences, alone) * (double)decode.sequences;
    const struct piece run = piece_max(piece_line(stage->constant_s + stage->variable_s, slope_s),
                                       piece_line(0.0, 0.0));
    *cost = (struct iteration_cost){
        .first_s = run.now,
        .slope_s = run.slope,
        .entry_s = alone ? 0.0 : seconds_of(&first) - seconds_of(&any),
        .until = work->prefill_sequences > 0 || work->decode_drafts > 0 ? 1 : run.until,
        .extrapolated_frac = 0.0,
    };
}

/* --- Tables --- */

static int compare_points(const void *left, const void *right)
{
    const struct table_point *a = left, *b = right;
    if (a->tokens != b->tokens) return a->tokens < b->tokens ? -1 : 1;
    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

size_t table_reduce(struct table_point *points, size_t n)
{
    qsort(points, n, sizeof *points, compare_points);
    size_t kept = 0;
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first; next < n && points[next].tokens == points[first].tokens; next++) {
        }
        const size_t middle = first + (next - first) / 2;
        const bool odd = (next - first) % 2 == 1;
        const double median_s = odd ? points[middle].seconds
                                    : 0.5 * (points[middle - 1].seconds + points[middle].seconds);
        points[kept++] = (struct table_point){points[first].tokens, median_s};
    }
    return kept;
}

/* Index of the left end of the segment that holds `tokens`, or of the outer segment next to it. */
static size_t find_segment(const struct table_curve *curve, double tokens)
{
    size_t low = 0, high = curve->n - 1;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (curve->points[middle].tokens <= tokens)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double table_curve_s(const struct table_curve *curve, double tokens, bool *extrapolated)
{
    *extrapolated = tokens < curve->points[0].tokens || tokens > curve->points[curve->n - 1].tokens;
    if (curve->n == 1) return curve->points[0].seconds;
    const struct table_point *left = &curve->points[find_segment(curve, tokens)], *right = left + 1;
    const double slope = (right->seconds - left->seconds) / (right->tokens - left->tokens);
    const double seconds = left->seconds + slope * (tokens - left->tokens);
    return seconds > 0.0 ? seconds : 0.0;
}

void table_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct table *table = model;
    const double tokens = (double)(work->prefill_tokens + iteration_decode_tokens(work));
    const bool prompts = work->prefill_sequences > 0;
    *cost = (struct iteration_cost){.until = prompts || work->decode_drafts > 0 ? 1 : INT64_MAX};
    bool extrapolated;
    cost->first_s = table_curve_s(prompts ? &table->prefill : &table->decode, tokens, &extrapolated);
    cost->extrapolated_frac = extrapolated ? 1.0 : 0.0;
    if (prompts && work->decode_sequences > 0) cost->first_s *= table->mixed_factor;
}
