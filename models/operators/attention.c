#include "models/operators/attention.h"

#include "models/operators/kernel_time.h"

#include <math.h>

static double at_most(double value, double limit)
{
    return limit > 0.0 && value > limit ? limit : value;
}

/* --- decode --- */

enum {
    DECODE_BLOCK = 128, /* tokens */
    DECODE_ROWS = 64,   /* query heads that share a pass over their keys */
    FLASH2_PARTS = 128, /* of a sequence */
    FLASH3_PARTS = 32   /* of all sequences together, but two of each */
};

/* One KV head of one token in the cache. */
static double head_bytes(const struct decode_shape *shape)
{
    return (shape->key_dim + (shape->shared_kv ? 0.0 : shape->value_dim)) * number_format_bytes(shape->kv);
}

static bool is_grouped(const struct decode_shape *shape)
{
    return shape->q_heads > shape->kv_heads;
}

/* Into how many parts the kernel may cut each sequence. */
static double most_parts(const struct decode_params *params, const struct decode_shape *shape)
{
    if (params->flash3 > 0.5) return larger_of(FLASH3_PARTS / shape->sequences, 2.0);
    return is_grouped(shape) ? FLASH2_PARTS : 1.0;
}

/* Latent vectors of 8 bits are multiplied in 8 bits by GPUs with units of 4 bits; others widen them first. */
static double peak_of(const struct gpu_spec *gpu, const struct decode_shape *shape)
{
    const bool narrow = shape->shared_kv && shape->kv == FORMAT_FP8 && gpu->peak_flop_per_s[FORMAT_NVFP4] > 0.0;
    return gpu_peak_flop_per_s(gpu, narrow ? FORMAT_FP8 : shape->compute);
}

/* A thread block's time for DECODE_BLOCK tokens of one KV head. */
static double block_seconds(const struct decode_params *params, const struct gpu_spec *gpu,
                            const struct decode_shape *shape)
{
    const double sm_bytes_per_s = params->stream_frac * gpu->memory_bytes_per_s / (double)gpu->sm_count;
    const double rows = shape->q_heads / shape->kv_heads * (1.0 + shape->drafts);
    return ceil(rows / DECODE_ROWS) * DECODE_BLOCK * head_bytes(shape) / sm_bytes_per_s;
}

/* FlashAttention-2 cuts no sequence if thread blocks fill four fifths of the SMs, which hold two each. */
static bool leaves_whole(const struct decode_params *params, const struct gpu_spec *gpu, double units)
{
    return params->flash3 <= 0.5 && units >= 0.8 * 2.0 * (double)gpu->sm_count;
}

double decode_straggle_seconds(const struct decode_params *params, const struct gpu_spec *gpu,
                               const struct decode_shape *shape)
{
    const double beyond = shape->longest - shape->context;
    if (beyond <= 0.0 || shape->window > 0.0 || shape->chunk > 0.0 ||
        !leaves_whole(params, gpu, shape->sequences * shape->kv_heads))
        return 0.0;
    const double sm_bytes_per_s = gpu->memory_bytes_per_s / (double)gpu->sm_count;
    return params->straggle_frac * beyond * head_bytes(shape) / sm_bytes_per_s;
}

/* Share of the places for thread blocks that are taken. */
static double crowd_of(const struct gpu_spec *gpu, double units)
{
    return fmin(units / (2.0 * (double)gpu->sm_count), 1.0);
}

/* Loss while the last of `units` thread blocks end. */
static double drain_seconds(const struct decode_params *params, const struct gpu_spec *gpu, double units, double read_s)
{
    if (params->drain_s <= 0.0 || params->fill_s <= 0.0) return 0.0;
    return params->drain_s * sqrt(crowd_of(gpu, units)) * -expm1(-read_s / params->fill_s);
}

/* The ways to cut `blocks` blocks of every sequence. */
static void cut_blocks(const struct decode_params *params, const struct gpu_spec *gpu, const struct decode_shape *shape,
                       double blocks, struct decode_cuts *cuts)
{
    const double units = shape->sequences * shape->kv_heads, block_s = block_seconds(params, gpu, shape);
    const double most = most_parts(params, shape);
    *cuts = (struct decode_cuts){.blocks = blocks};
    for (double split = 1.0; split <= most; split *= 2.0) {
        const double each = larger_of(blocks / split, 1.0), parts = smaller_of(split, blocks);
        const double passes = round_up(units * parts / (double)gpu->sm_count);
        cuts->compute_s[cuts->n] = passes * (params->unit_s + block_s * each);
        cuts->join_s[cuts->n++] = parts > 1.0 ? params->combine_s + parts * params->join_s : 0.0;
        if (split >= blocks) break;
    }
}

