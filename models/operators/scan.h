/* Time of kernels that walk over a context, and of which a roofline is all that is known: sparse attention with its
 * indexer, and linear attention.
 *
 *     t = start_s + max(flop / (flop_frac P), bytes / (bandwidth_frac W))
 *     flop = queries query_flop + pairs pair_flop
 *     bytes = queries query_bytes + pairs pair_bytes + keys key_bytes + sequences sequence_bytes
 *
 * P is the peak of the format that the kernel computes in, W that of the memory. Until rows are measured, the shares
 * of both are those of the table in models/kernel.c, with their sources. */
#ifndef ORRERY_MODELS_OPERATORS_SCAN_H
#define ORRERY_MODELS_OPERATORS_SCAN_H

#include "models/hardware.h"
#include "models/operators/kernel_time.h"

struct scan_params {
    double start_s;        /* launch, ramp and drain of a kernel */
    double flop_frac;      /* share of the peak */
    double bandwidth_frac; /* share of the memory bandwidth */
};

struct scan_shape {
    double queries, pairs;   /* of the batch: tokens processed; pairs of query and key that are looked at */
    double keys, sequences;  /* tokens of the contexts; sequences */
    double window;                          /* keys that a query looks at; 0: all */
    double query_flop, pair_flop;           /* for each of these, on one GPU */
    double query_bytes, pair_bytes, key_bytes, sequence_bytes;
    enum number_format compute;
};

struct kernel_time scan_time(const struct scan_params *params, const struct gpu_spec *gpu,
                             const struct scan_shape *shape);

#endif
