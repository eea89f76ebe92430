#include "sim/world/kv/chunk_store.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

/* --- Finding --- */

/* Maps hold numbers >= 0, which addresses of a process are. */
static void *find(const struct key_map *map, uint64_t key)
{
    const int64_t value = key_map_find(map, key);
    return value >= 0 ? (void *)(uintptr_t)value : NULL;
}

static int set(struct key_map *map, uint64_t key, const void *pointer)
{
    return key_map_set(map, key, (int64_t)(uintptr_t)pointer);
}

struct chunk_variant *chunk_store_choose(const struct chunk_store *store, const struct chunk_order *order,
                                         const struct prompt_chunk *chunks, int32_t n, double *cfo)
{
    const struct stored_chunk *chunk = find(&store->chunks, chunks[n - 1].id);
    struct chunk_variant *best = NULL;
    if (chunk != NULL && chunk->tokens != chunks[n - 1].tokens) return NULL;
    for (struct chunk_variant *v = chunk != NULL ? chunk->variants : NULL; v != NULL; v = v->next) {
        const double its = chunk_attention_cfo(&store->options.attention, v->cci, v->context, v->n_context, order,
                                               n - 1);
        if (best != NULL && (its > *cfo || (its == *cfo && v->tier >= best->tier))) continue;
        best = v;
        *cfo = its;
    }
    return best;
}

/* --- Chunks by their latest use --- */

static void unlink_chunk(struct chunk_store *store, const struct stored_chunk *chunk)
{
    if (chunk->newer != NULL)
        chunk->newer->older = chunk->older;
    else
        store->newest = chunk->older;
    if (chunk->older != NULL)
        chunk->older->newer = chunk->newer;
    else
        store->oldest = chunk->newer;
}

static void link_chunk(struct chunk_store *store, struct stored_chunk *chunk)
{
    chunk->newer = NULL;
    chunk->older = store->newest;
    if (store->newest != NULL)
        store->newest->newer = chunk;
    else
        store->oldest = chunk;
    store->newest = chunk;
}

static struct stored_chunk *make_chunk(struct chunk_store *store, uint64_t id, int32_t tokens)
{
    struct stored_chunk *chunk = mem_zalloc(1, sizeof *chunk);
    if (chunk == NULL) return NULL;
    chunk->id = id;
    chunk->tokens = tokens;
    if (set(&store->chunks, id, chunk) != 0) {
        mem_free(chunk);
        return NULL;
    }
    link_chunk(store, chunk);
    store->n_chunks++;
    return chunk;
}

/* --- Variants --- */

/* It is in no tier any more. The last variant takes its chunk along. */
static void forget_variant(struct chunk_store *store, struct chunk_variant *variant)
{
    struct stored_chunk *chunk = variant->chunk;
    struct chunk_variant **at = &chunk->variants;
    while (*at != variant) at = &(*at)->next;
    *at = variant->next;
    key_map_remove(&store->variants, variant->key);
    mem_free(variant);
    store->n_gone++;
    store->n_changes++;
    if (--chunk->n_variants > 0) return;
    unlink_chunk(store, chunk);
    key_map_remove(&store->chunks, chunk->id);
    mem_free(chunk);
    store->n_chunks--;
}

/* Bytes of a chunk in a tier. */
static int64_t bytes_in(const struct chunk_store *store, int32_t tier, int32_t tokens)
{
    return llround(tokens * store->tiers[tier].token_bytes);
}

/* The variant leaves its tier. Returns the place from which its bytes can go on: those that are still being written are
 * where they came from. */
static int32_t leave(struct chunk_store *store, struct chunk_variant *variant)
{
    const struct chunk_store_options *options = &store->options;
    struct chunk_store_tier *tier = &store->tiers[variant->tier];
    tier->used_bytes -= variant->bytes;
    return options->leaves != NULL ? options->leaves(options->context, variant) : tier->index;
}

static int take_out(struct chunk_store *store, struct chunk_variant *variant)
{
    leave(store, variant);
    return cache_drop(&store->tiers[variant->tier].cache, variant->item);
}

static int drop_variant(struct chunk_store *store, struct chunk_variant *variant)
{
    const int code = take_out(store, variant);
    forget_variant(store, variant);
    return code;
}

/* Enters the tier, whose evictor makes room. Returns 1, 0 if the tier is too small, or an error. */
static int enter(struct chunk_store_tier *tier, struct chunk_variant *variant, int32_t from)
{
    const struct chunk_store_options *options = &tier->store->options;
    const int64_t bytes = bytes_in(tier->store, tier->index, variant->chunk->tokens);
    int code = bytes <= tier->capacity_bytes;
    if (code == 0) return 0;
    while (code == 1 && tier->used_bytes + bytes > tier->capacity_bytes) code = cache_evict(&tier->cache);
    if (code == 1) code = cache_insert(&tier->cache, variant->key, &variant->item);
    if (code < 0) return code;
    SIM_REQUIRE(code == 1);
    variant->tier = tier->index;
    variant->bytes = bytes;
    tier->used_bytes += variant->bytes;
    tier->written_bytes += variant->bytes;
    if (tier->used_bytes > tier->most_bytes) tier->most_bytes = tier->used_bytes;
    if (options->moves != NULL) code = options->moves(options->context, variant, from);
    return code < 0 ? code : 1;
}

