#include "models/operators/dense.h"

#include "models/operators/kernel_time.h"

/* --- Matrix products --- */

static const struct {
    double a, b;
} tiles[] = {{64.0, 64.0}, {128.0, 128.0}, {256.0, 128.0}};
static const double splits[] = {1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0};

enum { TILES = sizeof tiles / sizeof *tiles, SPLITS = sizeof splits / sizeof *splits };

/* How many of the splits a kernel has: one whose tiles walk along k step by step has none but 1. */
static int count_splits(const struct gemm_params *params)
{
    return params->step_s > 0.0 ? 1 : SPLITS;
}

/* Seconds of computing, nothing else in the way, with the best tile for each of n splits. */
static void best_tiles(const struct gemm_params *params, const struct gemm_shape *shape, double sms,
                       double sm_flop_per_s, int n, double compute_s[SPLITS])
{
    double depth[SPLITS];
    const double steps_s = shape->k * params->step_s;
    for (int j = 0; j < n; j++) depth[j] = shape->k / splits[j] + params->prologue_k;
    for (int i = 0; i < TILES; i++) {
        const double a = tiles[i].a, b = tiles[i].b;
        const double loss = 1.0 / params->flop_frac + params->tile_loss * (a + b) / (a * b);
        const double k_s = 2.0 * a * b * loss / sm_flop_per_s; /* each step of k in a tile */
        const double full_waves = round_up(shape->m / a) * round_up(shape->n / b) / sms;
        for (int j = 0; j < n; j++) {
            const double waves = full_waves * splits[j];
            const double whole = round_up(waves);
            const double wave = params->wave_frac * whole + (1.0 - params->wave_frac) * (waves > 1.0 ? waves : 1.0);
            const double seconds = larger_of(wave * depth[j] * k_s, whole * steps_s);
            if (i == 0 || seconds < compute_s[j]) compute_s[j] = seconds;
        }
    }
}

/* The best of n splits: sets time->compute_s and returns the seconds after the start. A soft maximum is not below the
 * larger of its operands, so that most splits need none. */
static double best_split_s(const struct gemm_params *params, int n, const double compute_s[SPLITS], double reduce_s,
                           struct kernel_time *time)
{
    double least_s[SPLITS];
    int first = 0;
    for (int i = 0; i < n; i++) {
        least_s[i] = (compute_s[i] > time->memory_s ? compute_s[i] : time->memory_s) +
                     (i > 0 ? reduce_s * splits[i] : 0.0);
        if (least_s[i] < least_s[first]) first = i;
    }
    double best_s = (double)INFINITY;
    for (int i = 0; i < n; i++) {
        const int at = (first + i) % n;
        if (least_s[at] >= best_s) continue;
        const double seconds = soft_max(compute_s[at], time->memory_s, params->softness) +
                               (at > 0 ? reduce_s * splits[at] : 0.0);
        if (seconds >= best_s) continue;
        best_s = seconds;
        time->compute_s = compute_s[at];
    }
    return best_s;
}

/* --- Tiles by rows --- */

/* Rows and columns of a tile, and the SMs that share it. */
struct gemm_tile {
    double a, b, sms;
};

static struct gemm_tile tile_of_sm100(const struct gemm_shape *shape)
{
    if (shape->m <= 16.0) return (struct gemm_tile){32.0, 128.0, 2.0};
    if (shape->m == 64.0 && shape->k < 4096.0) return (struct gemm_tile){64.0, 64.0, 1.0};
    if (shape->m <= 64.0) return (struct gemm_tile){64.0, 128.0, 2.0};
    if (shape->m <= 256.0) return (struct gemm_tile){128.0, 128.0, 2.0};
    return (struct gemm_tile){256.0, 128.0, 2.0};
}

static struct gemm_tile tile_of_sm90(const struct gemm_shape *shape)
{
    if (shape->m <= 16.0 || (shape->m <= 64.0 && shape->n <= 1280.0)) return (struct gemm_tile){16.0, 64.0, 1.0};
    if (shape->m <= 64.0) return (struct gemm_tile){64.0, 64.0, 1.0};
    if (shape->m <= 128.0) return (struct gemm_tile){64.0, 128.0, 1.0};
    if (shape->m >= 8192.0 && shape->k >= 6144.0) return (struct gemm_tile){256.0, 128.0, 1.0};
    return (struct gemm_tile){128.0, 128.0, 1.0};
}

static bool has_4_bits(const struct gpu_spec *gpu)
{
    return gpu->peak_flop_per_s[FORMAT_NVFP4] > 0.0;
}

/* Bytes that are read again: of the operand along the shorter side, what the L2 cache does not hold. */
static double bytes_again(const struct gemm_shape *shape, const struct gpu_spec *gpu, double down, double across,
                          double group, double waves)
{
    const bool is_down = down <= across;
    const double side = is_down ? shape->m : shape->n;
    const enum number_format format = is_down ? shape->compute : shape->weights;
    const double panel_bytes = side * shape->k * number_format_bytes(format);
    if (panel_bytes <= gpu->l2_bytes) return 0.0;
    const double shorter = is_down ? down : across, longer = is_down ? across : down;
    const double passes = shorter * group < (double)gpu->sm_count ? smaller_of(longer, round_up(waves)) : longer;
    return (passes - 1.0) * (panel_bytes - gpu->l2_bytes);
}

