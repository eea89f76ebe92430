#include "sim/world/kv/prefix_cache.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/hash.h"

#include <stddef.h>
#include <string.h>

/* --- A request's blocks --- */

/* The smallest power of two, as its exponent, that holds n; chains have room for 8 at least. */
static int size_class(int32_t n)
{
    int size = 0;
    while ((INT64_C(8) << size) < n) size++;
    return size;
}

/* Spreads number and place over all keys. */
static uint64_t own_key(uint64_t number, uint64_t place)
{
    return hash_mix((number << 32 | place) + UINT64_C(0x9e3779b97f4a7c15));
}

void prefix_pool_init(struct prefix_pool *pool)
{
    for (int i = 0; i < PREFIX_POOL_SIZES; i++) {
        size_t n = (size_t)8 << i;
        pool_init(&pool->pools[i], sizeof(struct prefix_chain) + n * (sizeof(uint64_t) + sizeof(int32_t)));
    }
}

void prefix_pool_fini(struct prefix_pool *pool)
{
    for (int i = 0; i < PREFIX_POOL_SIZES; i++) pool_fini(&pool->pools[i]);
}

static struct prefix_chain *make_chain(struct prefix_pool *pool, int32_t n)
{
    struct prefix_chain *chain = pool_take(&pool->pools[size_class(n)]);
    if (chain == NULL) return NULL;
    *chain = (struct prefix_chain){.pool = pool, .n = n, .items = (int32_t *)(void *)(chain->keys + n)};
    for (int32_t i = 0; i < n; i++) chain->items[i] = CACHE_NO_ITEM;
    return chain;
}

struct prefix_chain *prefix_chain_make(struct prefix_pool *pool, const uint64_t *keys, int32_t n)
{
    struct prefix_chain *chain = make_chain(pool, n);
    if (chain != NULL && n > 0) memcpy(chain->keys, keys, (size_t)n * sizeof *keys);
    return chain;
}

struct prefix_chain *prefix_chain_make_own(struct prefix_pool *pool, uint64_t number, int32_t n)
{
    struct prefix_chain *chain = make_chain(pool, n);
    if (chain == NULL) return NULL;
    chain->covers_output = chain->is_own = true;
    for (int32_t i = 0; i < n; i++) chain->keys[i] = own_key(number, (uint64_t)i);
    return chain;
}

void prefix_chain_free(struct prefix_chain *chain)
{
    if (chain == NULL) return;
    SIM_REQUIRE(chain->cache == NULL);
    pool_give(&chain->pool->pools[size_class(chain->n)], chain);
}

/* --- The cache --- */

int32_t prefix_cache_match(const struct cache *cache, const uint64_t *keys, int32_t n)
{
    int32_t i = 0;
    while (i < n && cache_find(cache, keys[i]) != CACHE_NO_ITEM) i++;
    return i;
}

/* The items found are those of no cache again. */
static void forget_match(struct prefix_chain *chain)
{
    for (int32_t i = 0; i < chain->n_matched; i++) chain->items[i] = CACHE_NO_ITEM;
    chain->n_matched = 0;
    chain->matched = NULL;
}

int32_t prefix_chain_match(struct prefix_chain *chain, const struct cache *cache, int32_t limit)
{
    SIM_ASSERT(chain->cache == NULL);
    const bool is_known = chain->matched == cache && chain->matched_change == cache->n_changes &&
                          chain->match_limit == limit;
    if (is_known) return chain->n_matched;
    forget_match(chain);
    int32_t n = 0, item;
    while (n < limit && (item = cache_find(cache, chain->keys[n])) != CACHE_NO_ITEM) chain->items[n++] = item;
    chain->n_matched = n;
    chain->matched = cache;
    chain->matched_change = cache->n_changes;
    chain->match_limit = limit;
    return n;
}

static int hold(struct prefix_chain *chain, int32_t at, int32_t item)
{
    int code = cache_acquire(chain->cache, item);
    chain->items[at] = item;
    chain->n_shared++;
    return code;
}

int prefix_chain_fork(const struct prefix_chain *from, int32_t n, struct prefix_chain **made)
{
    struct prefix_chain *chain = *made = prefix_chain_make(from->pool, from->keys, n);
    int code = 0;
    if (chain == NULL) return SIM_E_NOMEM;
    chain->cache = from->cache;
    for (; code == 0 && chain->n_published < from->n_published; chain->n_published++)
        if (from->items[chain->n_published] != CACHE_NO_ITEM)
            code = hold(chain, chain->n_published, from->items[chain->n_published]);
    return code;
}

int32_t prefix_chain_acquire(struct prefix_chain *chain, struct cache *cache, int32_t limit)
{
    SIM_REQUIRE(chain->cache == NULL);
    if (limit > chain->n) limit = chain->n;
    const int32_t n = prefix_chain_match(chain, cache, limit);
    chain->n_matched = 0; /* its items become those that it holds */
    chain->matched = NULL;
    chain->cache = cache;
    for (; chain->n_published < n; chain->n_published++) {
        const int32_t item = chain->items[chain->n_published];
        int code = hold(chain, chain->n_published, item);
        if (code == 0) code = cache_hit(cache, item); /* once it is held an evictor has little to do */
        if (code != 0) return code;
    }
    return chain->n_published;
}

int32_t prefix_chain_expect(struct prefix_chain *chain, int32_t n)
{
    SIM_REQUIRE(chain->cache != NULL && n <= chain->n);
    for (int32_t i = 0; i < n; i++) {
        if (chain->items[i] != CACHE_NO_ITEM) continue;
        const int32_t item = cache_find(chain->cache, chain->keys[i]);
        if (item == CACHE_NO_ITEM) continue;
        int code = hold(chain, i, item);
        if (code == 0) code = cache_hit(chain->cache, item);
        if (code != 0) return code;
    }
    chain->n_published = n;
    return chain->n_shared;
}

int32_t prefix_chain_publish(struct prefix_chain *chain, struct cache *cache, int32_t n)
{
    SIM_REQUIRE(chain->cache == cache && n <= chain->n);
    int32_t before = chain->n_shared;
    for (int32_t i = chain->n_published + 1; i < n; i++) cache_prefetch(cache, chain->keys[i]);
    for (; chain->n_published < n; chain->n_published++) {
        uint64_t key = chain->keys[chain->n_published];
        int32_t item;
        if (cache_find(cache, key) != CACHE_NO_ITEM) continue;
        const int code = cache_insert_held(cache, key, &item);
        if (code < 0) return code;
        if (code == 0) continue;
        chain->items[chain->n_published] = item;
        chain->n_shared++;
    }
    return chain->n_shared - before;
}

int prefix_chain_release(struct prefix_chain *chain)
{
    int first_code = 0;
    for (int32_t i = chain->n_published - 1; i >= 0; i--) {
        if (chain->items[i] == CACHE_NO_ITEM) continue;
        int code = cache_release(chain->cache, chain->items[i]);
        if (first_code == 0) first_code = code;
        chain->items[i] = CACHE_NO_ITEM;
    }
    chain->n_published = chain->n_shared = 0;
    chain->cache = NULL;
    return first_code;
}

int32_t prefix_cache_access(struct cache *cache, const uint64_t *keys, int32_t n, int32_t *n_found)
{
    int32_t n_prefix = 0;
    *n_found = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t item = cache_find(cache, keys[i]);
        bool found = item != CACHE_NO_ITEM;
        int code = found ? cache_hit(cache, item) : cache_insert(cache, keys[i], &item);
        if (code < 0) return code;
        *n_found += found;
        n_prefix += found && n_prefix == i;
    }
    return n_prefix;
}
