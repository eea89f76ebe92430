/* Paged KV cache of one replica: a count of free blocks, and how many decoding sequences take a new block at each step.
 *
 * A decoding sequence that has processed c tokens needs ceil(c / block) blocks for its next iteration, so it takes one
 * whenever c = 1 modulo the block size: once every `block_tokens` steps, at a phase fixed when it joins. Counting sequences by
 * phase makes the use of blocks over any number of steps closed-form. Source: PagedAttention (Kwon et al., SOSP 2023). */
#ifndef ORRERY_WORLD_KVCACHE_H
#define ORRERY_WORLD_KVCACHE_H

#include <stdint.h>

struct kvcache {
    int64_t block_tokens, total_blocks, free_blocks;
    int64_t min_free_blocks; /* the fewest there ever were */
};

void kvcache_init(struct kvcache *kv, int64_t block_tokens, int64_t total_blocks);

static inline int64_t kvcache_blocks(const struct kvcache *kv, int64_t tokens)
{
    return (tokens + kv->block_tokens - 1) / kv->block_tokens;
}

void kvcache_take(struct kvcache *kv, int64_t blocks); /* no more than there are free */
void kvcache_give(struct kvcache *kv, int64_t blocks);

/* The sequences of one decoding batch that take blocks as they go. */
struct kv_growth {
    int64_t block_tokens, sequences;
    int64_t *phases; /* [block_tokens]: sequences that grow at steps = phase modulo block_tokens */
};

int kv_growth_init(struct kv_growth *growth, int64_t block_tokens); /* 0 or SIM_E_NOMEM */
void kv_growth_fini(struct kv_growth *growth);

/* A sequence that has processed context_tokens starts to decode at `step`, or stops. */
void kv_growth_join(struct kv_growth *growth, int64_t step, int64_t context_tokens);
void kv_growth_leave(struct kv_growth *growth, int64_t step, int64_t context_tokens);

/* Blocks taken by the iteration at `step`, and by the n iterations from it. */
int64_t kv_growth_at(const struct kv_growth *growth, int64_t step);
int64_t kv_growth_over(const struct kv_growth *growth, int64_t step, int64_t n);

/* The first i >= 1 such that the iterations up to and including the one at step + i take more than `slack` blocks; INT64_MAX
 * if never. */
int64_t kv_growth_steps_until_short(const struct kv_growth *growth, int64_t step, int64_t slack);

#endif
