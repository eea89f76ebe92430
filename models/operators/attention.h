/* Time of attention over a KV cache on one GPU: prompts (prefill) and sequences that make one token (decode).
 *
 * Decode, for b sequences of L tokens of context each, on S SMs, in blocks of 128 tokens, nb = ceil(L/128):
 *
 *     t = start_s + [grouped] group_s + [windowed] window_s + drain + straggle + min over parts n in 1, 2, 4 .. of
 *         { soft_max_4(max(ceil(b kv min(n, nb)/S) (unit_s + block_s max(nb/n, 1)), flop/P), read_s)
 *           + join(min(n, nb)) }
 *     read_s = bytes/(bandwidth_frac W)
 *     drain = drain_s sqrt(min(1, b kv/(2 S))) (1 - exp(-read_s/fill_s)), 0 where it was not fitted
 *     join(n) = combine_s + n join_s when n > 1, else 0
 *     block_s = bytes of a block of one KV head/(stream_frac W/S), once for every 64 query heads that share it
 *
 * `windowed` is a launch with a sliding window that is shorter than the context: FlashAttention-3 then takes another
 * kernel and joins parts, whatever the context.
 *
 * A kernel like FlashAttention-2 cuts a sequence into up to 128 parts, but only when queries are grouped; one like
 * FlashAttention-3 cuts any, all sequences together into at most 32 parts per KV head, or each into two. The time
 * never falls as sequences or context grow.
 *
 * Prefill, for chunks of n tokens on top of p, in tiles of R tokens x K keys: R = K = 64 for FlashAttention-2; for
 * FlashAttention-3 K = 128, and the G heads of a group lie in one tile of 128 rows, so R = 128/G.
 *
 *     t = start_s + soft_max_2(tile_s soft_max(average, longest), bytes/(bandwidth_frac W)) + [writes_kv] write
 *     average = tiles/S, with edge_tiles for every row of tiles; waves round up as far as rows are equally long
 *     longest = (ceil((n + p)/K) + edge_tiles)/lone_speed
 *     tile_s = flop of a tile/(flop_frac P/S)
 *
 * On GPUs with units of 4 bits R = 256, K = 128, and the exponentials of the scores take as long as the products:
 *
 *     tile_s = soft_max_3(flop of a tile/(flop_frac P/S), score_cycles R K/f)
 *
 * with P in fp8 where the cache is; writing such a cache takes narrow_passes in place of write_passes. The same tile_s
 * holds on all GPUs for keys and values that were expanded from latent vectors, which are narrowed beside such a cache.
 *
 * Here `tiles` counts all that the causal mask and the window leave, whole tiles at both ends of a row. `longest` is
 * the critical path, the last row of tiles: ceil(min(n + p, window + R)/K) with a window.
 *
 * Sequences of unequal context count as equally many of mean context, and the longest one delays the others. If a
 * kernel like FlashAttention-2 does not cut them, since b kv is 1.6 S or more, the delay is
 *
 *     straggle_frac (longest - mean) bytes of a token of one KV head/(W/S)
 *
 * unless a window cuts all alike. It was fitted to batches of two lengths, the long ones first, and has no range of its
 * own.
 *
 * Queries of drafts beside a sequence's newest token (speculation) are further rows of the same passes: keys and values
 * are read once, FLOP and queries grow, and block_s counts once for every 64 rows that share a KV head.
 *
 * `drain` is what a launch loses while its thread blocks end one after the other and no longer fill the memory; its
 * form was found on LLMServingSim's profiles of two GPUs, where it halves the error of 32 and more sequences.
 *
 * Sequences that decode in the same launch run in the tiles of the prompts, unsplit and mostly empty. With b of them of
 * L tokens each, and rows = ceil(n/R) of tiles that the chunks have for every head on average, they add
 *
 *     max(tile_s decode_tile_frac b heads (ceil(L/K) + decode_edge_tiles)/S + empty_s b heads (rows - 1)/S,
 *         bytes/(bandwidth_frac W), (1 + rereads) bytes/(reread_frac W)) + tile_s decode_straggle_frac (longest - L)/K
 *
 * since every sequence gets as many thread blocks as a chunk, of which all but one find nothing to do (measured with
 * one chunk only). Heads of one group read the same keys, which the L2 holds for the next one while what one KV head
 * keeps of all sequences fits into it. Beyond that,
 *
 *     rereads = (min(max(G b/S, 1), G) - 1) missed
 *
 * as the group's heads run one after the other. Where decode_tile_frac was fitted, missed is 1 and reread_frac is
 * bandwidth_frac, as these were fitted together. Elsewhere tiles are those of prompts, empty blocks are free, and
 * bandwidth_frac is that of prompts, as little as 0.4. There missed grows to 1 over one size of the L2, and
 * reread_frac is 0.9: both are guesses that leave no cliff, in view of the RTX 4090 and the RTX PRO 6000. Of 128
 * sequences, rows of the PRO 6000 are 25 % slower than the law at 2,048 tokens, and 18 to 45 % faster from 4,096 on.
 *
 * Both follow Dao, "FlashAttention-2" (2023), and Shah et al., "FlashAttention-3" (2024). Left out: keys that stay in
 * the cache from an earlier kernel, clocks that sink under load, what unpacking a compressed KV cache costs. */
