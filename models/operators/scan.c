#include "models/operators/scan.h"

struct kernel_time scan_time(const struct scan_params *params, const struct gpu_spec *gpu,
                             const struct scan_shape *shape)
{
    struct kernel_time time = {
        .overhead_s = params->start_s,
        .flop = shape->queries * shape->query_flop + shape->pairs * shape->pair_flop,
        .bytes = shape->queries * shape->query_bytes + shape->pairs * shape->pair_bytes +
                 shape->keys * shape->key_bytes + shape->sequences * shape->sequence_bytes,
    };
    time.compute_s = time.flop / (params->flop_frac * gpu_peak_flop_per_s(gpu, shape->compute));
    time.memory_s = time.bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    time.seconds = time.overhead_s + larger_of(time.compute_s, time.memory_s);
    return time;
}