/* What the best cut depends on, beside the cuts. */
struct cutting {
    double start_s, least_s, memory_s; /* least_s: of the products */
};

static struct cutting cutting_of(const struct decode_params *params, const struct gpu_spec *gpu,
                                 const struct decode_shape *shape, const struct kernel_time *time)
{
    const double units = shape->sequences * shape->kv_heads;
    return (struct cutting){time->overhead_s + drain_seconds(params, gpu, units, time->memory_s),
                            time->flop / peak_of(gpu, shape), time->memory_s};
}

static inline __attribute__((always_inline)) double cut_seconds(const struct decode_cuts *cuts,
                                                                const struct cutting *cutting, int i)
{
    return cutting->start_s + cuts->join_s[i] +
           soft_max_4(larger_of(cuts->compute_s[i], cutting->least_s), cutting->memory_s);
}

/* A bound below cut_seconds, rounding included, without its roots. */
static double cut_bound_s(const struct decode_cuts *cuts, const struct cutting *cutting, int i)
{
    const double compute_s = larger_of(cuts->compute_s[i], cutting->least_s);
    return cutting->start_s + cuts->join_s[i] + (1.0 - 1e-12) * larger_of(compute_s, cutting->memory_s);
}

/* Cuts the best way. */
static void split_blocks(const struct decode_cuts *cuts, const struct cutting *cutting, struct kernel_time *time)
{
    time->seconds = (double)INFINITY;
    for (int i = 0; i < cuts->n; i++) {
        const double seconds = cut_seconds(cuts, cutting, i);
        if (seconds >= time->seconds) continue;
        time->seconds = seconds;
        time->compute_s = larger_of(cuts->compute_s[i], cutting->least_s);
        time->overhead_s = cutting->start_s + cuts->join_s[i];
    }
}

static double query_width(const struct decode_shape *shape)
{
    return (1.0 + shape->drafts) * shape->q_heads * (shape->key_dim + shape->value_dim);
}

static bool is_windowed(const struct decode_shape *shape, double context)
{
    return shape->window > 0.0 && context > shape->window;
}

static double launch_seconds(const struct decode_params *params, const struct decode_shape *shape)
{
    const bool transposes = is_grouped(shape) && shape->kv_heads > 1.0 && shape->sequences > 1.0;
    return transposes ? params->start_s + params->group_s : params->start_s;
}

/* All but the parts that the cut decides. */
static struct kernel_time uncut_time(const struct decode_params *params, const struct gpu_spec *gpu,
                                     const struct decode_shape *shape, double context)
{
    const double b = shape->sequences;
    const double width = query_width(shape);
    struct kernel_time time = {
        .overhead_s = launch_seconds(params, shape),
        .flop = 2.0 * b * width * context,
        .bytes = b * (context * shape->kv_heads * head_bytes(shape) + width * number_format_bytes(shape->compute)),
    };
    time.memory_s = time.bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    time.overhead_s += decode_straggle_seconds(params, gpu, shape);
    if (is_windowed(shape, shape->context)) time.overhead_s += params->window_s;
    return time;
}

struct kernel_time decode_attention_time(const struct decode_params *params, const struct gpu_spec *gpu,
                                         const struct decode_shape *shape)
{
    const double context = at_most(shape->context, shape->window);
    struct kernel_time time = uncut_time(params, gpu, shape, context);
    const struct cutting cutting = cutting_of(params, gpu, shape, &time);
    struct decode_cuts cuts;
    cut_blocks(params, gpu, shape, ceil(context / DECODE_BLOCK), &cuts);
    split_blocks(&cuts, &cutting, &time);
    return time;
}

/* Whether another cut is at least as fast whatever the memory and the products take: both of its parts are no longer,
 * and rounding keeps order. */
