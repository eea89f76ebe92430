/* The chunks of one request's prompt, and what of them it takes from a chunk store (chunk_store.h).
 *
 * For each chunk the variant of least CFO is picked. ceil(CFO |C|) of its |C| tokens are recomputed. The others are
 * hits in GPU memory, or are transferred from a lower tier. Tokens of chunks without a variant, and those behind the
 * chunks, are new. At least one token is computed, because the first output token results from it. */
#ifndef ORRERY_WORLD_KV_CHUNK_PROMPT_H
#define ORRERY_WORLD_KV_CHUNK_PROMPT_H

#include "sim/world/kv/chunk_store.h"

/* What a prompt takes of one chunk. */
struct chunk_use {
    struct chunk_variant *variant; /* NULL: none; valid while the store's variants are the same */
    uint64_t key;                  /* of the variant */
    int32_t tier;                  /* that the variant was in */
    int32_t reused_tokens;
    double cfo;
};

/* Tokens of a prompt: each is in exactly one sum. */
struct chunk_tokens {
    int64_t hit, transferred, recomputed, fresh;
};

struct chunk_prompt {
    struct chunk_prompt *before, *next; /* in a list of the owner's */
    /* the latest match, of a prompt of so many tokens; holds while the store's variants are the same */
    const struct chunk_store *matched;
    uint64_t matched_change;
    int64_t matched_tokens;
    struct chunk_tokens tokens;
    int32_t n;
    struct chunk_order order;
    struct chunk_use *uses;       /* [n] */
    struct prompt_chunk chunks[]; /* [n] */
};

/* A copy of the chunks. NULL when out of memory; mem_free frees it. */
struct chunk_prompt *chunk_prompt_make(const struct prompt_chunk *chunks, int32_t n);

/* Finds what a prompt of `prompt_tokens` tokens takes from a store whose first tier is in GPU memory, or is not. Counts
 * as no use. */
void chunk_prompt_match(struct chunk_prompt *prompt, const struct chunk_store *store, int64_t prompt_tokens);

/* Tokens that the latest match takes from a tier. */
int64_t chunk_prompt_taken(const struct chunk_prompt *prompt, int32_t tier);

/* The prompt takes what it has matched: counts the uses. Returns 0 or an error (cache.h). */
int chunk_prompt_take(struct chunk_prompt *prompt, struct chunk_store *store);

/* The prompt has been processed: variants of CFO 0, which it loaded whole, rise, and its chunks are kept. Returns 0 or
 * an error. */
int chunk_prompt_keep(const struct chunk_prompt *prompt, struct chunk_store *store);

#endif
