/* Prefixes that a replica's requests share (prefix_cache.h): the accounting of their KV blocks.
 *
 * Unused cached blocks count as free in replica.kv, so there are always free blocks for all of them. When other blocks
 * are taken so that this would fail, the evictor chooses victims. The evictor gets no other calls in between, so its
 * choice does not depend on how many steps are taken at once.
 *
 * When a block can be hit depends on the engine (batcher.caches_scheduled). Mostly it is cached once it has been
 * computed, at the end of its iteration. vLLM V1 caches it when it is scheduled: requests behind it in the same plan
 * share it, and their attention reads what this very iteration writes. Its requests then take prefixes in two steps.
 * Before blocks are taken each holds what is cached, and expects what earlier prefills of the plan compute. When its
 * turn to take blocks comes, these have been cached, and it holds them too. The prefix store gets such blocks once they
 * have been computed; till then they are marked. */
#include "sim/core/check.h"
#include "sim/world/policy/routing.h"
#include "sim/world/replica/inside.h"
#include "sim/world/replica/replica_chunks.h"

#include <stddef.h>

static bool shares_prefix(const struct replica *replica, const struct request *request)
{
    return replica->prefixes.block_tokens > 0 && request->prefix != NULL;
}

static bool holds_prefix(const struct replica *replica, const struct request *request)
{
    return request->prefix != NULL && request->prefix->cache == &replica->prefixes.cache;
}

/* --- Lifetime --- */

int replica_share_prefixes(struct replica *replica, const struct cache_options *options, int32_t block_tokens)
{
    struct replica_prefixes *prefixes = &replica->prefixes;
    struct cache_options own = *options;
    int64_t item_blocks = block_tokens / replica->kv.block_tokens;
    replica_watch_prefixes(replica, &own);
    own.index = (uint64_t)replica->index;
    own.capacity = replica->kv.total_blocks / item_blocks;
    if (own.capacity == 0) return 0;
    int code = cache_init(&prefixes->cache, &own);
    if (code != 0) {
        cache_fini(&prefixes->cache);
        return code;
    }
    prefixes->block_tokens = block_tokens;
    prefixes->item_blocks = item_blocks;
    if (replica->placement.n_gpus > 0) replica_open_store(replica, engine_now(replica->env->engine));
    return 0;
}

void replica_prefixes_fini(struct replica *replica)
{
    if (replica->prefixes.block_tokens > 0) cache_fini(&replica->prefixes.cache);
}

int replica_forget_prefixes(struct replica *replica, const struct cache_options *options)
{
    const int32_t block_tokens = replica->prefixes.block_tokens;
    const int64_t evicted = replica->prefixes.cache.n_evictions + replica->prefixes.cache.view.size;
    const uint64_t changes = replica->prefixes.cache.n_changes + 1; /* what chains remember of it is void */
    if (block_tokens == 0) return 0;
    replica_prefixes_fini(replica);
    replica->prefixes = (struct replica_prefixes){0};
    const int code = replica_share_prefixes(replica, options, block_tokens);
    replica->prefixes.cache.n_evictions = evicted;
    replica->prefixes.cache.n_changes = changes;
    return code;
}

/* --- Blocks --- */

static void fail(const struct replica *replica, int code)
{
    if (code < 0) engine_fail(replica->env->engine, code);
}

void replica_evict_prefixes(struct replica *replica)
{
    const struct replica_prefixes *prefixes = &replica->prefixes;
    int code = 0;
    while (code >= 0 && cache_evictable(&prefixes->cache) * prefixes->item_blocks > replica->kv.free_blocks)
        code = cache_evict(&replica->prefixes.cache);
    fail(replica, code);
    if (replica->store != NULL) replica_write_prefixes(replica);
}

/* Full blocks that others can use, of the first `tokens` tokens. The last key of a prompt may be that of a partial
 * block. */
static int32_t full_blocks(const struct replica *replica, const struct request *request, int32_t tokens)
{
    if (tokens > request->prompt_tokens && !request->prefix->covers_output) tokens = request->prompt_tokens;
    return prefix_blocks_full(tokens, replica->prefixes.block_tokens, request->prefix->n);
}

/* Blocks of others that the request can use: at least one token is always processed. */
static int32_t usable_blocks(const struct replica *replica, const struct request *request)
{
    return full_blocks(replica, request, request->view.prompt_tokens - 1);
}