static bool is_dominated(const struct decode_cuts *cuts, int i)
{
    for (int k = 0; k < cuts->n; k++) {
        const bool is_as_fast = cuts->compute_s[k] <= cuts->compute_s[i] && cuts->join_s[k] <= cuts->join_s[i];
        const bool is_equal = cuts->compute_s[k] == cuts->compute_s[i] && cuts->join_s[k] == cuts->join_s[i];
        if (k != i && is_as_fast && (!is_equal || k < i)) return true;
    }
    return false;
}

static __attribute__((noinline)) void row_cut(const struct decode_row *row, double blocks, struct decode_cuts *cuts)
{
    struct decode_cuts all;
    cut_blocks(row->params, row->gpu, &row->shape, blocks, &all);
    *cuts = (struct decode_cuts){.blocks = blocks};
    for (int i = 0; i < all.n; i++) {
        if (is_dominated(&all, i)) continue;
        cuts->compute_s[cuts->n] = all.compute_s[i];
        cuts->join_s[cuts->n++] = all.join_s[i];
    }
}

void decode_row_init(struct decode_row *row, const struct decode_params *params, const struct gpu_spec *gpu,
                     const struct decode_shape *shape)
{
    const double b = shape->sequences, units = b * shape->kv_heads, width = query_width(shape);
    const bool drains = params->drain_s > 0.0 && params->fill_s > 0.0;
    *row = (struct decode_row){
        .params = params, .gpu = gpu, .shape = *shape,
        .flop_per_token = 2.0 * b * width,
        .head_bytes = head_bytes(shape),
        .query_bytes = width * number_format_bytes(shape->compute),
        .bytes_per_s = params->bandwidth_frac * gpu->memory_bytes_per_s,
        .flop_per_s = peak_of(gpu, shape),
        .start_s = launch_seconds(params, shape),
        .drain_s = drains ? params->drain_s * sqrt(crowd_of(gpu, units)) : 0.0,
        .straggles = params->straggle_frac > 0.0 && shape->window <= 0.0 && leaves_whole(params, gpu, units),
    };
    for (int i = 0; i < DECODE_ROW_CUTS; i++) row->cuts[i].blocks = -1.0;
}

double decode_row_seconds(struct decode_row *row, double mean_context, double longest)
{
    const struct decode_params *params = row->params;
    const double context = at_most(mean_context, row->shape.window), blocks = round_up(context / DECODE_BLOCK);
    const double flop = row->flop_per_token * context;
    const double bytes = row->shape.sequences * (context * row->shape.kv_heads * row->head_bytes + row->query_bytes);
    struct cutting cutting = {row->start_s, flop / row->flop_per_s, bytes / row->bytes_per_s};
    if (is_windowed(&row->shape, mean_context)) cutting.start_s += params->window_s;
    if (row->straggles) {
        row->shape.context = mean_context;
        row->shape.longest = longest;
        cutting.start_s += decode_straggle_seconds(params, row->gpu, &row->shape);
    }
    if (row->drain_s > 0.0) cutting.start_s += row->drain_s * -expm1(-cutting.memory_s / params->fill_s);
    struct decode_cuts *cuts = &row->cuts[(uint32_t)blocks % DECODE_ROW_CUTS];
    if (blocks != cuts->blocks) row_cut(row, blocks, cuts);
    const int guess = cuts->best;
    double seconds = cut_seconds(cuts, &cutting, guess);
    for (int i = 0; i < cuts->n; i++) {
        if (i == guess || cut_bound_s(cuts, &cutting, i) >= seconds) continue;
        const double other_s = cut_seconds(cuts, &cutting, i);
        if (other_s >= seconds) continue;
        seconds = other_s;
        cuts->best = i;
    }
    return seconds;
}

/* --- prefill --- */

/* Share of the memory bandwidth at which the heads of a group read the same keys one after the other. */
static const double REREAD_BANDWIDTH_FRAC = 0.9;

/* Whether exponentials, not products alone, bound attention: tensor cores with units of 4 bits outrun them (Zadouri et
 * al., FlashAttention-4, 2026). */
static bool is_bound_by_scores(const struct prefill_params *params, const struct gpu_spec *gpu)
{
    return params->score_cycles > 0.0 && gpu->peak_flop_per_s[FORMAT_NVFP4] > 0.0;
}

