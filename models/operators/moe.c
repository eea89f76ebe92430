#include "models/operators/moe.h"

#include "models/smooth.h"

struct tile {
    double rows, columns;
};

static struct tile tile_of(const struct moe_shape *shape)
{
    return shape->tokens <= shape->held ? (struct tile){16.0, 32.0} : (struct tile){64.0, 64.0};
}

static struct expert_load load_of(const struct moe_shape *shape, double tile_rows)
{
    const struct expert_load_shape load = {.tokens = shape->tokens,
                                           .chosen = shape->chosen,
                                           .experts = shape->experts,
                                           .held = shape->held,
                                           .skew = shape->skew,
                                           .in_turn = shape->in_turn};
    return expert_load_of(&load, tile_rows);
}

/* Operations of one of the two products with `n` columns and sums of length `k`, as if idle SMs worked too. */
static double occupied_flop(const struct moe_params *params, const struct gpu_spec *gpu, struct tile tile,
                            double row_tiles, double n, double k)
{
    const double tiles = row_tiles * ceil(n / tile.columns), wanted = params->tiles_per_sm * (double)gpu->sm_count;
    if (!(tiles > 0.0)) return 0.0;
    return 2.0 * row_tiles * tile.rows * n * k * fmax(1.0, wanted / tiles);
}

static double compute_s(const struct moe_params *params, const struct gpu_spec *gpu, const struct moe_shape *shape,
                        struct tile tile, double row_tiles)
{
    const double up = (shape->matrices - 1.0) * shape->inner;
    const double flop = occupied_flop(params, gpu, tile, row_tiles, up, shape->hidden) +
                        occupied_flop(params, gpu, tile, row_tiles, shape->hidden, shape->inner);
    const double state_bytes = shape->tokens * shape->hidden * number_format_bytes(FORMAT_FP16);
    const double loss = gpu->l2_bytes > 0.0 ? params->cache_loss * log1p(state_bytes / gpu->l2_bytes) : 0.0;
    return flop * (1.0 + loss) / (params->flop_frac * gpu_peak_flop_per_s(gpu, shape->compute));
}

/* The up projection is written and read, its activation written and read, the down projection written and read; 16 bits
 * wide whatever the weights are. */
static double pass_bytes(const struct moe_shape *shape, const struct expert_load *load)
{
    const double choices = shape->dispatched ? load->rows : shape->tokens * shape->chosen;
    return 2.0 * number_format_bytes(FORMAT_FP16) * choices * (shape->matrices * shape->inner + shape->hidden);
}

struct kernel_time moe_time(const struct moe_params *params, const struct gpu_spec *gpu, const struct moe_shape *shape)
{
    const struct tile tile = tile_of(shape);
    const struct expert_load load = load_of(shape, tile.rows);
    const double weights = shape->matrices * shape->hidden * shape->inner;
    const double weight_bytes = load.touched * weights * number_format_bytes(shape->weights);
    const double passed_bytes = pass_bytes(shape, &load);
    const double pass_s = passed_bytes / (params->pass_frac * gpu->memory_bytes_per_s);
    const double weight_s = weight_bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    struct kernel_time time = {
        .flop = 2.0 * load.rows * weights,
        .bytes = weight_bytes + passed_bytes,
        .overhead_s = params->start_s + load.touched * params->expert_s,
        .compute_s = compute_s(params, gpu, shape, tile, load.tiles),
        .memory_s = weight_s + pass_s,
    };
    time.seconds = time.overhead_s + pass_s + soft_max(time.compute_s, weight_s, params->softness);
    return time;
}