/* Of the leading `usable` blocks those that are cached. */
static int32_t match(const struct replica *replica, const struct request *request, int32_t usable)
{
    if (request->prefix->cache != NULL)
        return prefix_cache_match(&replica->prefixes.cache, request->prefix->keys, usable);
    return prefix_chain_match(request->prefix, &replica->prefixes.cache, usable);
}

/* The index of what is planned is a memo: asking a replica fills it. */
static struct planned_blocks *memo_of(const struct replica *replica)
{
    return (struct planned_blocks *)(uintptr_t)&replica->planned;
}

/* First block of a prefill that those behind it might find here only. With a store a request that waits may load what
 * lies behind its hits; otherwise all that it does not compute is cached, or is an earlier prefill's. */
static int32_t first_planned(const struct replica *replica, const struct batch_prefill *prefill)
{
    const struct request *request = request_of(prefill->request);
    const int64_t done = (prefill->hold_tokens - prefill->tokens) / replica->prefixes.block_tokens;
    int32_t first = request->prefix->n_published;
    if (replica->store != NULL && request->prefix->cache == NULL)
        first = match(replica, request, usable_blocks(replica, request));
    if (replica->store == NULL && done > first) first = done < INT32_MAX ? (int32_t)done : INT32_MAX;
    return first;
}

/* Follows the plan: enters the blocks of its prefills so far. */
static const struct planned_blocks *follow_plan(const struct replica *replica)
{
    struct planned_blocks *blocks = memo_of(replica);
    const struct batch_plan *plan = &replica->plan;
    const int32_t n_planned = plan->n_prefills < plan->capacity ? plan->n_prefills : plan->capacity;
    const int32_t n_seen = replica->plan_seen < n_planned ? replica->plan_seen : n_planned;
    for (; blocks->n_prefills < n_seen; blocks->n_prefills++) {
        const struct batch_prefill *prefill = &plan->prefills[blocks->n_prefills];
        const struct prefix_chain *chain = prefill->request == NULL ? NULL : request_of(prefill->request)->prefix;
        if (chain == NULL) continue;
        const int32_t full = full_blocks(replica, request_of(prefill->request), (int32_t)prefill->hold_tokens);
        for (int32_t i = first_planned(replica, prefill); i < full; i++)
            fail(replica, planned_blocks_add(blocks, chain->keys[i]));
    }
    return blocks;
}

/* Of the usable blocks from number `from` on, those that one earlier prefill of the plan computes in full and caches.
 * Equal keys at `from` mean equal blocks before it, as for prefix_cache_match. That is what keys are
 * (prefix_cache.h). No reader of traces checks it: equal keys of a file count as equal blocks. */
static int32_t scheduled_blocks(const struct replica *replica, const struct request *request, int32_t from,
                                int32_t usable)
{
    const uint64_t *keys = request->prefix->keys;
    if (from >= usable) return 0;
    const int32_t at = planned_blocks_find(follow_plan(replica), keys[from]);
    if (at < 0) return 0;
    const struct batch_prefill *prefill = &replica->plan.prefills[at];
    const struct request *other = request_of(prefill->request);
    const int32_t full = full_blocks(replica, other, (int32_t)prefill->hold_tokens);
    int32_t n = from;
    while (other != request && n < usable && n < full && other->prefix->keys[n] == keys[n]) n++;
    return n - from;
}

/* Usable leading blocks, the first `hits` of which are cached, that are cached or will be when the request's turn to
 * take blocks comes. A request that first loads alone finds only what is cached. */
static int32_t shared_blocks(const struct replica *replica, const struct request *request, int32_t hits, int32_t usable)
{
    if (replica->plan_seen == 0) return hits;
    if (replica_loads_alone(replica) && replica_loadable_blocks(replica, request, hits, usable) > 0) return hits;
    int32_t n = hits, more;
    while ((more = scheduled_blocks(replica, request, n, usable)) > 0) {
        n += more;
        n += prefix_cache_match(&replica->prefixes.cache, request->prefix->keys + n, usable - n);
    }
    return n;
}

int32_t replica_matched_blocks(const struct replica *replica, const struct request *request, int32_t *usable)
{
    *usable = usable_blocks(replica, request);
    return prefix_cache_match(&replica->prefixes.cache, request->prefix->keys, *usable);
}

