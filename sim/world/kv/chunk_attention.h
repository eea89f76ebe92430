/* How much of a chunk's cached KV must be recomputed in a new context (Cache-Craft, Agarwal et al., 2025,
 * arXiv 2502.15734; from notes).
 *
 * A chunk is computed in a context: the chunks that stand before it in the prompt. i is the chunk, j one of its
 * context, inter(i,j) the attention between their tokens, intra the attention within i, |C| a number of tokens.
 *
 *     a     = sum over j of inter(i,j) / (|Ci| |Cj|),  b = intra / |Ci|^2
 *     CCI   = 1 / (1 + exp(-a / b))                                        how much the context is part of the KV
 *     beta  = sum over j in old and new of inter(i,j) / sum over j in old of inter(i,j)
 *     gamma = pairs of common chunks whose order differs / pairs of common chunks           (Kendall's tau distance)
 *     beta' = beta (1 - gamma)
 *     CFO   = alpha CCI (1 - beta'), within [0, 1]                         share of the tokens that is recomputed
 *
 * A chunk that stood first has an empty sum: beta' is 1 if it stands first again, else 0. Equal contexts have beta' 1.
 * So do new contexts that add chunks to the old one: the equations do not see them.
 *
 * MODELLED: a simulator has no attention. inter(i,j) / (|Ci| |Cj|) over b is `inter` times a lognormal number with mean
 * 1 and deviation `sigma` of its logarithm. It is drawn once for each pair of chunks, from the stream
 * "chunk-attention". */
#ifndef ORRERY_WORLD_KV_CHUNK_ATTENTION_H
#define ORRERY_WORLD_KV_CHUNK_ATTENTION_H

#include "sim/world/rows/source.h"

#include <stdint.h>

struct chunk_attention {
    double alpha, inter, sigma;
    uint64_t seed;
    uint32_t run;
};

/* One chunk of an old context. */
struct chunk_neighbour {
    uint64_t id;
    double weight; /* inter(i,j) / |Ci|, over b */
    int32_t tokens;
    int32_t place; /* in a new context, -1: not there; set by chunk_attention_cfo */
};

/* The chunks of a prompt, to be found by their ids. */
struct chunk_place {
    uint64_t id;
    int32_t tokens, place;
};

struct chunk_order {
    int32_t n;
    struct chunk_place *places; /* [n], by id, then by place */
    int32_t *counts;            /* [n + 1], for chunk_attention_cfo */
};

/* Sorts chunks[n] into an order whose arrays have room for them. */
void chunk_order_fill(struct chunk_order *order, const struct prompt_chunk *chunks, int32_t n);

/* The share of attention that chunk i gives chunk j: inter(i,j) / (|Ci| |Cj|), over b. */
double chunk_attention_pair(const struct chunk_attention *model, uint64_t chunk, uint64_t neighbour);

/* Fills neighbours[n] for a chunk in a context of n others, and returns CCI. */
double chunk_attention_observe(const struct chunk_attention *model, uint64_t chunk, const struct prompt_chunk *context,
                               int32_t n, struct chunk_neighbour *neighbours);

/* CFO of a chunk with this CCI, cached in the old context, in a new one: the first n chunks of a prompt. Chunks of one
 * id but other lengths are not common. Takes about n_old log(n) steps. */
double chunk_attention_cfo(const struct chunk_attention *model, double cci, struct chunk_neighbour *old, int32_t n_old,
                           const struct chunk_order *prompt, int32_t n);

/* A key of the last chunk of chunks[n] behind the others, with the lengths of all. */
uint64_t chunk_context_key(const struct prompt_chunk *chunks, int32_t n);

#endif