static struct prefill_tiling tiling_of(const struct prefill_params *params, const struct gpu_spec *gpu,
                                       const struct prefill_shape *shape)
{
    if (is_bound_by_scores(params, gpu)) return (struct prefill_tiling){256.0, 128.0, 256.0, shape->q_heads};
    if (params->flash3 <= 0.5) return (struct prefill_tiling){64.0, 64.0, 64.0, shape->q_heads};
    const double group = smaller_of(shape->q_heads / shape->kv_heads, 128.0);
    return (struct prefill_tiling){128.0, 128.0, 128.0 / group, shape->q_heads / group};
}

/* Keys before the windows of all rows of tiles: none of the first ones, then `tokens` more with each row. *cut: rows
 * whose window begins behind the first key. */
static double keys_behind(const struct prefill_tiling *tiling, double rows, double p, double window, double *cut)
{
    const double uncut = smaller_of(larger_of(ceil((window - p) / tiling->tokens), 0.0), rows);
    *cut = rows - uncut;
    return *cut * (p - window + 0.5 * tiling->tokens * (uncut + rows - 1.0));
}

/* Tiles that a chunk of n queries on top of p tokens meets, in all its rows. A row of tiles ends where its last query
 * does, or up to a tile later. With a window it begins where that of its first query does, or up to a tile before.
 * Chunks of unequal length have more pairs than as many equal ones: these `extra_pairs` fill tiles of their own. */
static double chunk_tiles(const struct prefill_tiling *tiling, double n, double p, double window, double extra_pairs)
{
    const double k = tiling->columns, rows = round_up(n / tiling->tokens), filled = rows * tiling->tokens;
    const double part = larger_of(k - tiling->tokens, 0.0); /* what tiles are wider than high reaches beyond the mask */
    double keys = rows * (p + 0.5 * (filled + tiling->tokens + part)) - (filled - n), cut = 0.0;
    if (window > 0.0) {
        keys -= keys_behind(tiling, rows, p, window, &cut);
        return larger_of((keys + 0.5 * cut * part) / k, rows);
    }
    return larger_of(keys / k + 0.5 * extra_pairs / (tiling->tokens * k), rows);
}

/* Keys of the last row of tiles of the longest chunk. Pairs per token are n + 2 p where chunks are alike, and near
 * those of the longest where they are not. */
static double longest_keys(const struct prefill_shape *shape, const struct prefill_tiling *tiling, double n, double p)
{
    if (shape->full) return n + p;
    if (shape->window > 0.0) return smaller_of(n + p, shape->window + tiling->tokens);
    return larger_of(n + p, shape->pairs / shape->tokens - p);
}

/* Whether the time of scores was fitted to calls of this shape. */
static bool counts_scores(const struct prefill_params *params, const struct gpu_spec *gpu,
                          const struct prefill_shape *shape)
{
    return is_bound_by_scores(params, gpu) || (shape->expanded && params->score_cycles > 0.0);
}

/* Time of a tile whose scores count, on one SM. */
static double tile_seconds(const struct prefill_params *params, const struct gpu_spec *gpu,
                           const struct prefill_shape *shape, const struct prefill_tiling *tiling, double tile_flop)
{
    const enum number_format compute = shape->kv == FORMAT_FP8 ? FORMAT_FP8 : shape->compute;
    const double products_s = tile_flop * (double)gpu->sm_count /
                              (params->flop_frac * gpu_peak_flop_per_s(gpu, compute));
    return soft_max(products_s, params->score_cycles * tiling->rows * tiling->columns / gpu->boost_hz, 3.0);
}

/* Time of `tiles` tiles on one SM, one after the other. */
static double run_seconds(const struct prefill_row *row, double tiles)
{
    return row->scored ? tiles * row->tile_s : tiles * row->tile_flop * row->sms / row->flop_per_s;
}