int64_t replica_cached_tokens(const struct replica *replica, const struct request *request)
{
    if (replica->chunks != NULL) return replica_reusable_tokens(replica, request);
    if (!shares_prefix(replica, request)) return 0;
    const int32_t n = prefix_cache_match(&replica->prefixes.cache, request->prefix->keys,
                                         usable_blocks(replica, request));
    return (int64_t)n * replica->prefixes.block_tokens;
}

int64_t replica_stored_tokens(const struct replica *replica, const struct request *request)
{
    int32_t usable;
    if (replica->store == NULL || !shares_prefix(replica, request)) return 0;
    const int32_t hits = replica_matched_blocks(replica, request, &usable);
    return (int64_t)replica_loadable_blocks(replica, request, hits, usable) * replica->prefixes.block_tokens;
}

/* Gives a request the cached part of its prompt, and begins to load the stored one if it is to. */
static int acquire(struct replica *replica, struct request *request, bool is_to_load)
{
    struct replica_prefixes *prefixes = &replica->prefixes;
    int64_t held = prefixes->cache.view.held;
    const int32_t usable = usable_blocks(replica, request);
    int32_t n_held = prefix_chain_acquire(request->prefix, &prefixes->cache, usable);
    if (n_held < 0) return n_held;
    const int32_t n = shared_blocks(replica, request, n_held, usable);
    if (n > n_held) n_held = prefix_chain_expect(request->prefix, n);
    if (n_held < 0) return n_held;
    kvcache_take(&replica->kv, (prefixes->cache.view.held - held) * prefixes->item_blocks);
    int32_t tokens = n * prefixes->block_tokens;
    prefixes->shares += n_held;
    request->held_blocks = n * prefixes->item_blocks;
    request->view.prefilled_tokens = tokens;
    if (request->scheduled_ns == TIME_UNSET) request->cached_tokens = tokens;
    replica_add_load(replica, 0, 0, -tokens);
    replica->counts.cached_tokens += tokens;
    const int32_t n_loads = is_to_load ? replica_loadable_blocks(replica, request, n, usable) : 0;
    request->loading_tokens = n_loads * prefixes->block_tokens;
    if (request->scheduled_ns == TIME_UNSET) request->loaded_tokens = request->loading_tokens;
    if (n_loads == 0) return 0;
    request->view.prefilled_tokens += request->loading_tokens;
    replica_add_load(replica, 0, 0, -(int64_t)request->loading_tokens);
    return replica_load_blocks(replica, request, n, n_loads);
}

int replica_acquire_prefix(struct replica *replica, struct request *request)
{
    if (!shares_prefix(replica, request) || request->is_parked) return 0;
    return acquire(replica, request, !replica_loads_alone(replica));
}

int replica_take_expected(struct replica *replica, struct request *request)
{
    const struct prefix_chain *chain = request->prefix;
    if (!holds_prefix(replica, request) || chain->n_shared == chain->n_published) return 0;
    const int32_t before = chain->n_shared, n = prefix_chain_expect(request->prefix, chain->n_published);
    if (n < 0) return n;
    /* All are there. Those that were cached have been held since. An earlier prefill has published and holds the rest:
     * cache_insert had room. An item stands for item_blocks of KV, and the cache's capacity is all KV in items. If all
     * items were in use, the publishing request would have no blocks of its own for one more. */
    SIM_REQUIRE(n == chain->n_published);
    replica->prefixes.shares += n - before;
    return 0;
}

int replica_begin_load(struct replica *replica, struct request *request, sim_ns now)
{
    const struct replica_env *env = replica->env;
    request->view.state = REQUEST_LOADING;
    int code = acquire(replica, request, true);
    SIM_REQUIRE(code != 0 || request->loads != NULL);
    request->is_parked = true;
    replica->n_parked++;
    replica->parked_tokens += request->view.prefilled_tokens;
    if (code == 0) code = replica_report_queue(replica, &request->view, now, ADMISSION_LOADS);
    return code == 0 && env->on_move != NULL ? env->on_move(replica, request, now, "load") : code;
}

void replica_take_load_blocks(struct replica *replica, struct request *request)
{
    const int64_t needed = replica_view_needed_blocks(&replica->view, &request->view, request->view.prompt_tokens);
    replica_take_blocks(replica, needed);
    request->held_blocks += needed;
}

