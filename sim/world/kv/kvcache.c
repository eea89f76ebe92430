#include "sim/world/kv/kvcache.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

void kvcache_init(struct kvcache *kv, int64_t block_tokens, int64_t total_blocks)
{
    *kv = (struct kvcache){.block_tokens = block_tokens, .total_blocks = total_blocks, .free_blocks = total_blocks,
                           .min_free_blocks = total_blocks};
}

int kv_growth_init(struct kv_growth *growth, int64_t block_tokens)
{
    *growth = (struct kv_growth){.block_tokens = block_tokens};
    growth->phases = mem_zalloc((size_t)block_tokens, sizeof *growth->phases);
    growth->occupied = mem_zalloc((size_t)block_tokens / 64 + 1, sizeof *growth->occupied);
    return growth->phases != NULL && growth->occupied != NULL ? 0 : SIM_E_NOMEM;
}

void kv_growth_fini(struct kv_growth *growth)
{
    mem_free(growth->phases);
    mem_free(growth->occupied);
    growth->phases = NULL;
    growth->occupied = NULL;
}

/* Steps s at which context + (s - step) = 1 modulo block_tokens. */
static int64_t phase_of(const struct kv_growth *growth, int64_t step, int64_t context_tokens)
{
    int64_t phase = (step + 1 - context_tokens) % growth->block_tokens;
    return phase < 0 ? phase + growth->block_tokens : phase;
}

void kv_growth_join(struct kv_growth *growth, int64_t step, int64_t context_tokens)
{
    int64_t phase = phase_of(growth, step, context_tokens);
    growth->occupied[phase / 64] |= UINT64_C(1) << phase % 64;
    growth->phases[phase]++;
    growth->sequences++;
}

void kv_growth_leave(struct kv_growth *growth, int64_t step, int64_t context_tokens)
{
    int64_t phase = phase_of(growth, step, context_tokens);
    SIM_REQUIRE(growth->phases[phase] > 0);
    if (--growth->phases[phase] == 0) growth->occupied[phase / 64] &= ~(UINT64_C(1) << phase % 64);
    growth->sequences--;
}

static inline int64_t phase_after(const struct kv_growth *growth, int64_t phase)
{
    return phase + 1 < growth->block_tokens ? phase + 1 : 0;
}

int64_t kv_growth_over(const struct kv_growth *growth, int64_t step, int64_t n)
{
    const int64_t block = growth->block_tokens, rounds = n / block;
    const int64_t first = step % block, end = first + n - rounds * block; /* phases, those from `block` on wrapped */
    int64_t blocks = rounds * growth->sequences;
    for (int64_t phase = first; phase < end && phase < block; phase++) blocks += growth->phases[phase];
    for (int64_t phase = 0; phase < end - block; phase++) blocks += growth->phases[phase];
    return blocks;
}

int64_t kv_growth_steps_until_short(const struct kv_growth *growth, int64_t step, int64_t slack)
{
    if (slack < 0) return 1; /* also if no sequence takes blocks: the slack itself is short */
    if (growth->sequences == 0) return INT64_MAX;
    int64_t rounds = slack / growth->sequences;
    int64_t left = slack - rounds * growth->sequences;
    int64_t i = rounds * growth->block_tokens, phase = step % growth->block_tokens;
    for (; (left -= growth->phases[phase]) >= 0; phase = phase_after(growth, phase)) i++;
    return i > 1 ? i : 1;
}
