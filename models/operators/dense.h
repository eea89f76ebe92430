/* Time of matrix products and of element-wise operators. */
#ifndef ORRERY_MODELS_OPERATORS_DENSE_H
#define ORRERY_MODELS_OPERATORS_DENSE_H

#include "models/hardware.h"
#include "models/operators/kernel_time.h"

/* Time of a matrix product C[m,n] = A[m,k] B[k,n] on one GPU, with B the weights.
 *
 *     t = start_s + Q + min over tiles a x b and splits s of K of
 *             [ soft_max(C, M; softness) + (s > 1) split_cost 8 m n s / W ]
 *     M = bytes of A, B and C / (bandwidth_frac W)
 *     C = wave (k/s + prologue_k) 2ab (1/flop_frac + tile_loss (a + b)/(ab)) / (P/S)
 *     T = ceil(m/a) ceil(n/b) s tiles on S SMs, w = T/S,  wave = wave_frac ceil(w) + (1 - wave_frac) max(w, 1)
 *
 *     Q = 3 m k / (quantise_frac W), for narrowing A from 16 bits first; 0 if A is stored as it is. GPUs with units of
 *         4 bits add m quantise_row_s / S: engines narrow row by row there
 *
 * P and W are the peaks of the data sheet, S the number of SMs. Tiles: 64x64, 128x128, 256x128; splits: 1 to 16. In
 * the model the library picks the best kernel. Real libraries do not always: the remaining error lies there (136 to
 * 384 rows).
 *
 * A kernel with step_s is never split (s = 1). Its tiles walk along k in no less than step_s for each k, by the
 * latency of their loads: max(C, ceil(w) k step_s) takes the place of C. So do vLLM's products in nvfp4 on sm100, as
 * their times show (configs/calibration/releases/README.md); no source states it.
 *
 * With tiles_by_rows the tile follows from the rows, as in vLLM's CUTLASS kernels in fp8, which never split:
 *
 *     t = start_s + Q + [m = 1] one_row_s + soft_max(C, M; softness)
 *     M = (bytes + (R - 1) max(0, k panel - L2)) / (bandwidth_frac W)
 *     C = max(wave (k + prologue_k) 2ab/g (1/flop_frac + tile_loss (a + b)/(ab)) / (P/S), ceil(w) k step_s)
 *     T = ceil(m/a) ceil(n/b) tiles on g SMs each, w = T g/S
 *     Q = soft_max(3 m k / (quantise_frac W), m quantise_row_s / S; 4)
 *
 * `k panel` are the bytes of the operand along the shorter side of the grid of tiles. Tiles are walked along this
 * side. R passes over it are made: one per wave, or per line of tiles where a line fills all SMs. What the L2 cache
 * does not hold of it is read again. An SM narrows a row in no less than quantise_row_s.
 *
 * Tiles a x b, and SMs that share one (g), of GPUs with units of 4 bits (sm100) and others (sm90):
 *
 *     sm100   m <= 16: 32x128 (2); m <= 64: 64x128 (2), but 64x64 (1) if m = 64 and k < 4096;
 *             m <= 256: 128x128 (2); else 256x128 (2)
 *     sm90    m <= 16: 16x64 (1); m <= 64: 64x64 (1), but 16x64 (1) if n <= 1280; m <= 128: 64x128 (1);
 *             m >= 8192 and k >= 6144: 256x128 (1); else 128x128 (1)
 *
 * Source: vllm-project/vllm @ 1051220e, csrc/libtorch_stable/quantization/w8a8/cutlass/c3x/
 * scaled_mm_sm100_fp8_dispatch.cuh and scaled_mm_sm90_fp8_dispatch.cuh; operands swapped as there. Two SMs share a
 * tile by NVIDIA/cutlass, sm100_make_trivial_tiled_mma: where a cluster has an even number of them and the tile 128
 * or 256 rows of its first operand. */
struct gemm_params {
    double start_s;        /* launch, ramp and drain of a kernel */
    double flop_frac;      /* share of the peak that a large tile approaches */
    double bandwidth_frac; /* share of the memory bandwidth */
    double softness;       /* p of the soft maximum */
    double prologue_k;     /* what filling and draining a tile's pipeline costs, as extra k */
    double tile_loss;      /* how much small tiles lose to loading their edges */
    double wave_frac;      /* how hard waves of tiles quantise: 0 not at all, 1 fully */
    double split_cost;     /* reduction after split-K, in passes over 8 byte partial sums */
    double quantise_frac;  /* share of the memory bandwidth while A is narrowed to 8 bits; 0: it comes that narrow */
    double quantise_row_s; /* of each row of A on an SM, while it is narrowed; 0: not fitted */
    double step_s;         /* least time of a tile for each k, by the latency of its loads; 0: not fitted */
    double tiles_by_rows;  /* 1: the tile follows from the rows; 0: the best tile and split */
    double one_row_s;      /* more, for a product of one row: of a benchmark: not in what is priced */
};

struct gemm_shape {
    double m, n, k;                       /* rows (tokens), columns, inner dimension; on one GPU */
    enum number_format weights, compute;  /* in memory; of the products, of A and C */
};

/* The part of its time in which A is narrowed, Q; 0: it comes that narrow. */
double gemm_narrowing_s(const struct gemm_params *params, const struct gpu_spec *gpu, const struct gemm_shape *shape);

struct kernel_time gemm_time(const struct gemm_params *params, const struct gpu_spec *gpu,
                             const struct gemm_shape *shape);

/* Time of operators that touch every number of their operands once: norms, rotary embedding, activation, residual sum,
 * token embedding, writing keys and values into the cache.
 *
 *     t = start_s + soft_max(wave (row_cycles + width number_cycles) / f, M; softness)
 *     w = tokens / (rows_per_sm S),  wave = wave_frac ceil(w) + (1 - wave_frac) max(w, 1)
 *     M = bytes / W (r / cache_frac + (1 - r) / bandwidth_frac)
 *
 * A thread block walks along each row, several rows side by side on each of the S SMs, at the boost clock f. W is the
 * peak of the memory bandwidth. The share r of the bytes that is found in the L2 cache, since the operands were
 * written just before, is 1 up to half its size and falls to 0 at one and a half. */
struct elementwise_params {
    double start_s;        /* launch, ramp and drain of a kernel */
    double bandwidth_frac; /* share of the memory bandwidth */
    double softness;       /* p of the soft maximum */
    double row_cycles;     /* a thread block's time for its row, whatever the width */
    double number_cycles;  /* its time for each number of the row */
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