/* Caches the request's full blocks of its first `tokens` tokens. */
static int publish(struct replica *replica, struct request *request, int32_t tokens)
{
    struct replica_prefixes *prefixes = &replica->prefixes;
    const int32_t n = prefix_chain_publish(request->prefix, &prefixes->cache, full_blocks(replica, request, tokens));
    if (n < 0) return n;
    prefixes->shares += n;
    return 0;
}

/* Blocks that were cached when they were scheduled have been computed: the store gets them. */
static int write_computed(struct replica *replica, const struct prefix_chain *chain)
{
    struct cache *cache = &replica->prefixes.cache;
    int code = 0;
    for (int32_t i = 0; i < chain->n_published && code == 0; i++) {
        const int32_t item = chain->items[i];
        if (item == CACHE_NO_ITEM || !cache_is_marked(cache, item)) continue;
        cache_set_mark(cache, item, false);
        code = prefix_store_published(replica->store, chain->keys[i]);
    }
    return code;
}

int replica_publish_prefix(struct replica *replica, struct request *request)
{
    if (!holds_prefix(replica, request)) return 0;
    const int code = publish(replica, request, request->view.prefilled_tokens);
    if (code != 0 || replica->store == NULL || !replica->env->batcher->caches_scheduled) return code;
    return write_computed(replica, request->prefix);
}

int replica_publish_scheduled(struct replica *replica, struct request *request, int32_t tokens)
{
    const struct prefix_chain *chain = request->prefix;
    if (!replica->env->batcher->caches_scheduled || !holds_prefix(replica, request)) return 0;
    const int32_t before = chain->n_published;
    replica->prefixes.is_scheduling = true;
    const int code = publish(replica, request, request->view.prefilled_tokens + tokens);
    replica->prefixes.is_scheduling = false;
    for (int32_t i = before; i < chain->n_published && replica->store != NULL; i++)
        if (chain->items[i] != CACHE_NO_ITEM) cache_set_mark(&replica->prefixes.cache, chain->items[i], true);
    return code;
}

/* Caches the request's full blocks of the tokens processed so far, output included. Blocks that other sequences of the
 * request hold are not cached. */
static int keep_processed(struct replica *replica, struct request *request, int32_t processed_tokens)
{
    struct replica_prefixes *prefixes = &replica->prefixes;
    if (replica_group_blocks(request) > 0) return 0;
    int32_t n = holds_prefix(replica, request) ? 0 : prefix_chain_acquire(request->prefix, &prefixes->cache, 0);
    if (n == 0)
        n = prefix_chain_publish(request->prefix, &prefixes->cache, full_blocks(replica, request, processed_tokens));
    if (n < 0) return n;
    prefixes->shares += n;
    return 0;
}

int replica_keep_own_prefix(struct replica *replica, struct request *request, int32_t processed_tokens)
{
    const struct replica_env *env = replica->env;
    int code = request->prefix == NULL && env->own_prefix != NULL ? env->own_prefix(replica, request) : 0;
    if (code != 0 || !shares_prefix(replica, request) || !request->prefix->covers_output) return code;
    return keep_processed(replica, request, processed_tokens);
}

int replica_keep_output(struct replica *replica, struct request *request)
{
    const struct prefix_chain *chain = request->prefix;
    if (chain == NULL || !chain->covers_output || chain->is_own || !shares_prefix(replica, request)) return 0;
    return keep_processed(replica, request, request->context_tokens - 1);
}

int replica_fork_prefix(struct replica *replica, const struct request *request, struct request *sibling)
{
    const struct prefix_chain *chain = request->prefix;
    if (chain == NULL) return 0;
    int32_t n = prefix_blocks_full(request->prompt_tokens, replica->prefixes.block_tokens, chain->n);
    if (n < chain->n_published) n = chain->n_published;
    const int code = prefix_chain_fork(chain, n, &sibling->prefix);
    if (code == 0 && holds_prefix(replica, sibling)) replica->prefixes.shares += sibling->prefix->n_shared;
    return code;
}

int64_t replica_prefix_blocks(const struct replica *replica, const struct request *request)
{
    return holds_prefix(replica, request) ? request->prefix->n_shared * replica->prefixes.item_blocks : 0;
}

