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

/* The first phase at or after `phase` that has sequences; block_tokens if there is none. phase <= block_tokens. */
static inline int64_t kv_growth_next_phase(const struct kv_growth *growth, int64_t phase)
{
    const int64_t last = growth->block_tokens / 64;
    int64_t word = phase / 64;
    uint64_t bits = growth->occupied[word] & UINT64_MAX << phase % 64;
    while (bits == 0 && word < last) bits = growth->occupied[++word];
    return bits != 0 ? word * 64 + __builtin_ctzll(bits) : growth->block_tokens;
}

/* Of block_tokens iterations, the first of which has this phase: the first at or after index i, 0 <= i <= block_tokens,
 * that takes blocks; block_tokens or more if none does. */
static inline int64_t kv_growth_next(const struct kv_growth *growth, int64_t phase, int64_t i)
{
    const int64_t behind = growth->block_tokens - phase;
    if (i < behind) {
        const int64_t next = kv_growth_next_phase(growth, phase + i) - phase;
        if (next < behind) return next;
        i = behind;
    }
    return kv_growth_next_phase(growth, i - behind) + behind;
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
