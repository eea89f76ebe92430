#include "sim/world/kv/chunk_prompt.h"

#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

struct chunk_prompt *chunk_prompt_make(const struct prompt_chunk *chunks, int32_t n)
{
    struct chunk_prompt *prompt;
    const size_t places = (size_t)n, chunk_bytes = places * sizeof *chunks;
    prompt = mem_zalloc(1, sizeof *prompt + chunk_bytes + places * sizeof *prompt->uses +
                               places * sizeof *prompt->order.places + (places + 1) * sizeof *prompt->order.counts);
    if (prompt == NULL) return NULL;
    prompt->n = n;
    prompt->uses = (struct chunk_use *)(void *)((char *)prompt->chunks + chunk_bytes);
    prompt->order.places = (struct chunk_place *)(void *)(prompt->uses + places);
    prompt->order.counts = (int32_t *)(void *)(prompt->order.places + places);
    memcpy(prompt->chunks, chunks, chunk_bytes);
    chunk_order_fill(&prompt->order, chunks, n);
    return prompt;
}

static bool is_in_gpu(const struct chunk_store *store, int32_t tier)
{
    const struct chunk_tier_config *tiers = store->options.config->tiers.items;
    return chunk_tier_is_gpu(&tiers[tier]);
}

static struct chunk_use match_chunk(const struct chunk_store *store, const struct chunk_prompt *prompt, int32_t n)
{
    const struct prompt_chunk *chunks = prompt->chunks;
    struct chunk_use use = {.cfo = 0.0};
    use.variant = chunk_store_choose(store, &prompt->order, chunks, n, &use.cfo);
    if (use.variant == NULL) return use;
    use.key = use.variant->key;
    use.tier = use.variant->tier;
    use.reused_tokens = chunks[n - 1].tokens - (int32_t)ceil(use.cfo * chunks[n - 1].tokens);
    return use;
}

/* The last reused token is computed after all. */
static void give_one_back(struct chunk_prompt *prompt)
{
    int32_t last = prompt->n - 1;
    while (prompt->uses[last].reused_tokens == 0) last--;
    prompt->uses[last].reused_tokens--;
}

static void sum_up(struct chunk_prompt *prompt, const struct chunk_store *store, int64_t prompt_tokens)
{
    struct chunk_tokens tokens = {.fresh = prompt_tokens};
    for (int32_t i = 0; i < prompt->n; i++) {
        const struct chunk_use *use = &prompt->uses[i];
        if (use->variant == NULL) continue;
        tokens.fresh -= prompt->chunks[i].tokens;
        tokens.recomputed += prompt->chunks[i].tokens - use->reused_tokens;
        *(is_in_gpu(store, use->tier) ? &tokens.hit : &tokens.transferred) += use->reused_tokens;
    }
    prompt->tokens = tokens;
}

void chunk_prompt_match(struct chunk_prompt *prompt, const struct chunk_store *store, int64_t prompt_tokens)
{
    if (prompt->matched == store && prompt->matched_change == store->n_changes &&
        prompt->matched_tokens == prompt_tokens)
        return;
    for (int32_t i = 0; i < prompt->n; i++) prompt->uses[i] = match_chunk(store, prompt, i + 1);
    prompt->matched = store;
    prompt->matched_change = store->n_changes;
    prompt->matched_tokens = prompt_tokens;
    sum_up(prompt, store, prompt_tokens);
    if (prompt->tokens.recomputed + prompt->tokens.fresh > 0) return;
    give_one_back(prompt);
    sum_up(prompt, store, prompt_tokens);
}

int64_t chunk_prompt_taken(const struct chunk_prompt *prompt, int32_t tier)
{
    int64_t tokens = 0;
    for (int32_t i = 0; i < prompt->n; i++)
        if (prompt->uses[i].variant != NULL && prompt->uses[i].tier == tier) tokens += prompt->uses[i].reused_tokens;
    return tokens;
}

int chunk_prompt_take(struct chunk_prompt *prompt, struct chunk_store *store)
{
    int code = 0;
    for (int32_t i = 0; i < prompt->n && code == 0; i++)
        if (prompt->uses[i].reused_tokens > 0) code = chunk_store_use(store, prompt->uses[i].variant);
    return code;
}

static bool is_kept(const struct chunk_prompt *prompt, const struct chunk_store *store, int32_t i)
{
    const struct chunk_use *use = &prompt->uses[i];
    if (use->variant == NULL || use->reused_tokens == 0) return true;
    return store->options.config->keeps == CHUNK_KEEPS_ANY && use->cfo > 0.0;
}

/* All of the variant is in GPU memory now. Of the last chunk one token may have been computed, to the same KV. */
static bool is_loaded_whole(const struct chunk_use *use)
{
    return use->reused_tokens > 0 && use->cfo == 0.0;
}

int chunk_prompt_keep(const struct chunk_prompt *prompt, struct chunk_store *store)
{
    int code = 0;
    for (int32_t i = 0; i < prompt->n && code == 0; i++) {
        if (is_loaded_whole(&prompt->uses[i])) code = chunk_store_raise(store, prompt->uses[i].key);
        if (code == 0 && is_kept(prompt, store, i)) code = chunk_store_keep(store, prompt->chunks, i + 1);
    }
    return code;
}
