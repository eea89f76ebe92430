#include "models/moe.h"

#include "models/smooth.h"

struct kernel_time moe_time(const struct moe_params *params, const struct gpu_spec *gpu, const struct moe_shape *shape)
{
    const double weights = shape->matrices * shape->hidden * shape->inner;
    const double touched = shape->held * (1.0 - pow(1.0 - shape->chosen / shape->experts, shape->tokens));
    const double rows = shape->tokens * shape->chosen * shape->held / shape->experts;
    const double number_bytes = number_format_bytes(shape->compute);
    struct kernel_time time = {
        .flop = 2.0 * rows * weights,
        .bytes = touched * weights * number_format_bytes(shape->weights) + 2.0 * rows * shape->hidden * number_bytes,
        .overhead_s = params->start_s + touched * params->expert_s,
    };
    const double filled = touched > 0.0 ? touched * params->tile_rows * ceil(rows / touched / params->tile_rows) : 0.0;
    const double padded_flop = 2.0 * weights * filled;
    time.compute_s = padded_flop / (params->flop_frac * gpu_peak_flop_per_s(gpu, shape->compute));
    time.memory_s = time.bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    time.seconds = time.overhead_s + soft_max(time.compute_s, time.memory_s, params->softness);
    return time;
}