/* Sets memory_s and compute_s; returns the seconds after the start. */
static double tile_by_rows_s(const struct gemm_params *params, const struct gpu_spec *gpu,
                             const struct gemm_shape *shape, struct kernel_time *time)
{
    const struct gemm_tile tile = has_4_bits(gpu) ? tile_of_sm100(shape) : tile_of_sm90(shape);
    const double sms = (double)gpu->sm_count, area = tile.a * tile.b;
    const double sm_flop_per_s = gpu_peak_flop_per_s(gpu, shape->compute) / sms;
    const double loss = 1.0 / params->flop_frac + params->tile_loss * (tile.a + tile.b) / area;
    const double down = round_up(shape->m / tile.a), across = round_up(shape->n / tile.b);
    const double waves = down * across * tile.sms / sms, whole = round_up(waves);
    const double wave = params->wave_frac * whole + (1.0 - params->wave_frac) * (waves > 1.0 ? waves : 1.0);
    const double tile_s = (shape->k + params->prologue_k) * 2.0 * area / tile.sms * loss / sm_flop_per_s;
    const double moved = time->bytes + bytes_again(shape, gpu, down, across, tile.sms, waves);
    time->compute_s = larger_of(wave * tile_s, whole * shape->k * params->step_s);
    time->memory_s = moved / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    return soft_max(time->compute_s, time->memory_s, params->softness);
}

/* --- Both --- */

double gemm_narrowing_s(const struct gemm_params *params, const struct gpu_spec *gpu, const struct gemm_shape *shape)
{
    if (!(params->quantise_frac > 0.0)) return 0.0;
    const double bytes_s = 3.0 * shape->m * shape->k / (params->quantise_frac * gpu->memory_bytes_per_s);
    const double rows_s = shape->m / (double)gpu->sm_count * params->quantise_row_s;
    if (params->tiles_by_rows > 0.0) return soft_max_4(bytes_s, rows_s);
    return bytes_s + (has_4_bits(gpu) ? rows_s : 0.0);
}

struct kernel_time gemm_time(const struct gemm_params *params, const struct gpu_spec *gpu,
                             const struct gemm_shape *shape)
{
    const double sms = (double)gpu->sm_count, m = shape->m, n = shape->n, k = shape->k;
    const double sm_flop_per_s = gpu_peak_flop_per_s(gpu, shape->compute) / sms;
    const double number_bytes = number_format_bytes(shape->compute);
    const double result_bytes = number_bytes > 2.0 ? number_bytes : 2.0;
    struct kernel_time time = {
        .overhead_s = params->start_s,
        .flop = 2.0 * m * n * k,
        .bytes = m * k * number_bytes + k * n * number_format_bytes(shape->weights) + m * n * result_bytes,
    };
    if (m == 1.0) time.overhead_s += params->one_row_s;
    if (params->tiles_by_rows > 0.0) {
        time.overhead_s += gemm_narrowing_s(params, gpu, shape);
        time.seconds = time.overhead_s + tile_by_rows_s(params, gpu, shape, &time);
        return time;
    }
    if (params->quantise_frac > 0.0) {
        time.overhead_s += 3.0 * m * k / (params->quantise_frac * gpu->memory_bytes_per_s);
        if (has_4_bits(gpu)) time.overhead_s += m / sms * params->quantise_row_s;
    }
    time.memory_s = time.bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    double compute_s[SPLITS];
    const int n_splits = count_splits(params);
    best_tiles(params, shape, sms, sm_flop_per_s, n_splits, compute_s);
    const double reduce_s = params->split_cost * 8.0 * m * n / gpu->memory_bytes_per_s;
    time.seconds = time.overhead_s + best_split_s(params, n_splits, compute_s, reduce_s, &time);
    return time;
}

/* --- Element-wise operators --- */

/* Share of the operands that lies in the L2 cache. */
static double cached_frac(double bytes, double l2_bytes)
{
    if (!(l2_bytes > 0.0)) return 0.0;
    const double frac = 1.5 - bytes / l2_bytes;
    return frac > 1.0 ? 1.0 : frac < 0.0 ? 0.0 : frac;
}

struct kernel_time elementwise_time(const struct elementwise_params *params, const struct gpu_spec *gpu,
                                    const struct elementwise_shape *shape)
{
    const double waves = shape->tokens / (params->rows_per_sm * (double)gpu->sm_count);
    const double wave = params->wave_frac * round_up(waves) + (1.0 - params->wave_frac) * (waves > 1.0 ? waves : 1.0);
    const double walk_s = wave * (params->row_cycles + shape->width * params->number_cycles) / gpu->boost_hz;
    struct kernel_time time = {.overhead_s = params->start_s + walk_s,
                               .bytes = shape->tokens * shape->width * shape->number_bytes};
    const double cached = cached_frac(time.bytes, gpu->l2_bytes);
    time.memory_s = time.bytes / gpu->memory_bytes_per_s *
                    (cached / params->cache_frac + (1.0 - cached) / params->bandwidth_frac);
    time.seconds = params->start_s + soft_max(walk_s, time.memory_s, params->softness);
    return time;
}