/* Puts the variant into the first tier from `to` on that is large enough, or forgets it. Returns 0 or an error. */
static int place(struct chunk_store *store, struct chunk_variant *variant, int32_t from, int32_t to)
{
    int code = 0;
    for (; to < store->n_tiers && code == 0; to++) code = enter(&store->tiers[to], variant, from);
    if (code == 0) forget_variant(store, variant);
    store->n_changes++;
    return code < 0 ? code : 0;
}

static int falls(void *context, uint64_t key)
{
    struct chunk_store_tier *tier = context;
    struct chunk_variant *variant = find(&tier->store->variants, key);
    SIM_REQUIRE(variant != NULL);
    tier->evictions++;
    return place(tier->store, variant, leave(tier->store, variant), tier->index + 1);
}

int chunk_store_use(struct chunk_store *store, struct chunk_variant *variant)
{
    variant->last_use = store->n_uses++;
    unlink_chunk(store, variant->chunk);
    link_chunk(store, variant->chunk);
    return cache_hit(&store->tiers[variant->tier].cache, variant->item);
}

int chunk_store_raise(struct chunk_store *store, uint64_t key)
{
    struct chunk_variant *variant = find(&store->variants, key);
    if (variant == NULL || variant->tier == 0) return 0;
    if (bytes_in(store, 0, variant->chunk->tokens) > store->tiers[0].capacity_bytes) return 0;
    const int code = take_out(store, variant);
    return code != 0 ? code : place(store, variant, -1, 0);
}

/* --- Keeping --- */

static int drop_chunk(struct chunk_store *store, struct stored_chunk *chunk)
{
    int code = 0;
    for (int64_t n = chunk->n_variants; n > 0 && code == 0; n--) code = drop_variant(store, chunk->variants);
    return code;
}

static int drop_least_used(struct chunk_store *store, const struct stored_chunk *chunk)
{
    struct chunk_variant *least = chunk->variants;
    for (struct chunk_variant *v = least->next; v != NULL; v = v->next)
        if (v->last_use < least->last_use) least = v;
    return drop_variant(store, least);
}

/* Makes room among chunks and variants by their numbers. Returns 0 or an error. */
static int respect_limits(struct chunk_store *store, const struct stored_chunk *chunk)
{
    const struct chunk_store_config *config = store->options.config;
    if (chunk == NULL)
        return config->chunks > 0 && store->n_chunks >= config->chunks ? drop_chunk(store, store->oldest) : 0;
    return chunk->n_variants >= config->variants ? drop_least_used(store, chunk) : 0;
}

static struct chunk_variant *make_variant(struct chunk_store *store, const struct prompt_chunk *chunks, int32_t n,
                                          uint64_t key)
{
    const struct prompt_chunk *own = &chunks[n - 1];
    struct chunk_variant *variant = mem_alloc(sizeof *variant + (size_t)(n - 1) * sizeof *variant->context);
    if (variant == NULL) return NULL;
    *variant = (struct chunk_variant){.key = key, .last_use = store->n_uses++, .n_context = n - 1};
    variant->cci = chunk_attention_observe(&store->options.attention, own->id, chunks, n - 1, variant->context);
    if (set(&store->variants, key, variant) == 0) return variant;
    mem_free(variant);
    return NULL;
}

/* The chunk becomes the newest one, and gets the variant. Returns 0 or SIM_E_NOMEM. */
static int add_variant(struct chunk_store *store, const struct prompt_chunk *own, struct chunk_variant *variant)
{
    struct stored_chunk *chunk = find(&store->chunks, own->id);
    if (chunk == NULL) chunk = make_chunk(store, own->id, own->tokens);
    if (chunk == NULL) return SIM_E_NOMEM;
    unlink_chunk(store, chunk);
    link_chunk(store, chunk);
    variant->chunk = chunk;
    variant->next = chunk->variants;
    chunk->variants = variant;
    chunk->n_variants++;
    store->n_kept++; /* some tier has room for it */
    return 0;
}

static bool fits_somewhere(const struct chunk_store *store, int32_t tokens)
{
    for (int32_t i = 0; i < store->n_tiers; i++)
        if (bytes_in(store, i, tokens) <= store->tiers[i].capacity_bytes) return true;
    return false;
}

/* Makes room among chunks and variants by their numbers. What the id named before, with another length, goes. */
static int make_room(struct chunk_store *store, const struct prompt_chunk *own)
{
    struct stored_chunk *chunk = find(&store->chunks, own->id);
    const int code = chunk != NULL && chunk->tokens != own->tokens ? drop_chunk(store, chunk) : 0;
    return code != 0 ? code : respect_limits(store, find(&store->chunks, own->id));
}

