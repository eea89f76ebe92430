/* Time of operators that touch every number of their operands once: norms, rotary embedding, activation, residual sum,
 * token embedding, writing keys and values into the cache.
 *
 *     t = start_s + soft_max(wave (row_cycles + width number_cycles) / f, M; softness)
 *     w = tokens / (rows_per_sm S),  wave = wave_frac ceil(w) + (1 - wave_frac) max(w, 1)
 *     M = bytes / W (r / cache_frac + (1 - r) / bandwidth_frac)
 *
 * A thread block walks along each row, several rows side by side on each of the S SMs, at the boost clock f. W is the
 * peak of the memory bandwidth. The share r of the bytes that is found in the L2 cache, since the operands were written
 * just before, is 1 up to half its size and falls to 0 at one and a half. */
#ifndef ORRERY_MODELS_OPERATORS_ELEMENTWISE_H
#define ORRERY_MODELS_OPERATORS_ELEMENTWISE_H

#include "models/hardware.h"
#include "models/operators/kernel_time.h"

struct elementwise_params {
    double start_s;        /* launch, ramp and drain of a kernel */
    double bandwidth_frac; /* share of the memory bandwidth */
    double softness;       /* p of the soft maximum */
    double row_cycles;     /* a thread block's time for its row, whatever the width */
    double number_cycles;  /* and for each number of it */
    double rows_per_sm;    /* rows that an SM works on at once */
    double wave_frac;      /* how hard waves of rows quantise: 0 not at all, 1 fully */
    double cache_frac;     /* share of the memory bandwidth when the operands lie in the cache; may exceed 1 */
};

struct elementwise_shape {
    double tokens, width; /* rows, and numbers read and written per row */
    double number_bytes;
};

struct kernel_time elementwise_time(const struct elementwise_params *params, const struct gpu_spec *gpu,
                                    const struct elementwise_shape *shape);

#endif
