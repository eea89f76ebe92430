/* Paged KV cache of one replica: a count of free blocks, and how many decoding sequences take a new block at each step.
 *
 * A decoding sequence that has processed c tokens needs ceil(c / block) blocks for its next iteration. So it takes a
 * block whenever c = 1 modulo the block size: once every `block_tokens` steps, at a phase fixed when it joins. Counting
 * sequences by phase makes the use of blocks over any number of steps closed-form. Source: PagedAttention (Kwon et al.,
 * SOSP 2023). */
#ifndef ORRERY_WORLD_KV_KVCACHE_H
#define ORRERY_WORLD_KV_KVCACHE_H

#include "sim/core/check.h"

#include <stdbool.h>
#include <stdint.h>

struct kvcache {
    int64_t block_tokens, total_blocks, free_blocks;
    int64_t min_free_blocks; /* the fewest so far */
};

void kvcache_init(struct kvcache *kv, int64_t block_tokens, int64_t total_blocks);

static inline int64_t kvcache_blocks(const struct kvcache *kv, int64_t tokens)
{
    return (tokens + kv->block_tokens - 1) / kv->block_tokens;
}

/* Takes free blocks; not more than there are. */
static inline void kvcache_take(struct kvcache *kv, int64_t blocks)
{
    kv->free_blocks -= blocks;
    SIM_REQUIRE(kv->free_blocks >= 0);
    if (kv->free_blocks < kv->min_free_blocks) kv->min_free_blocks = kv->free_blocks;
}

static inline void kvcache_give(struct kvcache *kv, int64_t blocks)
{
    kv->free_blocks += blocks;
    SIM_REQUIRE(kv->free_blocks <= kv->total_blocks);
}

/* The sequences of one decoding batch that take blocks as their context grows. */
struct kv_growth {
    int64_t block_tokens, sequences;
    int64_t *phases;    /* [block_tokens]: sequences that grow at steps = phase modulo block_tokens */
    uint64_t *occupied; /* [block_tokens / 64 + 1]: a bit per phase with sequences */
};

int kv_growth_init(struct kv_growth *growth, int64_t block_tokens); /* 0 or SIM_E_NOMEM */
void kv_growth_fini(struct kv_growth *growth);

/* A sequence that has processed context_tokens starts to decode at `step`, or stops. */
void kv_growth_join(struct kv_growth *growth, int64_t step, int64_t context_tokens);
void kv_growth_leave(struct kv_growth *growth, int64_t step, int64_t context_tokens);

/* A sequence that grows at one phase grows `by` steps earlier from now on, 0 <= by. Returns its new phase. */
static inline int64_t kv_growth_hasten(struct kv_growth *growth, int64_t phase, int64_t by)
{
    int64_t to = phase - by;
    while (to < 0) to += growth->block_tokens;
    SIM_REQUIRE(growth->phases[phase] > 0);
    if (--growth->phases[phase] == 0) growth->occupied[phase / 64] &= ~(UINT64_C(1) << phase % 64);
    if (growth->phases[to]++ == 0) growth->occupied[to / 64] |= UINT64_C(1) << to % 64;
    return to;
}

/* The phases with sequences among those of some iterations, in the order of the iterations. */
struct kv_growth_walk {
    int64_t phase;    /* visited; with kv_growth_walk_next: that of iteration phase + behind */
    int64_t behind;
    int64_t word, to; /* of `occupied`, being read up to phase to - 1 */
    int64_t wrapped;  /* phases that follow from phase 0 on */
    uint64_t bits;    /* phases of the word still to visit */
};

static inline uint64_t kv_growth_word(const struct kv_growth *growth, int64_t word, int64_t to)
{
    const int64_t bits = to - 64 * word;
    return growth->occupied[word] & (bits < 64 ? ~(UINT64_MAX << bits) : UINT64_MAX);
}

/* Of n <= block_tokens iterations, the first of which has this phase. */
static inline struct kv_growth_walk kv_growth_walk(const struct kv_growth *growth, int64_t phase, int64_t n)
{
    const int64_t end = phase + n, to = end < growth->block_tokens ? end : growth->block_tokens, word = phase >> 6;
    return (struct kv_growth_walk){.behind = -phase, .word = word, .to = to, .wrapped = end - to,
                                   .bits = kv_growth_word(growth, word, to) & UINT64_MAX << (phase & 63)};
}

/* Goes to the next phase. Returns whether there is one. */
static inline bool kv_growth_walk_next(struct kv_growth_walk *walk, const struct kv_growth *growth)
{
    while (walk->bits == 0) {
        if (64 * ++walk->word >= walk->to) {
            if (walk->wrapped == 0) return false;
            walk->behind += growth->block_tokens;
            walk->word = 0;
            walk->to = walk->wrapped;
            walk->wrapped = 0;
        }
        walk->bits = kv_growth_word(growth, walk->word, walk->to);
    }
    walk->phase = 64 * walk->word + __builtin_ctzll(walk->bits);
    walk->bits &= walk->bits - 1;
    return true;
}

/* Blocks taken by the iteration at `step`; and by the n iterations that start there. */
static inline int64_t kv_growth_at(const struct kv_growth *growth, int64_t step)
{
    return growth->phases[step % growth->block_tokens];
}

int64_t kv_growth_over(const struct kv_growth *growth, int64_t step, int64_t n);

/* Whether any n iterations are sure to take at most `slack` blocks: a cheap bound. */
static inline bool kv_growth_lasts(const struct kv_growth *growth, int64_t n, int64_t slack)
{
    return growth->sequences * ((n + growth->block_tokens - 1) / growth->block_tokens) <= slack;
}

/* The first i >= 1 such that the iterations up to and including the one at step + i take more than `slack` blocks;
 * INT64_MAX if never. */
int64_t kv_growth_steps_until_short(const struct kv_growth *growth, int64_t step, int64_t slack);

#endif