int chunk_store_keep(struct chunk_store *store, const struct prompt_chunk *chunks, int32_t n)
{
    const struct prompt_chunk *own = &chunks[n - 1];
    const uint64_t key = chunk_context_key(chunks, n);
    if (find(&store->variants, key) != NULL || !fits_somewhere(store, own->tokens)) return 0;
    int code = make_room(store, own);
    if (code != 0) return code;
    struct chunk_variant *variant = make_variant(store, chunks, n, key);
    if (variant == NULL) return diag_nomem(store->options.diag);
    code = add_variant(store, own, variant);
    if (code == 0) return place(store, variant, -1, 0);
    key_map_remove(&store->variants, key);
    mem_free(variant);
    return diag_nomem(store->options.diag);
}

/* --- Lifetime --- */

/* Variants that a tier holds at most: each has a token. Bytes are the limit; this one is for evictors that divide the
 * capacity. */
static int64_t most_variants(const struct chunk_store_tier *tier)
{
    const int64_t n = (int64_t)((double)tier->capacity_bytes / tier->token_bytes);
    return n > 0 ? n : 1;
}

static int open_tier(struct chunk_store *store, const struct chunk_tier_config *config)
{
    struct chunk_store_tier *tier = &store->tiers[store->n_tiers];
    const struct chunk_store_options *options = &store->options;
    tier->store = store;
    tier->index = store->n_tiers++;
    tier->capacity_bytes = (int64_t)config->capacity_bytes;
    tier->token_bytes = chunk_tier_is_gpu(config) ? options->gpu_token_bytes : options->token_bytes;
    return cache_init(&tier->cache, &(struct cache_options){.evictor = config->eviction.entry,
                                                            .params = config->eviction.params,
                                                            .capacity = most_variants(tier),
                                                            .seed = options->attention.seed,
                                                            .run = options->attention.run,
                                                            .index = options->index * CHUNK_TIERS +
                                                                     (uint64_t)tier->index,
                                                            .evicted = falls,
                                                            .context = tier,
                                                            .diag = options->diag});
}

int chunk_store_open(struct chunk_store *store, const struct chunk_store_options *options)
{
    const struct chunk_tier_config *tiers = options->config->tiers.items;
    int code = 0;
    store->options = *options;
    store->n_changes++; /* what prompts remember of it is void */
    for (size_t i = 0; i < options->config->tiers.n && code == 0; i++) code = open_tier(store, &tiers[i]);
    return code;
}

static void free_chunk(struct stored_chunk *chunk)
{
    for (struct chunk_variant *v = chunk->variants, *next; v != NULL; v = next) {
        next = v->next;
        mem_free(v);
    }
    mem_free(chunk);
}

void chunk_store_fini(struct chunk_store *store)
{
    for (struct stored_chunk *chunk = store->newest, *older; chunk != NULL; chunk = older) {
        older = chunk->older;
        store->n_gone += chunk->n_variants;
        free_chunk(chunk);
    }
    store->newest = store->oldest = NULL;
    store->n_chunks = 0;
    key_map_fini(&store->chunks);
    key_map_fini(&store->variants);
    store->chunks = store->variants = (struct key_map){0};
    for (int32_t i = 0; i < store->n_tiers; i++) {
        cache_fini(&store->tiers[i].cache);
        store->tiers[i].used_bytes = 0;
    }
    store->n_tiers = 0;
    store->n_changes++;
}

/* --- Checks --- */

void chunk_store_check(const struct chunk_store *store)
{
    int64_t bytes[CHUNK_TIERS] = {0}, items[CHUNK_TIERS] = {0}, n_chunks = 0, n_variants = 0;
    const struct chunk_store_config *config = store->options.config;
    for (const struct stored_chunk *chunk = store->newest; chunk != NULL; chunk = chunk->older) {
        int64_t n = 0;
        for (const struct chunk_variant *v = chunk->variants; v != NULL; v = v->next, n++) {
            SIM_REQUIRE(v->chunk == chunk && v->tier < store->n_tiers);
            SIM_REQUIRE(v->bytes == bytes_in(store, v->tier, chunk->tokens));
            bytes[v->tier] += v->bytes;
            items[v->tier]++;
        }
        SIM_REQUIRE(n == chunk->n_variants && n >= 1 && n <= config->variants);
        n_chunks++;
        n_variants += n;
    }
    SIM_REQUIRE(n_chunks == store->n_chunks && (size_t)n_chunks == store->chunks.n);
    SIM_REQUIRE(n_variants == store->n_kept - store->n_gone && (size_t)n_variants == store->variants.n);
    for (int32_t i = 0; i < store->n_tiers; i++) {
        const struct chunk_store_tier *tier = &store->tiers[i];
        SIM_REQUIRE(bytes[i] == tier->used_bytes && bytes[i] <= tier->capacity_bytes);
        SIM_REQUIRE(items[i] == tier->cache.view.size && tier->writing_bytes <= tier->used_bytes);
    }
}