/* Time of all tiles on the SMs, whose work differs. */
static double tiles_seconds(const struct prefill_row *row, const struct prefill_shape *shape)
{
    const struct prefill_params *params = row->params;
    const struct prefill_tiling *tiling = &row->tiling;
    const double sms = row->sms, chunks = shape->sequences;
    const double n = shape->tokens / chunks, p = shape->past / chunks, rows = round_up(n / tiling->tokens);
    const double tiles = shape->full
                             ? rows * round_up((n + p) / tiling->columns)
                             : chunk_tiles(tiling, n, p, shape->window, shape->pairs / chunks - n * (n + 2.0 * p));
    const double waves = chunks * tiling->heads * rows / sms, even = shape->full ? 1.0 : p / (p + n);
    const double rounding = 1.0 + even * (round_up(waves) / waves - 1.0);
    const double average = chunks * tiling->heads * (tiles + params->edge_tiles * rows) / sms * rounding;
    const double keys = longest_keys(shape, tiling, n, p);
    const double longest = (round_up(keys / tiling->columns) + params->edge_tiles) / params->lone_speed;
    return run_seconds(row, soft_max(average, longest, params->path_softness));
}

/* Time of thread blocks of sequences that decode, with those that have no work. */
static double decode_tiles_seconds(const struct prefill_row *row, const struct prefill_shape *shape, double context)
{
    const struct prefill_params *params = row->params;
    const struct prefill_tiling *tiling = &row->tiling;
    const bool fitted = params->decode_tile_frac > 0.0;
    const double frac = fitted ? params->decode_tile_frac : 1.0;
    const double edge_tiles = fitted ? params->decode_edge_tiles : params->edge_tiles;
    const double units = shape->decodes * tiling->heads * round_up((1.0 + shape->decode_drafts) / tiling->tokens);
    const double rows = round_up(shape->tokens / shape->sequences / tiling->tokens);
    const double tiles = units * (round_up(context / tiling->columns) + edge_tiles);
    return frac * tiles * row->tile_flop / row->flop_per_s + params->empty_s * units * (rows - 1.0) / row->sms;
}

/* Delay by the longest sequence; windows and chunks cut all alike. */
static double straggle_seconds(const struct prefill_row *row, const struct prefill_shape *shape)
{
    const double beyond = shape->decode_longest - shape->decode_context;
    if (beyond <= 0.0 || shape->window > 0.0 || shape->chunk > 0.0) return 0.0;
    const double sm_flop_per_s = row->flop_per_s / row->sms;
    return row->params->decode_straggle_frac * beyond / row->tiling.columns * row->tile_flop / sm_flop_per_s;
}

/* Share of the keys' later passes that misses the L2: none while it holds them all. Beyond that all, where the law was
 * fitted so; elsewhere it grows over one size of the L2. */
static double missed_frac(const struct prefill_row *row, double kept_bytes)
{
    const double l2_bytes = row->gpu->l2_bytes;
    if (l2_bytes <= 0.0 || kept_bytes <= l2_bytes) return 0.0;
    return row->params->decode_tile_frac > 0.0 ? 1.0 : smaller_of((kept_bytes - l2_bytes) / l2_bytes, 1.0);
}

/* How often keys and values of sequences that decode cross the memory beyond the first time. */
static double decode_rereads(const struct prefill_row *row, const struct prefill_shape *shape, double context)
{
    const double kept_bytes = shape->decodes * context * row->kv_bytes / shape->kv_heads;
    const double group = larger_of(row->tiling.heads / shape->kv_heads, 1.0);
    const double passes = smaller_of(larger_of(group * shape->decodes / row->sms, 1.0), group);
    return (passes - 1.0) * missed_frac(row, kept_bytes);
}

/* Adds sequences that decode to a launch. */
static inline __attribute__((always_inline)) void
add_decodes(const struct prefill_row *row, const struct prefill_shape *shape, struct kernel_time *time)
{
    const double context = at_most(shape->decode_context, shape->window), width = shape->key_dim + shape->value_dim;
    const double compute_s = decode_tiles_seconds(row, shape, context);
    const double queries = 1.0 + shape->decode_drafts;
    const double query_bytes = queries * shape->q_heads * width * row->number_bytes;
    const double kv_bytes = shape->decodes * context * row->kv_bytes;
    const double once_bytes = kv_bytes + shape->decodes * query_bytes;
    const double bytes = once_bytes + decode_rereads(row, shape, context) * kv_bytes;
    const bool fitted = row->params->decode_tile_frac > 0.0;
    const double streamed_per_s = fitted ? row->bytes_per_s : REREAD_BANDWIDTH_FRAC * row->gpu->memory_bytes_per_s;
    const double memory_s = larger_of(once_bytes / row->bytes_per_s, bytes / streamed_per_s);
    time->flop += 2.0 * queries * shape->decodes * shape->q_heads * width * context;
    time->bytes += bytes;
    time->compute_s += compute_s;
    time->memory_s += memory_s;
    time->seconds += larger_of(compute_s, memory_s) + straggle_seconds(row, shape);
}

