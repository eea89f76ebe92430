/* The tables of a model: where their knots lie, and what the kernels take there. */
#include "models/operators.h"

#include <math.h>

/* Up to `last`, every row of `rows` tokens has a knot at both ends: a matrix product steps from one to the next. Long
 * batches hardly feel one row of tiles. */
struct stride {
    int64_t last, rows;
};

enum { LAST_TOKENS = 1 << 20, LAST_SEQUENCES = 1 << 16, BLOCK_TOKENS = 128 };

static void add_token_knots(struct knots *knots)
{
    static const int64_t first_row[] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64};
    static const struct stride strides[] = {{2048, 64}, {16384, 256}};
    int64_t done = 64;
    for (size_t i = 0; i < sizeof first_row / sizeof *first_row; i++) knots_add(knots, first_row[i]);
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        for (; done < strides[i].last; done += strides[i].rows) {
            knots_add(knots, done + 1);
            knots_add(knots, done + strides[i].rows);
        }
    }
    for (; done <= LAST_TOKENS; done *= 2) knots_add(knots, done);
}

/* Small batches one by one: every sequence is another few blocks of threads. */
static void add_sequence_knots(struct knots *knots)
{
    static const struct stride strides[] = {{32, 1}, {64, 2}, {128, 4}, {256, 8}, {512, 16}, {1024, 32}};
    int64_t at = 0;
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++)
        while (at < strides[i].last) knots_add(knots, at += strides[i].rows);
    for (; at <= LAST_SEQUENCES; at *= 2) knots_add(knots, at);
}

/* The middles of blocks, two per octave from the fourth on, as far as the LLM reaches; and where a window is full. */
static void add_context_knots(struct knots *knots, const struct operators_attention *decode, int64_t max_context)
{
    knots_add(knots, 1);
    for (int64_t block = 0; block < 4; block++) knots_add(knots, block * BLOCK_TOKENS + BLOCK_TOKENS / 2);
    for (int64_t block = 4; block * BLOCK_TOKENS <= 2 * max_context; block *= 2) {
        knots_add(knots, block * BLOCK_TOKENS + BLOCK_TOKENS / 2);
        knots_add(knots, block * 3 / 2 * BLOCK_TOKENS + BLOCK_TOKENS / 2);
    }
    for (size_t i = 0; i < decode->n; i++) knots_add(knots, (int64_t)decode->uses[i].call.shape.decode.window);
}

/* Knots on both sides of where a call enters and leaves its range; it grows evenly, from `one` at 1 to `two` at 2. */
static void add_range_knots(struct knots *knots, const struct kernel_set *set, const struct kernel_call *one,
                            const struct kernel_call *two)
{
    const struct kernel_range *range = &set->ranges[one->class];
    double start[KERNEL_MAX_AXES] = {0.0}, next[KERNEL_MAX_AXES] = {0.0};
    if (!range->fitted) return;
    kernel_call_axes(one, start);
    kernel_call_axes(two, next);
    for (size_t i = 0; i < KERNEL_MAX_AXES; i++) {
        const double growth = next[i] - start[i], nudge = 1e-6;
        if (growth <= 0.0) continue;
        const double enters = ceil(1.0 + (range->low[i] - start[i]) / growth - nudge);
        const double leaves = floor(1.0 + (range->high[i] - start[i]) / growth + nudge);
        const double places[] = {enters - 1.0, enters, leaves, leaves + 1.0};
        for (size_t j = 0; j < sizeof places / sizeof *places; j++)
            if (places[j] > 0.0 && places[j] < LAST_TOKENS) knots_add(knots, (int64_t)places[j]);
    }
}

/* The kernels of n sequences that decode, with a token of context each. */
static size_t list_kernels(const struct operators_parts *parts, int64_t n, struct kernel_use uses[LLM_MAX_USES])
{
    const struct iteration_work work = {.decode_sequences = n, .decode_context_tokens = n};
    return llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, &work, uses);
}

static void init_curve(struct operators_curve *curve, const struct operators_parts *parts, enum kernel_driver driver)
{
    struct kernel_use uses[LLM_MAX_USES], twice[LLM_MAX_USES];
    const size_t n = list_kernels(parts, 1, uses);
    list_kernels(parts, 2, twice);
    curve->knots.n = 0;
    add_token_knots(&curve->knots);
    for (size_t i = 0; i < n; i++)
        if (uses[i].driver == driver) add_range_knots(&curve->knots, parts->kernels, &uses[i].call, &twice[i].call);
    for (size_t i = 0; i < curve->knots.n; i++) {
        list_kernels(parts, curve->knots.at[i], uses);
        curve->times[i] = operators_sum(parts, driver, uses, n);
    }
}

/* The calls of a phase in a batch. */
static void find_attention(struct operators_attention *attention, const struct operators_parts *parts,
                           enum kernel_driver driver, const struct iteration_work *work)
{
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, work, uses);
    attention->n = 0;
    for (size_t i = 0; i < n && attention->n < OPERATORS_ATTENTIONS; i++)
        if (uses[i].driver == driver) attention->uses[attention->n++] = uses[i];
}

static void init_grid_knots(struct operators_grid *grid, const struct operators *operators)
{
    const struct operators_attention *decode = &operators->decode;
    const struct kernel_set *set = operators->parts.kernels;
    grid->sequences.n = grid->contexts.n = 0;
    add_sequence_knots(&grid->sequences);
    add_context_knots(&grid->contexts, decode, operators->parts.llm->max_context);
    for (size_t i = 0; i < decode->n; i++) {
        const struct kernel_call *one = &decode->uses[i].call;
        struct kernel_call more = *one, longer = *one;
        more.shape.decode.sequences = longer.shape.decode.context = 2.0;
        add_range_knots(&grid->sequences, set, one, &more);
        add_range_knots(&grid->contexts, set, one, &longer);
    }
    if (grid->sequences.n > OPERATORS_GRID_SEQUENCES) grid->sequences.n = OPERATORS_GRID_SEQUENCES;
    if (grid->contexts.n > OPERATORS_GRID_CONTEXTS) grid->contexts.n = OPERATORS_GRID_CONTEXTS;
}

static void init_grid(struct operators_grid *grid, const struct operators *operators)
{
    struct operators_attention batch = operators->decode;
    init_grid_knots(grid, operators);
    for (size_t i = 0; i < grid->sequences.n; i++) {
        for (size_t j = 0; j < grid->contexts.n; j++) {
            for (size_t k = 0; k < batch.n; k++) {
                batch.uses[k].call.shape.decode.sequences = (double)grid->sequences.at[i];
                batch.uses[k].call.shape.decode.context = (double)grid->contexts.at[j];
            }
            grid->times[i][j] = operators_sum(&operators->parts, BY_DECODE, batch.uses, batch.n);
        }
    }
}

void operators_init(struct operators *operators, const struct operators_parts *parts)
{
    static const struct iteration_work decode = {.decode_sequences = 1, .decode_context_tokens = 1};
    static const struct iteration_work prefill = {.prefill_sequences = 1, .prefill_tokens = 1, .prefill_pairs = 1.0};
    operators->parts = *parts;
    operators->layers = (double)llm_shard(parts->llm, parts->split.tensor, parts->split.pipeline).layers;
    find_attention(&operators->decode, parts, BY_DECODE, &decode);
    find_attention(&operators->prefill, parts, BY_PREFILL, &prefill);
    init_curve(&operators->by_tokens, parts, BY_TOKENS);
    init_curve(&operators->by_sequences, parts, BY_SEQUENCES);
    init_grid(&operators->decode_grid, operators);
}
