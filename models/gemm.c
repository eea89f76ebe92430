#include "models/gemm.h"

#include "models/smooth.h"

struct tile {
    double a, b;
};

static const struct tile tiles[] = {{64.0, 64.0}, {128.0, 128.0}, {256.0, 128.0}};
static const double splits[] = {1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0};

enum { TILES = sizeof tiles / sizeof *tiles, SPLITS = sizeof splits / sizeof *splits };

/* Seconds of computing with one kind of tile and split, nothing else in the way. */
static double tile_s(const struct gemm_params *params, const struct gemm_shape *shape, double sms, double sm_flop_per_s,
                     struct tile tile, double split)
{
    const double waves = ceil(shape->m / tile.a) * ceil(shape->n / tile.b) * split / sms;
    const double wave = params->wave_frac * ceil(waves) + (1.0 - params->wave_frac) * (waves > 1.0 ? waves : 1.0);
    const double loss = 1.0 / params->flop_frac + params->tile_loss * (tile.a + tile.b) / (tile.a * tile.b);
    return wave * (shape->k / split + params->prologue_k) * 2.0 * tile.a * tile.b * loss / sm_flop_per_s;
}

static double best_tile_s(const struct gemm_params *params, const struct gemm_shape *shape, double sms,
                          double sm_flop_per_s, double split)
{
    double best = (double)INFINITY;
    for (int i = 0; i < TILES; i++) {
        const double seconds = tile_s(params, shape, sms, sm_flop_per_s, tiles[i], split);
        if (seconds < best) best = seconds;
    }
    return best;
}

struct kernel_time gemm_time(const struct gemm_params *params, const struct gpu_spec *gpu,
                             const struct gemm_shape *shape)
{
    const double sms = (double)gpu->sm_count, m = shape->m, n = shape->n, k = shape->k;
    const double sm_flop_per_s = gpu_peak_flop_per_s(gpu, shape->compute) / sms;
    const double number_bytes = number_format_bytes(shape->compute);
    struct kernel_time time = {
        .overhead_s = params->start_s,
        .flop = 2.0 * m * n * k,
        .bytes = m * k * number_bytes + k * n * number_format_bytes(shape->weights) + m * n * fmax(number_bytes, 2.0),
    };
    time.memory_s = time.bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    const double partial_s = params->split_cost * 8.0 * m * n / gpu->memory_bytes_per_s;
    double best = (double)INFINITY;
    for (int i = 0; i < SPLITS; i++) {
        const double reduce_s = splits[i] > 1.0 ? partial_s * splits[i] : 0.0;
        const double compute_s = best_tile_s(params, shape, sms, sm_flop_per_s, splits[i]);
        if ((compute_s > time.memory_s ? compute_s : time.memory_s) + reduce_s >= best) continue;
        const double seconds = soft_max(compute_s, time.memory_s, params->softness) + reduce_s;
        if (seconds >= best) continue;
        best = seconds;
        time.compute_s = compute_s;
    }
    const double quantise_s = params->quantise_frac > 0.0
                                  ? 3.0 * m * k / (params->quantise_frac * gpu->memory_bytes_per_s)
                                  : 0.0;
    time.overhead_s += quantise_s;
    time.seconds = params->start_s + quantise_s + best;
    return time;
}