/* How often the bytes of new keys and values cross the memory before or beside attention: into the cache, or into the
 * 8 bits that it multiplies expanded ones in. */
static double passes_of(const struct prefill_params *params, const struct gpu_spec *gpu,
                        const struct prefill_shape *shape)
{
    const bool is_narrow = params->narrow_passes > 0.0 && shape->kv == FORMAT_FP8;
    if (is_narrow && shape->expanded) return params->narrow_passes;
    if (!shape->writes_kv) return 0.0;
    return is_narrow && is_bound_by_scores(params, gpu) ? params->narrow_passes : params->write_passes;
}

void prefill_row_init(struct prefill_row *row, const struct prefill_params *params, const struct gpu_spec *gpu,
                      const struct prefill_shape *shape)
{
    const struct prefill_tiling tiling = tiling_of(params, gpu, shape);
    const double tile_flop = 2.0 * tiling.rows * tiling.columns * (shape->key_dim + shape->value_dim);
    const bool scored = counts_scores(params, gpu, shape);
    *row = (struct prefill_row){
        .params = params, .gpu = gpu,
        .tiling = tiling,
        .sms = (double)gpu->sm_count,
        .tile_flop = tile_flop,
        .flop_per_s = params->flop_frac * gpu_peak_flop_per_s(gpu, shape->compute),
        .scored = scored,
        .tile_s = scored ? tile_seconds(params, gpu, shape, &tiling, tile_flop) : 0.0,
        .start_s = params->start_s + (shape->expanded && shape->kv == FORMAT_FP8 ? params->narrow_s : 0.0),
        .kv_bytes = shape->kv_heads * (shape->key_dim + (shape->shared_kv ? 0.0 : shape->value_dim)) *
                    number_format_bytes(shape->kv),
        .query_width = shape->q_heads * (shape->key_dim + shape->value_dim),
        .number_bytes = number_format_bytes(shape->compute),
        .passes = passes_of(params, gpu, shape),
        .bytes_per_s = params->bandwidth_frac * gpu->memory_bytes_per_s,
    };
}

/* Inlined, so that prefill_row_seconds computes nothing else. */
static inline __attribute__((always_inline)) struct kernel_time row_time(const struct prefill_row *row,
                                                                         const struct prefill_shape *shape)
{
    const double seen = at_most(shape->past, shape->sequences * shape->window);
    const double pairs = shape->full ? 2.0 * shape->tokens * (shape->tokens + shape->past) / shape->sequences
                                     : shape->pairs;
    const double write_bytes = row->passes * shape->tokens * row->kv_bytes;
    struct kernel_time time = {
        .overhead_s = row->start_s,
        .flop = pairs * row->query_width,
        .bytes = (shape->tokens + seen) * row->kv_bytes + shape->tokens * row->query_width * row->number_bytes +
                 write_bytes,
    };
    const double write_s = write_bytes / row->gpu->memory_bytes_per_s;
    const double read_s = (time.bytes - write_bytes) / row->bytes_per_s;
    time.compute_s = tiles_seconds(row, shape);
    time.memory_s = read_s + write_s;
    time.seconds = time.overhead_s + soft_max_2(time.compute_s, read_s) + write_s;
    if (shape->decodes > 0.0) add_decodes(row, shape, &time);
    return time;
}

struct kernel_time prefill_row_time(const struct prefill_row *row, const struct prefill_shape *shape)
{
    return row_time(row, shape);
}

double prefill_row_seconds(const struct prefill_row *row, const struct prefill_shape *shape)
{
    return row_time(row, shape).seconds;
}

struct kernel_time prefill_attention_time(const struct prefill_params *params, const struct gpu_spec *gpu,
                                          const struct prefill_shape *shape)
{
    struct prefill_row row;
    prefill_row_init(&row, params, gpu, shape);
    return prefill_row_time(&row, shape);
}
