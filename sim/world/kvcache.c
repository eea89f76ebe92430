#include "sim/world/kvcache.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

void kvcache_init(struct kvcache *kv, int64_t block_tokens, int64_t total_blocks)
{
    *kv = (struct kvcache){.block_tokens = block_tokens, .total_blocks = total_blocks, .free_blocks = total_blocks,
                           .min_free_blocks = total_blocks};
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

int kv_growth_init(struct kv_growth *growth, int64_t block_tokens)
{
    *growth = (struct kv_growth){.block_tokens = block_tokens};
    growth->phases = mem_zalloc((size_t)block_tokens, sizeof *growth->phases);
    return growth->phases != NULL ? 0 : SIM_E_NOMEM;
}

void kv_growth_fini(struct kv_growth *growth)
{
    mem_free(growth->phases);
    growth->phases = NULL;
}

/* Steps s at which context + (s - step) = 1 modulo block_tokens. */
static int64_t *phase_of(const struct kv_growth *growth, int64_t step, int64_t context_tokens)
{
    int64_t phase = (step + 1 - context_tokens) % growth->block_tokens;
    return &growth->phases[phase < 0 ? phase + growth->block_tokens : phase];
}

void kv_growth_join(struct kv_growth *growth, int64_t step, int64_t context_tokens)
{
    ++*phase_of(growth, step, context_tokens);
    growth->sequences++;
}

void kv_growth_leave(struct kv_growth *growth, int64_t step, int64_t context_tokens)
{
    int64_t *phase = phase_of(growth, step, context_tokens);
    SIM_REQUIRE(*phase > 0);
    --*phase;
    growth->sequences--;
}

int64_t kv_growth_at(const struct kv_growth *growth, int64_t step)
{
    return growth->phases[step % growth->block_tokens];
}

int64_t kv_growth_over(const struct kv_growth *growth, int64_t step, int64_t n)
{
    int64_t rounds = n / growth->block_tokens, rest = n % growth->block_tokens;
    int64_t blocks = rounds * growth->sequences;
    for (int64_t i = 0; i < rest; i++) blocks += kv_growth_at(growth, step + i);
    return blocks;
}

int64_t kv_growth_steps_until_short(const struct kv_growth *growth, int64_t step, int64_t slack)
{
    if (slack < 0) return 1; /* also when nobody takes blocks: as many as that must be free */
    if (growth->sequences == 0) return INT64_MAX;
    int64_t rounds = slack / growth->sequences;
    int64_t left = slack - rounds * growth->sequences;
    int64_t i = rounds * growth->block_tokens;
    while ((left -= kv_growth_at(growth, step + i)) >= 0) i++;
    return i > 1 ? i : 1;
}
