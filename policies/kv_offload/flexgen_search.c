#include "policies/kv_offload/flexgen_search.h"

#include "policies/lp.h"

#include <math.h>
#include <string.h>

/* Columns: shares of weights, cache and hidden states on GPU, host and disk; then the seconds of the prompts' iteration
 * and of the longest overlapping branch of a decode iteration. */
enum { SHARES = 9, PREFILL_S = SHARES, DECODE_S, COLUMNS };
enum { PLACES = 3, ROWS = PLACES + 2 * OFFLOAD_BRANCHES + 2 * PLACES };

/* Share of a tier that rounding must not take from the last KV block. */
static const double rounding_frac = 1e-6;

struct program {
    double cost[COLUMNS], lower[COLUMNS], upper[COLUMNS];
    double matrix[ROWS][COLUMNS], row_lower[ROWS], row_upper[ROWS];
    int rows;
};

/* Quantities affine in the shares, evaluated at some shares. */
struct outcome {
    struct offload_step prefill, decode;
    struct offload_memory memory;
};

static void set_shares(struct offload_placement *placement, const double *shares)
{
    for (int tier = 0; tier < PLACES; tier++) {
        placement->shares.weights[tier] = shares[tier];
        placement->shares.cache[tier] = shares[PLACES + tier];
        placement->shares.hidden[tier] = shares[2 * PLACES + tier];
    }
}

static struct offload_block block_of(const struct flexgen_search *search, const struct offload_placement *placement)
{
    struct offload_block block = search->view->workload;
    block.gpu_batch = (double)placement->gpu_batch;
    block.sequences = (double)(placement->gpu_batch * placement->batches);
    return block;
}

/* KV blocks that are left free: where none is, vllm-v0 and sarathi preempt. */
static const double spare_kv_blocks = 1.0;

/* Tokens of KV cache that the block needs room for. Each sequence holds whole KV blocks. */
static double room_tokens(const struct flexgen_search *search, const struct offload_block *block)
{
    const double kv_block = search->view->kv_block_tokens;
    return (block->sequences * ceil((block->prompt + block->output) / kv_block) + spare_kv_blocks) * kv_block;
}

/* Adds cache of `tokens` to what the tiers hold. */
static void add_cache(const struct flexgen_search *search, const struct offload_placement *placement, double tokens,
                      double *bytes)
{
    const struct offload_layer *layer = &search->view->layer;
    const double cache_bytes = layer->layers * layer->kv_token_bytes * tokens;
    for (int tier = 0; tier < PLACES; tier++) {
        const double gpus = tier == OFFLOAD_GPU_MEMORY ? 1.0 : layer->gpus;
        bytes[tier] += gpus * cache_bytes * placement->shares.cache[tier];
    }
}

/* Evaluates all prompts of the block at once, and a decode iteration in the middle of the answers. */
static struct outcome try_placement(const struct flexgen_search *search, const struct offload_placement *placement)
{
    const struct offload_block block = block_of(search, placement);
    const int64_t n = (int64_t)block.sequences, prompt = (int64_t)block.prompt;
    struct offload offload = offload_of_plan(search->view, search->plan);
    offload.placement = *placement;
    offload.rates.host_flop_per_s *= offload_host_frac(block.gpu_batch, offload.layer.hidden);
    const struct iteration_work prompts = {.prefill_sequences = n, .prefill_tokens = n * prompt,
                                           .prefill_pairs = block.sequences * block.prompt * block.prompt};
    const struct iteration_work token = {
        .decode_sequences = n, .decode_context_tokens = (int64_t)(block.sequences * (block.prompt + 0.5 * block.output))};
    struct outcome outcome;
    offload_step(&offload, &prompts, &outcome.prefill);
    offload_step(&offload, &token, &outcome.decode);
    outcome.memory = offload_memory(&offload.layer, placement, &block, 1.0);
    /* The replica keeps room for prompts beside caches at their full length (offload_fixed_bytes), since other
     * sequences may decode meanwhile. */
    const double room = room_tokens(search, &block);
    add_cache(search, placement, room - block.sequences * block.prompt, outcome.memory.prefill);
    add_cache(search, placement, room - block.sequences * (block.prompt + block.output), outcome.memory.decode);
    return outcome;
}

double flexgen_sequence_s(const struct flexgen_search *search, const struct offload_placement *placement)
{
    const struct outcome outcome = try_placement(search, placement);
    const struct offload_block block = block_of(search, placement);
    return (outcome.prefill.seconds.now + (block.output - 1.0) * outcome.decode.seconds.now) / block.sequences;
}

static double busy_s(const struct offload_step *step, unsigned set)
{
    double seconds = 0.0;
    for (int i = 0; i < OFFLOAD_RESOURCES; i++)
        if (set & (1u << i)) seconds += step->busy_s[i].now;
    return seconds;
}

static unsigned chain(void)
{
    return 1u << OFFLOAD_GPU_COMPUTE | 1u << OFFLOAD_HBM | 1u << OFFLOAD_HOST_COMPUTE;
}

/* --- The rows --- */

static double *add_row(struct program *program, double lower, double upper)
{
    program->row_lower[program->rows] = lower;
    program->row_upper[program->rows] = upper;
    return program->matrix[program->rows++];
}

/* The shares of weights, of cache and of hidden states each sum to 1. */
static void add_sums(struct program *program)
{
    for (int thing = 0; thing < SHARES / PLACES; thing++) {
        double *row = add_row(program, 1.0, 1.0);
        for (int tier = 0; tier < PLACES; tier++) row[PLACES * thing + tier] = 1.0;
    }
}

