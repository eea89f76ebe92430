#include "models/elementwise.h"

#include "models/smooth.h"

struct kernel_time elementwise_time(const struct elementwise_params *params, const struct gpu_spec *gpu,
                                    const struct elementwise_shape *shape)
{
    struct kernel_time time = {.overhead_s = params->start_s,
                               .bytes = shape->tokens * shape->width * shape->number_bytes};
    time.memory_s = time.bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    time.seconds = soft_max(time.overhead_s, time.memory_s, params->softness);
    return time;
}