#ifndef ORRERY_MODELS_OPERATORS_ATTENTION_H
#define ORRERY_MODELS_OPERATORS_ATTENTION_H

#include "models/hardware.h"
#include "models/operators/kernel_time.h"

#include <stdbool.h>

struct decode_params {
    double start_s;        /* launch, ramp and drain */
    double bandwidth_frac; /* share of the memory bandwidth */
    double stream_frac;    /* share of an SM's part of that bandwidth that one thread block can use; may exceed 1 */
    double unit_s;         /* a pass of one thread block over its part of one sequence and KV head */
    double combine_s;      /* joining the parts of split sequences */
    double join_s;         /* joining, for each part of a sequence */
    double group_s;        /* a transposition that grouped queries need */
    double straggle_frac;  /* of the longest sequence's tokens beyond the mean, at an SM's bandwidth; 0: none */
    double drain_s;        /* end of crowded thread blocks that read for long: see `drain` */
    double fill_s;         /* the reading time after which 63 % of it are lost */
    double window_s;       /* a launch whose window cuts the context; 0: takes no longer */
    double flash3;         /* 1: splits like FlashAttention-3, 0: like FlashAttention-2. A choice, not a fit */
};

struct decode_shape {
    double sequences, context;            /* tokens per sequence, the new one included */
    double longest;                       /* tokens of the longest; 0: all are equal */
    double q_heads, kv_heads;             /* on one GPU */
    double key_dim, value_dim;            /* per head */
    enum number_format kv, compute;       /* of the cache; of queries and results */
    double window;                        /* tokens a query looks back; 0: all */
    double chunk;                         /* tokens of a chunk, which a query does not look back from; 0: none. The
                                             context is that of the chunk then */
    bool shared_kv;                       /* keys and values are one (multi-latent attention): read once */
    bool writes_kv; /* the call also writes the new ones into the cache: part of what its parameters were fitted to */
    double drafts;  /* tokens beside the newest of each sequence whose queries share the pass over its keys */
};

struct prefill_params {
    double start_s;
    double flop_frac;      /* share of the peak */
    double bandwidth_frac;
    double edge_tiles;     /* extra tiles of each row of tiles */
    double path_softness;  /* p of the soft maximum of the average and the longest thread block */
    double lone_speed;     /* speed of a lone thread block, relative to many at once */
    double write_passes;   /* times that new keys and values cross the memory to get into the cache */
    double decode_tile_frac;  /* time of a tile of a sequence that decodes, in that of a prompt's; 0: see above */
    double decode_edge_tiles; /* extra tiles of each such sequence */
    double empty_s;           /* time of a thread block without work */
    double decode_straggle_frac; /* delay by the longest one, per tile beyond the mean */
    double flash3;         /* 1: tiles like FlashAttention-3, 0: like FlashAttention-2. A choice, not a fit */
    double score_cycles;   /* of an SM, for each score of query and key, beside the products; 0: not fitted */
    double narrow_passes;  /* write_passes of a cache of fewer bits; 0: not fitted */
    double narrow_s;       /* launch that narrows expanded keys and values */
};

