/* Time of attention over a KV cache on one GPU: prompts (prefill) and sequences that make one token (decode).
 *
 * Decode, for b sequences of L tokens of context each, on S SMs, in blocks of 128 tokens, nb = ceil(L/128):
 *
 *     t = start_s + [grouped] group_s + min over splits s in 1, 2, 4 .. 128 of
 *         { soft_max(ceil(b kv n / S) (unit_s + block_s ceil(nb/n)), bytes / (bandwidth_frac W)) + [n > 1] combine_s },
 *     n = min(s, nb)
 *
 * where a kernel that does not split keys and values (split_frac 0) stays at n = 1 while every query head has keys of
 * its own. Prefill of chunks of n tokens on top of p, in blocks of 128 queries x 64 keys:
 *
 *     t = start_s + soft_max(compute, bytes / (bandwidth_frac W))
 *     compute = block flop / (flop_frac P/S) soft_max(heads (blocks + edge_blocks queries/128)/S, last + edge_blocks)
 *
 * where `blocks` counts all that the causal mask leaves and `last` those of the last row, the critical path. */
#ifndef ORRERY_MODELS_ATTENTION_H
#define ORRERY_MODELS_ATTENTION_H

#include "models/hardware.h"
#include "models/kernel_time.h"

#include <stdbool.h>

struct decode_params {
    double start_s;        /* launch, ramp and drain */
    double bandwidth_frac; /* share of the memory bandwidth */
    double softness;       /* p of the soft maximum */
    double unit_s;         /* a pass of one thread block over its part of one sequence and KV head */
    double block_s;        /* each block of 128 tokens in it */
    double combine_s;      /* joining the parts of a split sequence */
    double group_s;        /* a transposition that grouped queries need */
    double split_frac;     /* 1: the kernel also splits when queries are not grouped; 0: not. A choice, not a fit */
};

struct decode_shape {
    double sequences, context;            /* tokens per sequence, the new one included */
    double q_heads, kv_heads;             /* on one GPU */
    double key_dim, value_dim;            /* per head */
    enum number_format kv, compute;       /* of the cache; of queries and results */
    double window;                        /* tokens a query looks back; 0: all */
    bool shared_kv;                       /* keys and values are one (multi-latent attention): read once */
};

struct prefill_params {
    double start_s;
    double flop_frac;      /* share of the peak */
    double bandwidth_frac;
    double softness;       /* of computing and moving */
    double edge_blocks;    /* extra key blocks that each row of queries costs */
    double path_softness;  /* of the average and the longest thread block */
};

/* The chunks of a batch, taken as alike but for their pairs. */
struct prefill_shape {
    double sequences;      /* chunks */
    double tokens;         /* of all chunks */
    double past;           /* tokens processed before, of all chunks */
    double pairs;          /* sum of n^2 + 2 n p (iteration.h) */
    double q_heads, kv_heads, key_dim, value_dim;
    enum number_format kv, compute;
    double window;
    bool shared_kv;
    bool full;             /* every query sees all keys of its chunk: no causal mask */
};

struct kernel_time decode_attention_time(const struct decode_params *params, const struct gpu_spec *gpu,
                                         const struct decode_shape *shape);
struct kernel_time prefill_attention_time(const struct prefill_params *params, const struct gpu_spec *gpu,
                                          const struct prefill_shape *shape);

#endif