int64_t replica_release_prefix(struct replica *replica, struct request *request)
{
    struct replica_prefixes *prefixes = &replica->prefixes;
    if (!holds_prefix(replica, request)) return 0;
    int64_t n = request->prefix->n_shared, held = prefixes->cache.view.held;
    fail(replica, prefix_chain_release(request->prefix));
    prefixes->shares -= n;
    kvcache_give(&replica->kv, (held - prefixes->cache.view.held) * prefixes->item_blocks);
    return n * prefixes->item_blocks;
}

/* --- The batcher's view --- */

static const struct replica *replica_of(const struct replica_view *view)
{
    return (const struct replica *)((uintptr_t)view - offsetof(struct replica, view));
}

/* Whether the request waits and would get a cached prefix on its admission. */
static bool may_hit(const struct replica *replica, const struct request *request)
{
    return request->view.state == REQUEST_WAITING && shares_prefix(replica, request) && !holds_prefix(replica, request);
}

int64_t replica_view_cached_tokens(const struct replica_view *view, const struct request_view *request)
{
    const struct replica *replica = replica_of(view);
    if (replica->chunks != NULL)
        return request->state == REQUEST_WAITING ? replica_reusable_tokens(replica, request_of(request)) : 0;
    const struct request *member = request_of(request);
    if (!may_hit(replica, member)) return 0;
    const int32_t usable = usable_blocks(replica, member);
    const int32_t hits = shared_blocks(replica, member, match(replica, member, usable), usable);
    const bool loads = replica->store != NULL && !replica_loads_alone(replica);
    const int32_t n_loads = loads ? replica_loadable_blocks(replica, member, hits, usable) : 0;
    return (int64_t)(hits + n_loads) * replica->prefixes.block_tokens;
}

int64_t replica_view_stored_tokens(const struct replica_view *view, const struct request_view *request)
{
    const struct replica *replica = replica_of(view);
    const struct request *member = request_of(request);
    if (!replica_loads_alone(replica) || !may_hit(replica, member)) return 0;
    const int32_t usable = usable_blocks(replica, member), hits = match(replica, member, usable);
    return (int64_t)replica_loadable_blocks(replica, member, hits, usable) * replica->prefixes.block_tokens;
}

/* KV blocks of the prefix that a waiting request would share with running ones. */
static int64_t blocks_in_use(const struct replica *replica, const struct request *request)
{
    const struct cache *cache = &replica->prefixes.cache;
    const int32_t usable = usable_blocks(replica, request), n = match(replica, request, usable);
    int64_t in_use = 0;
    for (int32_t i = n, n_shared = shared_blocks(replica, request, n, usable); i < n_shared; i++) {
        const int32_t item = cache_find(cache, request->prefix->keys[i]);
        in_use += item == CACHE_NO_ITEM || cache_item_at(cache, item)->holders > 0;
    }
    if (request->prefix->cache != NULL)
        for (int32_t i = 0; i < n; i++)
            in_use += cache_item_at(cache, cache_find(cache, request->prefix->keys[i]))->holders > 0;
    else
        for (int32_t i = 0; i < n; i++) in_use += cache_item_at(cache, request->prefix->items[i])->holders > 0;
    return in_use * replica->prefixes.item_blocks;
}

int64_t replica_view_needed_blocks(const struct replica_view *view, const struct request_view *request,
                                   int64_t hold_tokens)
{
    const struct replica *replica = replica_of(view);
    int64_t needed = blocks_for_tokens(view, hold_tokens) - replica_view_blocks(view, request);
    if (may_hit(replica, request_of(request))) needed -= blocks_in_use(replica, request_of(request));
    return (needed > 0 ? needed : 0) + replica_window_blocks(replica, request_of(request));
}

int64_t replica_view_freed_blocks(const struct replica_view *view, const struct request_view *request)
{
    const struct replica *replica = replica_of(view);
    const struct prefix_chain *chain = request_of(request)->prefix;
    int64_t blocks = replica_view_blocks(view, request) + request_of(request)->window_blocks -
                     replica_group_blocks(request_of(request));
    if (!holds_prefix(replica, request_of(request))) return blocks;
    for (int32_t i = 0; i < chain->n_published; i++)
        if (chain->items[i] != CACHE_NO_ITEM && cache_item_at(&replica->prefixes.cache, chain->items[i])->holders > 1)
            blocks -= replica->prefixes.item_blocks;
    return blocks;
}
