#include "models/operators/elementwise.h"

#include "models/smooth.h"

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
