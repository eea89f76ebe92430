/* Time of operators that touch every number of their operands once: norms, rotary embedding, activation, residual sum,
 * token embedding, writing keys and values into the cache.
 *
 *     t = soft_max(start_s, bytes / (bandwidth_frac W); softness) */
#ifndef ORRERY_MODELS_ELEMENTWISE_H
#define ORRERY_MODELS_ELEMENTWISE_H

#include "models/hardware.h"
#include "models/kernel_time.h"

struct elementwise_params {
    double start_s;        /* the least time of a launch */
    double bandwidth_frac; /* of the memory bandwidth; above 1 where operands stay in the cache */
    double softness;
};

struct elementwise_shape {
    double tokens, width; /* rows, and numbers read and written per row */
    double number_bytes;
};

struct kernel_time elementwise_time(const struct elementwise_params *params, const struct gpu_spec *gpu,
                                    const struct elementwise_shape *shape);

#endif
