#include "models/operators/operators.h"

static struct operators_time add(struct operators_time a, struct operators_time b)
{
    return (struct operators_time){a.seconds + b.seconds, a.outside_s + b.outside_s};
}

/* The point of a chord, `weight` of the way from a to b; beyond them where it is not in 0 .. 1. */
static struct operators_time chord(struct operators_time a, struct operators_time b, double weight)
{
    return (struct operators_time){a.seconds + weight * (b.seconds - a.seconds),
                                   a.outside_s + weight * (b.outside_s - a.outside_s)};
}

void operators_list(const struct operators_parts *parts, enum kernel_driver driver, const struct iteration_work *work,
                    struct operators_uses *list)
{
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, work, uses);
    list->n = 0;
    for (size_t i = 0; i < n; i++)
        if (uses[i].driver == driver) list->uses[list->n++] = uses[i];
}

static struct operators_time use_time(const struct operators_parts *parts, const struct kernel_use *use)
{
    enum kernel_basis basis;
    const double seconds = use->count * kernel_set_time(parts->kernels, parts->gpu, &use->call, &basis).seconds;
    return (struct operators_time){seconds, basis == KERNEL_EXTRAPOLATED ? seconds : 0.0};
}

struct operators_time operators_sum(const struct operators_parts *parts, const struct operators_uses *list)
{
    struct operators_time time = {0.0, 0.0};
    for (size_t i = 0; i < list->n; i++) time = add(time, use_time(parts, &list->uses[i]));
    return time;
}

/* How far x has come from the i-th knot to the next. */
static double knots_weight(const struct knots *knots, size_t i, double x)
{
    const double begin = (double)knots->at[i];
    return (x - begin) / ((double)knots->at[i + 1] - begin);
}

static struct operators_time curve_time(const struct operators_curve *curve, int64_t x)
{
    if (curve->knots.n == 0 || x == 0) return (struct operators_time){0.0, 0.0};
    const size_t i = knots_find_whole(&curve->knots, x);
    return chord(curve->times[i], curve->times[i + 1], knots_weight(&curve->knots, i, (double)x));
}

/* Attention of the decoding sequences along the run, at whose beginning *outside_s of it are outside. */
static struct piece decode_attention(const struct operators_grid *grid, const struct iteration_work *work,
                                     double *outside_s)
{
    *outside_s = 0.0;
    if (work->decode_sequences == 0) return piece_line(0.0, 0.0);
    const int64_t n = work->decode_sequences, tokens = work->decode_context_tokens;
    const size_t i = knots_find_whole(&grid->sequences, n), j = knots_find(&grid->contexts, n, tokens);
    const double weight = knots_weight(&grid->sequences, i, (double)n);
    const struct operators_time begin = chord(grid->times[i][j], grid->times[i + 1][j], weight);
    const struct operators_time end = chord(grid->times[i][j + 1], grid->times[i + 1][j + 1], weight);
    const struct operators_time now = chord(begin, end, knots_weight(&grid->contexts, j, (double)tokens / (double)n));
    const int64_t next = grid->contexts.at[j + 1];
    *outside_s = now.outside_s;
    return (struct piece){
        .now = now.seconds,
        .slope = (end.seconds - begin.seconds) / (double)(next - grid->contexts.at[j]),
        .until = j + 2 < grid->contexts.n ? (n * next - tokens) / n + 1 : INT64_MAX,
    };
}

bool operators_read_longest(const struct operators_parts *parts)
{
    const union kernel_params *params = parts->kernels->params;
    return params[KERNEL_DECODE_ATTENTION].decode.straggle_frac > 0.0 ||
           params[KERNEL_PREFILL_ATTENTION].prefill.decode_straggle_frac > 0.0;
}

/* What the longest sequence holds up. What it is ahead of the mean is counted in whole tokens, times n: the same number
 * all along a run. */
static struct operators_time straggle_time(const struct operators *operators, const struct iteration_work *work)
{
    const struct operators_parts *parts = &operators->parts;
    const int64_t n = work->decode_sequences, ahead = n * work->decode_longest_tokens - work->decode_context_tokens;
    struct operators_time time = {0.0, 0.0};
    for (size_t i = 0; n > 0 && ahead > 0 && i < operators->decode_attention.n; i++) {
        struct kernel_use use = operators->decode_attention.uses[i];
        kernel_use_rebatch(&use, work);
        struct decode_shape shape = use.call.shape.decode;
        shape.longest = (double)ahead / (double)n;
        shape.context = 0.0;
        const struct decode_params *params = &parts->kernels->params[use.call.class].decode;
        const double seconds = use.count * decode_straggle_seconds(params, parts->gpu, &shape);
        time = add(time, (struct operators_time){seconds, kernel_in_range(parts->kernels, &use.call) ? 0.0 : seconds});
    }
    return time;
}

static struct operators_time prefill_attention(const struct operators *operators, const struct iteration_work *work)
{
    struct operators_time time = {0.0, 0.0};
    if (work->prefill_tokens == 0) return time;
    for (size_t i = 0; i < operators->prefill.n; i++) {
        struct kernel_use use = operators->prefill.uses[i];
        kernel_use_rebatch(&use, work);
        time = add(time, use_time(&operators->parts, &use));
    }
    return time;
}

struct operators_time operators_steady(const struct operators *operators, const struct iteration_work *work)
{
    const int64_t tokens = work->prefill_tokens + work->decode_sequences;
    const int64_t sequences = work->prefill_sequences + work->decode_sequences;
    const int64_t keys = work->prefill_tokens + work->prefill_context_tokens;
    struct operators_time time = prefill_attention(operators, work);
    time = add(time, curve_time(&operators->by_tokens, tokens));
    time = add(time, curve_time(&operators->by_sequences, sequences));
    time = add(time, curve_time(&operators->by_keys, keys));
    return add(time, curve_time(&operators->by_decoding, work->decode_sequences));
}

/* outside / all, which may both be a little off. */
static double share(double outside_s, double all_s)
{
    const double frac = outside_s > 0.0 ? outside_s / all_s : 0.0;
    return frac < 1.0 ? frac : 1.0;
}

void operators_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct operators *operators = model;
    const bool is_listed = work->prefill_tokens == 0 && work->decode_sequences < OPERATORS_STEADY;
    struct operators_time steady = is_listed ? operators->steady[work->decode_sequences]
                                             : operators_steady(operators, work);
    double decode_outside_s = 0.0;
    const bool is_alone = work->prefill_tokens == 0 || !operators->prefill.uses[0].mixes;
    const struct piece decode = is_alone ? decode_attention(&operators->decode, work, &decode_outside_s)
                                         : piece_line(0.0, 0.0);
    if (is_alone) steady = add(steady, straggle_time(operators, work));
    const struct piece gpu = piece_add(decode, piece_line(steady.seconds, 0.0));
    const struct piece all = engine_iteration(&operators->parts.engine, operators->layers, work, gpu);
    *cost = (struct iteration_cost){
        .first_s = all.now,
        .slope_s = all.slope,
        .until = work->prefill_tokens > 0 ? 1 : all.until,
        .extrapolated_frac = share(steady.outside_s + decode_outside_s, gpu.now),
    };
}
