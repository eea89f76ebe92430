/* A cache of equal-sized items that are known by their keys: what prefix caches keep in GPU memory, and what a tier
 * below them keeps in host memory. It counts who uses an item, and asks its evictor which one makes room.
 *
 * Items lie in arrays that grow with the cache: 16 bytes each and the evictor's own, and some 20 to 45 in the index.
 * Every operation is O(1), but for what the evictor does. Errors are SIM_E_NOMEM or SIM_E_POLICY, with a finding in the
 * diag of the options; after one the cache may only be destroyed. */
#ifndef ORRERY_WORLD_KV_CACHE_H
#define ORRERY_WORLD_KV_CACHE_H

#include "sim/core/err.h"
#include "sim/core/key_map.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct cache_options {
    const struct policy *evictor; /* of the family POLICY_EVICTION */
    const void *params;           /* the evictor's; must outlive the cache */
    int64_t capacity;             /* items, >= 1; INT64_MAX: no limit */
    uint64_t seed;                /* of the random streams, with run and index: one index per cache of a run */
    uint32_t run;
    uint64_t index;
    const struct cache_future *future; /* for evictors that declare ORACLE_FUTURE; else it may be NULL */
    /* Called when an item was evicted to make room, so that it can go to a tier below; may be NULL. Returns 0 or a
     * negative code. It must not call back into this cache. */
    int (*evicted)(void *context, uint64_t key);
    void *context;
    struct diag *diag; /* must outlive the cache */
};

struct cache_item {
    uint64_t key;
    int32_t holders; /* -1: nothing is cached here */
    int32_t next_free;
};

struct cache {
    struct cache_options options;
    const struct evictor *evictor;
    void *state; /* the evictor's */
    struct cache_view view;
    struct key_map index; /* key -> item */
    struct cache_item *items;
    char *slots;
    int64_t *last_accesses; /* of each item; only with a future */
    int32_t n_items, n_places, first_free; /* places ever used, places allocated, unused ones among the former */
    int64_t n_evictions;
    bool asked_future; /* without having declared it */
};

/* Returns 0, SIM_E_NOMEM, SIM_E_POLICY (wrong ABI), SIM_E_CONFIG (an evictor that knows the future where there is
 * none), or what the evictor's init returned. cache_fini may be called in either case. */
int cache_init(struct cache *cache, const struct cache_options *options);
void cache_fini(struct cache *cache);

/* The item of this key, or CACHE_NO_ITEM. Nobody is told. */
int32_t cache_find(const struct cache *cache, uint64_t key);

/* An access that found the item. Returns 0 or an error. */
int cache_hit(struct cache *cache, int32_t item);

/* An access that missed the key, which must not be cached: makes room if need be, and caches it. Returns 1 with the
 * item; 0 with CACHE_NO_ITEM when all items are in use (it counts as an access all the same); or an error. */
int cache_insert(struct cache *cache, uint64_t key, int32_t *item);

/* One more, or one less, uses the item. Return 0 or an error. */
int cache_acquire(struct cache *cache, int32_t item);
int cache_release(struct cache *cache, int32_t item);

/* Evicts one item that nobody uses. Returns 1, 0 when there is none, or an error. */
int cache_evict(struct cache *cache);

/* Drops an item that nobody uses, without asking the evictor and without a call of `evicted`. Returns 0 or an error. */
int cache_drop(struct cache *cache, int32_t item);

/* Items that could be evicted now. */
static inline int64_t cache_evictable(const struct cache *cache)
{
    return cache->view.size - cache->view.held;
}

#endif