/* The chunks of a batch, taken as equal except for their pairs. */
struct prefill_shape {
    double sequences;      /* chunks */
    double tokens;         /* of all chunks */
    double past;           /* tokens processed before, of all chunks */
    double decodes;        /* sequences that make a token in the same launch */
    double decode_context; /* tokens of each, the new one included */
    double decode_longest; /* tokens of the longest; 0: all are equal */
    double decode_drafts;  /* tokens of each beside the newest one */
    double pairs;          /* sum of n^2 + 2 n p (iteration.h), of a window's part of them; unused when full */
    double q_heads, kv_heads, key_dim, value_dim;
    enum number_format kv, compute;
    double window;
    double chunk;          /* as for decoding: each piece of a prompt that lies in one is a sequence of its own */
    bool shared_kv;
    bool full;             /* every query sees all keys of its chunk: no causal mask */
    bool writes_kv;        /* the call also writes its keys and values into the cache */
    bool expanded;         /* from latent vectors, narrowed beside a cache of 8 bits; kernel_call_time sets it */
};

struct kernel_time decode_attention_time(const struct decode_params *params, const struct gpu_spec *gpu,
                                         const struct decode_shape *shape);

/* The ways to cut so many blocks of every sequence. */
enum { DECODE_CUTS = 8, DECODE_ROW_CUTS = 16 };
struct decode_cuts {
    double blocks; /* -1: none yet */
    int n;
    int best; /* of a row: the one that won last, tried first */
    double compute_s[DECODE_CUTS], join_s[DECODE_CUTS];
};

/* A row of batches that differ in context and longest sequence alone, and what follows from all else. */
struct decode_row {
    const struct decode_params *params;
    const struct gpu_spec *gpu;
    struct decode_shape shape;
    double flop_per_token, head_bytes, query_bytes, bytes_per_s, flop_per_s, start_s, drain_s;
    bool straggles;
    struct decode_cuts cuts[DECODE_ROW_CUTS]; /* those that may be the best, by blocks modulo their number */
};

void decode_row_init(struct decode_row *row, const struct decode_params *params, const struct gpu_spec *gpu,
                     const struct decode_shape *shape);

/* The seconds of decode_attention_time, to the bit. The cut that was best last is tried first, and others are left out
 * where a bound excludes them. */
double decode_row_seconds(struct decode_row *row, double mean_context, double longest);

/* Delay by the longest sequence, part of decode_attention_time's result: constant while all sequences grow alike. */
double decode_straggle_seconds(const struct decode_params *params, const struct gpu_spec *gpu,
                               const struct decode_shape *shape);

/* How a kernel cuts queries and keys of prompts. */
struct prefill_tiling {
    double rows, columns; /* of a tile: queries of all heads in it, keys */
    double tokens;        /* whose queries they are */
    double heads;         /* rows of tiles for the same tokens */
};

/* Calls that differ in their batch alone, and what follows from all else. */
struct prefill_row {
    const struct prefill_params *params;
    const struct gpu_spec *gpu;
    struct prefill_tiling tiling;
    double sms, tile_flop, flop_per_s, bytes_per_s;
    bool scored;          /* whether exponentials of scores count */
    double tile_s;        /* of one tile on an SM where they do, else 0 */
    double start_s;
    double kv_bytes;      /* of a token, keys and values of all heads */
    double query_width;   /* numbers of a token's queries and results */
    double number_bytes;  /* of each */
    double passes;        /* of new keys and values across the memory, beside attention */
};

void prefill_row_init(struct prefill_row *row, const struct prefill_params *params, const struct gpu_spec *gpu,
                      const struct prefill_shape *shape);

/* A call of the row; its heads, formats, window and flags are those that the row was made with. */
struct kernel_time prefill_row_time(const struct prefill_row *row, const struct prefill_shape *shape);

/* The seconds of prefill_row_time alone. */
double prefill_row_seconds(const struct prefill_row *row, const struct prefill_shape *shape);

struct kernel_time prefill_attention_time(const struct prefill_params *params, const struct gpu_spec *gpu,
                                          const struct prefill_shape *shape);

#endif