/* `column` is at least as long as each branch, in units of `unit_s`. */
static void add_branches(struct program *program, const struct offload_overlap *overlap, int column, double unit_s,
                         const struct offload_step *zero, const struct offload_step *const *ones)
{
    for (int b = 0; b < overlap->n; b++) {
        const double base = busy_s(zero, overlap->branches[b]);
        double *row = add_row(program, base / unit_s, (double)INFINITY);
        row[column] = 1.0;
        for (int j = 0; j < SHARES; j++) row[j] = -(busy_s(ones[j], overlap->branches[b]) - base) / unit_s;
    }
}

static void add_memory(struct program *program, const struct flexgen_search *search, const double *zero,
                       const double *const *ones)
{
    for (int tier = 0; tier < PLACES; tier++) {
        const double capacity = search->plan->capacity_bytes[tier];
        if (isinf(capacity) || !(capacity > 0.0)) continue;
        double *row = add_row(program, -(double)INFINITY, 1.0 - rounding_frac - zero[tier] / capacity);
        for (int j = 0; j < SHARES; j++) row[j] = (ones[j][tier] - zero[tier]) / capacity;
    }
}

static void bound_columns(struct program *program, const struct flexgen_search *search)
{
    for (int j = 0; j < SHARES; j++) program->upper[j] = search->plan->capacity_bytes[j % PLACES] > 0.0 ? 1.0 : 0.0;
    for (int j = SHARES; j < COLUMNS; j++) program->upper[j] = (double)INFINITY;
}

/* The cost is the block's time in units of `unit_s`, up to a constant: the prompts, then for each further token the
 * serial resources and the longest branch. */
static void set_cost(struct program *program, const struct offload_overlap *decode, double tokens, double unit_s,
                     const struct offload_step *zero, const struct offload_step *const *ones)
{
    const double base = busy_s(zero, decode->serial);
    for (int j = 0; j < SHARES; j++) program->cost[j] = tokens * (busy_s(ones[j], decode->serial) - base) / unit_s;
    program->cost[PREFILL_S] = 1.0;
    program->cost[DECODE_S] = tokens;
}

bool flexgen_best_shares(const struct flexgen_search *search, struct offload_placement *placement)
{
    double shares[COLUMNS] = {0};
    struct outcome zero, units[SHARES];
    const struct offload_step *prefill[SHARES], *decode[SHARES];
    const double *prefill_bytes[SHARES], *decode_bytes[SHARES];
    set_shares(placement, shares);
    zero = try_placement(search, placement);
    for (int j = 0; j < SHARES; j++) {
        shares[j] = 1.0;
        set_shares(placement, shares);
        shares[j] = 0.0;
        units[j] = try_placement(search, placement);
        prefill[j] = &units[j].prefill;
        decode[j] = &units[j].decode;
        prefill_bytes[j] = units[j].memory.prefill;
        decode_bytes[j] = units[j].memory.decode;
    }
    struct program program;
    memset(&program, 0, sizeof program);
    const enum offload_schedule schedule = search->plan->placement.schedule;
    const struct offload_overlap prompts = offload_overlap(schedule, true, chain()),
                                 tokens = offload_overlap(schedule, false, chain());
    const double unit_s = zero.prefill.seconds.now + units[0].prefill.seconds.now;
    bound_columns(&program, search);
    set_cost(&program, &tokens, search->view->workload.output - 1.0, unit_s, &zero.decode, decode);
    add_sums(&program);
    add_branches(&program, &prompts, PREFILL_S, unit_s, &zero.prefill, prefill);
    add_branches(&program, &tokens, DECODE_S, unit_s, &zero.decode, decode);
    add_memory(&program, search, zero.memory.prefill, prefill_bytes);
    add_memory(&program, search, zero.memory.decode, decode_bytes);
    const struct lp lp = {.columns = COLUMNS, .rows = program.rows, .cost = program.cost, .lower = program.lower,
                          .upper = program.upper, .matrix = program.matrix[0], .row_lower = program.row_lower,
                          .row_upper = program.row_upper};
    if (lp_solve(&lp, shares) != LP_OPTIMAL) return false;
    for (int thing = 0; thing < SHARES / PLACES; thing++) { /* removes the solver's rounding */
        double *of = shares + PLACES * thing, sum = 0.0;
        for (int tier = 0; tier < PLACES; tier++) sum += of[tier] = fmin(fmax(of[tier], 0.0), 1.0);
        for (int tier = 0; tier < PLACES; tier++) of[tier] /= sum;
    }
    set_shares(placement, shares);
    return true;
}

bool flexgen_best_placement(const struct flexgen_search *search, double most, struct offload_placement *placement)
{
    struct offload_placement best = *placement;
    double best_s = (double)INFINITY;
    for (int64_t gpu_batch = 1; (double)gpu_batch <= most; gpu_batch += gpu_batch < 4 ? 1 : gpu_batch) {
        double last_s = (double)INFINITY;
        for (int64_t batches = 1; (double)(gpu_batch * batches) <= most; batches++) {
            placement->gpu_batch = gpu_batch;
            placement->batches = batches;
            if (!flexgen_best_shares(search, placement)) break;
            const double seconds = flexgen_sequence_s(search, placement);
            if (seconds < best_s) {
                best_s = seconds;
                best = *placement;
            }
            if (seconds > last_s) break; /* more batches do not pay */
            last_s = seconds;
        }
    }
    *placement = best;
    return isfinite(best_s);
}
