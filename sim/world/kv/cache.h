/* A cache of equal-sized items with keys: the prefix cache in GPU memory, or the tier below it in host memory. It
 * counts the users of an item and asks its evictor which item makes room.
 *
 * Items lie in an array whose places double as the cache grows: 16 bytes each, and behind them the evictor's own. So
 * the item and its slot are one place of memory; evictors also read those of other items. The index takes 16 to 32
 * bytes per item of the largest number so far. While it grows, its old memory stays beside the new; that of the array
 * may. Every operation is O(1), on average where the cache grows, apart from the evictor's work. Errors are SIM_E_NOMEM
 * or SIM_E_POLICY, with a finding in the diag of the options; after an error the cache may only be destroyed. */
#ifndef ORRERY_WORLD_KV_CACHE_H
#define ORRERY_WORLD_KV_CACHE_H

#include "sim/core/err.h"
#include "sim/world/policy/eviction.h"

#include <stdbool.h>
#include <stdint.h>

struct cache_options {
    const struct policy *evictor; /* of the family POLICY_EVICTION */
    const void *params;           /* the evictor's; must outlive the cache */
    int64_t capacity;             /* items, at least 1; INT64_MAX: unlimited */
    uint64_t seed;                /* of the random streams, with run and index: one index per cache of a run */
    uint32_t run;
    uint64_t index;
    const struct cache_future *future; /* for evictors that declare ORACLE_FUTURE; otherwise it may be NULL */
    /* Called when an item was evicted to make room, so that it can move to a lower tier; may be NULL. Returns 0 or a
     * negative code. It must not call into this cache. */
    int (*evicted)(void *context, uint64_t key);
    int (*inserted)(void *context, uint64_t key); /* the same for an item that was inserted */
    void *context;
    struct diag *diag; /* must outlive the cache */
};

struct cache_item {
    uint64_t key;
    int32_t holders; /* -1: the place is empty */
    int32_t next_free; /* of a cached item: its mark */
};

/* Which item has a key: open addressing. A place holds 32 bits of the key's hash, so that a search reads hardly any
 * item but the one that it finds. */
struct cache_index {
    struct cache_place {
        uint32_t hash;
        int32_t item_1; /* item plus 1; 0: an empty place */
    } * places;
    size_t n, n_places; /* n_places: 0 or a power of two */
    int shift;          /* of a hash, to the place where the search begins */
};

struct cache {
    struct cache_options options;
    const struct evictor *evictor;
    void *state; /* the evictor's */
    struct cache_view view;
    struct cache_index index;
    char *items; /* `view.slot_bytes` each: a struct cache_item, and the evictor's slot */
    int64_t *last_accesses; /* of each item; only with a future */
    int32_t n_items, n_places, first_free; /* places ever used, places allocated, head of the free list */
    int64_t n_evictions;
    uint64_t n_changes; /* of the set of keys */
    bool asked_future; /* the evictor read the future without declaring the oracle */
};

/* Returns 0, SIM_E_NOMEM, SIM_E_POLICY (wrong ABI), SIM_E_CONFIG (an evictor that needs the future without one), or the
 * result of the evictor's init. cache_fini may be called in every case. */
int cache_init(struct cache *cache, const struct cache_options *options);
void cache_fini(struct cache *cache);

static inline struct cache_item *cache_item_at(const struct cache *cache, int32_t item)
{
    return (struct cache_item *)(void *)(cache->items + (size_t)item * cache->view.slot_bytes);
}

/* The item of this key, or CACHE_NO_ITEM. Does not count as an access. */
int32_t cache_find(const struct cache *cache, uint64_t key);

/* A search for the key follows soon: memory that it reads is fetched meanwhile. */
void cache_prefetch(const struct cache *cache, uint64_t key);

/* Counts an access that found the item. Returns 0 or an error. */
int cache_hit(struct cache *cache, int32_t item);

/* Counts an access that missed `key`, which must not be cached: makes room if necessary and caches it. Returns 1 with
 * the item; 0 with CACHE_NO_ITEM if all items are in use; or an error. */
int cache_insert(struct cache *cache, uint64_t key, int32_t *item);

/* cache_insert, then cache_acquire of the item. */
int cache_insert_held(struct cache *cache, uint64_t key, int32_t *item);

/* Adds or removes a user of the item. Return 0 or an error. */
int cache_acquire(struct cache *cache, int32_t item);
int cache_release(struct cache *cache, int32_t item);

/* Evicts one unused item. Returns 1, 0 if there is none, or an error. */
int cache_evict(struct cache *cache);

/* Drops an unused item without asking the evictor or calling `evicted`. Returns 0 or an error. */
int cache_drop(struct cache *cache, int32_t item);

/* A mark of the owner's on a cached item; new items have none. */
static inline void cache_set_mark(struct cache *cache, int32_t item, bool is_marked)
{
    cache_item_at(cache, item)->next_free = is_marked;
}

static inline bool cache_is_marked(const struct cache *cache, int32_t item)
{
    return cache_item_at(cache, item)->next_free != 0;
}

/* Unused items. */
static inline int64_t cache_evictable(const struct cache *cache)
{
    return cache->view.size - cache->view.held;
}

#endif
