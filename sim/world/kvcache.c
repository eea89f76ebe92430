#include "sim/world/kvcache.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

int kvcache_init(struct kvcache *kv, int64_t block_tokens, int64_t total_blocks)
{
    *kv = (struct kvcache){.block_tokens = block_tokens, .total_blocks = total_blocks, .free_blocks = total_blocks,
                           .min_free_blocks = total_blocks};
    kv->phases = mem_zalloc((size_t)block_tokens, sizeof *kv->phases);
    return kv->phases != NULL ? 0 : SIM_E_NOMEM;
}

void kvcache_fini(struct kvcache *kv)
{
    mem_free(kv->phases);
    kv->phases = NULL;
}

void kvcache_take(struct kvcache *kv, int64_t blocks)
{
    kv->free_blocks -= blocks;
    SIM_REQUIRE(kv->free_blocks >= 0);
    if (kv->free_blocks < kv->min_free_blocks) kv->min_free_blocks = kv->free_blocks;
}

void kvcache_give(struct kvcache *kv, int64_t blocks)
{
    kv->free_blocks += blocks;
    SIM_REQUIRE(kv->free_blocks <= kv->total_blocks);
}

/* Steps s at which context + (s - step) = 1 modulo block_tokens. */
static int64_t *kvcache_phase(const struct kvcache *kv, int64_t step, int64_t context_tokens)
{
    int64_t phase = (step + 1 - context_tokens) % kv->block_tokens;
    return &kv->phases[phase < 0 ? phase + kv->block_tokens : phase];
}

void kvcache_join(struct kvcache *kv, int64_t step, int64_t context_tokens)
{
    ++*kvcache_phase(kv, step, context_tokens);
    kv->sequences++;
}

void kvcache_leave(struct kvcache *kv, int64_t step, int64_t context_tokens)
{
    int64_t *phase = kvcache_phase(kv, step, context_tokens);
    SIM_REQUIRE(*phase > 0);
    --*phase;
    kv->sequences--;
}

int64_t kvcache_growth(const struct kvcache *kv, int64_t step)
{
    return kv->phases[step % kv->block_tokens];
}

int64_t kvcache_growth_over(const struct kvcache *kv, int64_t step, int64_t n)
{
    int64_t rounds = n / kv->block_tokens, rest = n % kv->block_tokens;
    int64_t growth = rounds * kv->sequences;
    for (int64_t i = 0; i < rest; i++) growth += kvcache_growth(kv, step + i);
    return growth;
}

int64_t kvcache_steps_until_short(const struct kvcache *kv, int64_t step, int64_t keep)
{
    if (kv->sequences == 0) return INT64_MAX;
    int64_t slack = kv->free_blocks - keep;
    if (slack < 0) return 1;
    int64_t rounds = slack / kv->sequences;
    int64_t left = slack - rounds * kv->sequences;
    int64_t i = rounds * kv->block_tokens;
    while ((left -= kvcache_growth(kv, step + i)) >= 0) i++;
    return i > 1 ? i : 1;
}
