/* Eviction: which item of a full cache makes room. The view of a cache and the struct of an evictor. */
#ifndef ORRERY_WORLD_POLICY_EVICTION_H
#define ORRERY_WORLD_POLICY_EVICTION_H

#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache;
struct rng;

enum { CACHE_NO_ITEM = -1 };

/* What an evictor sees. An item is a number >= 0 that stays its own while it is cached; small ones are given out first. */
struct cache_view {
    int64_t capacity; /* items that have room; INT64_MAX: no limit */
    int64_t size;     /* items that are cached */
    int64_t held;     /* of these, in use: they cannot be evicted */
    int64_t access;   /* number of the latest access (insertion or hit), from 0; -1 before the first */
    struct cache *cache; /* for cache_view_* below */
};

/* What the item holds: equal keys are equal contents, also after an eviction. */
uint64_t cache_view_key(const struct cache_view *view, int32_t item);

/* Whether the item is in use. */
bool cache_view_held(const struct cache_view *view, int32_t item);

/* The evictor's own bytes for this item (struct evictor, item_bytes), zeroed when it is inserted. Valid until the call
 * returns. */
void *cache_view_slot(const struct cache_view *view, int32_t item);

/* Starts the random stream of this cache and this name, at its first number: the evictor keeps it in its state. */
void cache_view_stream(const struct cache_view *view, const char *name, struct rng *rng);

/* All accesses to a cache, past ones too. */
struct cache_future {
    int64_t n;
    const int64_t *next_uses; /* [n]: number of the next access to the same key; INT64_MAX: never again */
};

/* Oracle (ORACLE_FUTURE): the number of the access, later than view->access, that asks for the item next; INT64_MAX: never
 * again. Asking without having declared it is a policy fault. */
int64_t cache_view_next_use(const struct cache_view *view, int32_t item);

/* Oracle (ORACLE_FUTURE): the whole of it; NULL, and a policy fault, without having declared it. */
const struct cache_future *cache_view_future(const struct cache_view *view);

/* --- The family --- */

enum cache_event {
    CACHE_INSERT,  /* a new item: the latest access missed it. Nobody holds it yet */
    CACHE_HIT,     /* the latest access found it; it may be held or not */
    CACHE_ACQUIRE, /* nobody held it, now somebody does: it cannot be evicted */
    CACHE_RELEASE, /* nobody holds it any more: it can be evicted */
    CACHE_FORGET   /* it leaves the cache, as a victim or otherwise; its slot is cleared afterwards */
};

/* notify: keeps the evictor's own index up to date.
 *
 * victim: names an item that nobody holds, and is asked only when there is one: CACHE_FORGET of this item follows.
 *
 * Both return a negative code when they fail; an item that is not cached, or that somebody holds, is a policy fault. */
#define EVICTOR_FUNCTIONS(X)                                                                                           \
    X(evictor, REQUIRED, int, notify,                                                                                  \
      (void *state, const struct cache_view *view, int32_t item, enum cache_event event), (state, view, item, event),   \
      view, POLICY_NONE)                                                                                              \
    X(evictor, REQUIRED, int32_t, victim, (void *state, const struct cache_view *view), (state, view), view, POLICY_NONE)

struct evictor {
    struct policy policy;
    size_t item_bytes; /* of the evictor's own state per item (cache_view_slot) */
    EVICTOR_FUNCTIONS(POLICY_MEMBER)
};

#endif
