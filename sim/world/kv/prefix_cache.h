/* Prefix caching: KV blocks of prompts, kept under the hash of the prefix that they end, for requests that begin alike.
 *
 * A prompt is a row of prefix blocks of equal length (512 tokens in Mooncake's traces), each named by a key that stands
 * for everything up to its end. A request can use the leading blocks up to the first that is absent: what lies behind a
 * gap is of no use to it. The last block is shared only when it is full, and one token at least is always computed,
 * because the first output token comes out of it (as in vLLM v1). Blocks in use are counted, not copied; the others
 * stay until the evictor gives them up.
 *
 * Of memory this knows nothing: a prefix block of H tokens takes H / B blocks of an engine whose KV blocks hold B
 * tokens, and the owner of that memory takes and gives them:
 *
 *     admission    n = prefix_cache_match(...); of the request's KV blocks the first n * H / B are there already
 *                  prefix_chain_acquire: these cannot be evicted any more
 *                  for the other blocks: take free ones, and prefix_cache_evict while there are too few; each gives H / B
 *                  back. So a replica has free + evictable * H / B blocks to give, before acquiring
 *     computed     prefix_chain_publish(chain, tokens processed so far): the request's own blocks become shared ones. A
 *                  block that somebody else has published before stays the request's own
 *     end          prefix_chain_release: shared blocks stay, evictable when nobody else uses them; the request's own ones
 *                  are free again: those of its KV blocks that are not among `n_shared` * H / B
 *
 * A chain can be acquired again after its release: by a preempted request, or at another replica. */
#ifndef ORRERY_WORLD_KV_PREFIX_CACHE_H
#define ORRERY_WORLD_KV_PREFIX_CACHE_H

#include "sim/core/mem.h"
#include "sim/world/kv/cache.h"

#include <stdbool.h>
#include <stdint.h>

/* --- A request's blocks --- */

enum { PREFIX_POOL_SIZES = 28 };

/* Memory of chains, by powers of two of their length. */
struct prefix_pool {
    struct pool pools[PREFIX_POOL_SIZES];
};

/* The prefix blocks of one request, for its life; of fixed length. */
struct prefix_chain {
    struct prefix_pool *pool;
    struct cache *cache; /* whose items it holds; NULL: none */
    int32_t n;
    int32_t n_published; /* leading blocks that have been acquired or computed */
    int32_t n_shared;    /* of these, held in the cache */
    bool is_own;         /* of one request's whole context, shared with none: it finds again what a preemption took */
    int32_t *items;      /* [n]: of the cache; CACHE_NO_ITEM: the request's own block, or not there yet */
    uint64_t keys[];     /* [n] */
};

void prefix_pool_init(struct prefix_pool *pool);
void prefix_pool_fini(struct prefix_pool *pool);

/* A copy of the keys. NULL when out of memory. */
struct prefix_chain *prefix_chain_make(struct prefix_pool *pool, const uint64_t *keys, int32_t n);

/* `n` blocks that nobody else has: `number` differs from that of all other own chains. NULL when out of memory. */
struct prefix_chain *prefix_chain_make_own(struct prefix_pool *pool, uint64_t number, int32_t n);
void prefix_chain_free(struct prefix_chain *chain); /* released before; NULL is allowed */

/* Blocks of a prompt that others can use, and that it can use of others; `block_tokens` is the length of a prefix
 * block. */
static inline int32_t prefix_blocks_full(int32_t prompt_tokens, int32_t block_tokens, int32_t n_keys)
{
    int32_t n = block_tokens > 0 ? prompt_tokens / block_tokens : 0;
    return n < n_keys ? n : n_keys;
}

static inline int32_t prefix_blocks_usable(int32_t prompt_tokens, int32_t block_tokens, int32_t n_keys)
{
    return prefix_blocks_full(prompt_tokens - 1, block_tokens, n_keys);
}

/* --- The cache --- */

/* Leading keys that are cached. Nobody is told: for routers and admission. */
int32_t prefix_cache_match(const struct cache *cache, const uint64_t *keys, int32_t n);

/* Holds the leading blocks that are cached, `limit` at most: an access to each, in their order. The chain must hold
 * nothing. Returns how many, or an error (cache.h). */
int32_t prefix_chain_acquire(struct prefix_chain *chain, struct cache *cache, int32_t limit);

/* The chain's leading `n` blocks have been computed: those that are not yet, become cached, and are held. One that
 * another request has published meanwhile, or for which there is no room, stays the request's own. Returns how many
 * more are held now, or an error. */
int32_t prefix_chain_publish(struct prefix_chain *chain, struct cache *cache, int32_t n);

/* Lets go of all blocks, the last first, so that among equals the end of a prefix goes before its beginning (as in vLLM
 * v1). Returns 0 or an error. */
int prefix_chain_release(struct prefix_chain *chain);

/* A request that uses its blocks for no time at all: an access to each in their order, first to last, absent ones
 * inserted; `n_found` are those that were there, also behind a gap. Returns the length of the unbroken prefix that was
 * there, or an error. */
int32_t prefix_cache_pass(struct cache *cache, const uint64_t *keys, int32_t n, int32_t *n_found);

#endif
