/* Prefix caching: KV blocks of prompts, kept under the hash of the prefix that they end, for requests that begin alike.
 *
 * A prompt is a sequence of prefix blocks of equal length (512 tokens in Mooncake's traces). The key of a block
 * identifies the whole prompt up to the block's end. The keys of a session's request go on over its output, which the
 * next prompt of the session repeats. A request can use the leading blocks up to the first one that is absent. The last
 * block is shared only when it is full. At least one token is always computed, because the first output token results
 * from it (as in vLLM v1). vLLM caches a block of the output when it is full, here it waits for the
 * request's end. Blocks in use are counted, not copied; the others stay until the evictor chooses them.
 *
 * This module owns no memory: a prefix block of H tokens takes H / B blocks of an engine whose KV blocks hold B tokens.
 * The owner of that memory takes and returns them:
 *
 *     admission    n = prefix_cache_match(...); the first n * H / B of the request's KV blocks are cached
 *                  prefix_chain_acquire: these can no longer be evicted
 *                  for the other blocks: take free ones; while there are too few, call cache_evict, each of
 *                  which returns H / B. So before acquiring, a replica has free + evictable * H / B blocks to give
 *     computed     prefix_chain_publish(chain, tokens processed so far): the request's own blocks become shared ones. A
 *                  block that another request has published before stays the request's own
 *     end          prefix_chain_release: shared blocks stay, evictable when unused; the request's own ones, those
 *                  not among `n_shared` * H / B, are free again
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

/* The prefix blocks of one request, for its life; the length is fixed. */
struct prefix_chain {
    struct prefix_pool *pool;
    struct cache *cache; /* whose items it holds; NULL: none */
    int32_t n;
    int32_t n_published; /* leading blocks that have been acquired or computed */
    int32_t n_shared;    /* of these, held in the cache */
    bool covers_output; /* the keys go on behind the prompt */
    bool is_own; /* of one request's whole context, not shared: lets it find its blocks again after a preemption */
    int32_t *items;      /* [n]: of the cache; CACHE_NO_ITEM: the request's own block, or not computed yet */
    /* The latest search, while it holds nothing: the leading `n_matched` items are those found in `matched`, and still
     * are while its keys are the same. */
    const struct cache *matched;
    uint64_t matched_change;
    int32_t n_matched, match_limit;
    uint64_t keys[];     /* [n] */
};

void prefix_pool_init(struct prefix_pool *pool);
void prefix_pool_fini(struct prefix_pool *pool);

/* A copy of the keys, of a prompt's blocks unless `covers_output` is set then. NULL when out of memory. */
struct prefix_chain *prefix_chain_make(struct prefix_pool *pool, const uint64_t *keys, int32_t n);

/* `n` blocks that no other request shares: `number` differs from that of all other own chains. NULL when out of
 * memory. */
struct prefix_chain *prefix_chain_make_own(struct prefix_pool *pool, uint64_t number, int32_t n);

/* A chain of the leading `n` keys of another one, at least those it has published, which holds the blocks that it
 * holds. Its keys do not go on behind the prompt. Returns 0, SIM_E_NOMEM, or an error (cache.h). */
int prefix_chain_fork(const struct prefix_chain *from, int32_t n, struct prefix_chain **made);
void prefix_chain_free(struct prefix_chain *chain); /* released before; NULL is allowed */

/* Full blocks of a prompt, which others can use. `block_tokens` is the length of a prefix block. */
static inline int32_t prefix_blocks_full(int32_t prompt_tokens, int32_t block_tokens, int32_t n_keys)
{
    int32_t n = block_tokens > 0 ? prompt_tokens / block_tokens : 0;
    return n < n_keys ? n : n_keys;
}

/* --- The cache --- */

/* Number of leading keys that are cached. Does not count as an access: for routers and admission. */
int32_t prefix_cache_match(const struct cache *cache, const uint64_t *keys, int32_t n);

/* The same for a chain that holds nothing, and writes the items found to chain->items. Remembers the result. */
int32_t prefix_chain_match(struct prefix_chain *chain, const struct cache *cache, int32_t limit);

/* Acquires the leading cached blocks, at most `limit`: an access to each, in order. The chain must hold nothing.
 * Returns how many, or an error (cache.h). */
int32_t prefix_chain_acquire(struct prefix_chain *chain, struct cache *cache, int32_t limit);

/* Holds those of the leading `n` blocks that are cached: an access to each that it did not hold, in order. It expects
 * the rest, which other chains publish; the same call then holds these. It must have published none itself. Returns how
 * many blocks it holds, or an error. */
int32_t prefix_chain_expect(struct prefix_chain *chain, int32_t n);

/* The chain's leading `n` blocks are computed or scheduled: caches and holds the new ones. A block that another one has
 * published meanwhile, or that finds no room, stays the request's own. Returns how many more are held, or an error. */
int32_t prefix_chain_publish(struct prefix_chain *chain, struct cache *cache, int32_t n);

/* Releases all blocks, the last first, so that among equals the end of a prefix is evicted before its beginning (as in
 * vLLM v1). Returns 0 or an error. */
int prefix_chain_release(struct prefix_chain *chain);

/* Simulates a request that uses its blocks for no time: an access to each, first to last; absent blocks are inserted.
 * *n_found counts the blocks found, including those behind a gap. Returns the length of the unbroken prefix found, or
 * an error. */
int32_t prefix_cache_access(struct cache *cache, const uint64_t *keys, int32_t n, int32_t *n_found);

#endif
