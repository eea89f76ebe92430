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

/* A cache as its evictor sees it. An item is identified by a number >= 0 while it is cached; small numbers are given
 * out first. */
struct cache_view {
    int64_t capacity; /* in items; INT64_MAX: no limit */
    int64_t size;     /* cached items */
    int64_t held;     /* of these, in use: they cannot be evicted */
    int64_t access;   /* number of the latest access (insertion or hit), from 0; -1 before the first */
    struct cache *cache; /* for cache_view_* below */
    char *slots;         /* that of item 0; the others follow (cache_view_slot) */
    size_t slot_bytes;   /* from a slot to the next one: more than the slot's own, evictor.item_bytes */
};

/* The item's contents: equal keys mean equal contents, also after an eviction. */
uint64_t cache_view_key(const struct cache_view *view, int32_t item);

/* Whether the item is in use. */
bool cache_view_held(const struct cache_view *view, int32_t item);

/* The evictor's own state of the item (evictor.item_bytes), zeroed at insertion. Valid until the call returns. */
void *cache_view_slot(const struct cache_view *view, int32_t item);

/* Starts the random stream of this cache and name at its first number; the evictor keeps it in its state. */
void cache_view_stream(const struct cache_view *view, const char *name, struct rng *rng);

/* All accesses to a cache, past and future. */
struct cache_future {
    int64_t n;
    const int64_t *next_uses; /* [n]: number of the next access to the same key; INT64_MAX: never again */
};

/* Oracle (ORACLE_FUTURE): number of the next access to the item after view->access; INT64_MAX: never again. A call
 * without the declared oracle is a policy fault. */
int64_t cache_view_next_use(const struct cache_view *view, int32_t item);

/* Oracle (ORACLE_FUTURE): all accesses. Without the declared oracle NULL, and a policy fault. */
const struct cache_future *cache_view_future(const struct cache_view *view);

/* --- The family --- */

enum cache_event {
    CACHE_INSERT,  /* a new item, which the latest access missed; not held yet */
    CACHE_HIT,     /* the latest access found the item, held or not */
    CACHE_ACQUIRE, /* the item is held from now on: it cannot be evicted */
    CACHE_RELEASE, /* the item is no longer held: it can be evicted */
    CACHE_FORGET   /* the item leaves the cache, as a victim or otherwise; its slot is cleared afterwards */
};

/* notify: keeps the evictor's own index up to date.
 *
 * victim: returns an item that is not held; called only when one exists. CACHE_FORGET of this item follows.
 *
 * Both return a negative code when they fail. A victim that is not cached, or that is held, is a policy fault. */
#define EVICTOR_FUNCTIONS(X)                                                                                           \
    X(evictor, REQUIRED, int, notify,                                                                                  \
      (void *state, const struct cache_view *view, int32_t item, enum cache_event event), (state, view, item, event),  \
      view, POLICY_NONE)                                                                                               \
    X(evictor, REQUIRED, int32_t, victim, (void *state, const struct cache_view *view), (state, view), view, POLICY_NONE)

struct evictor {
    struct policy policy;
    size_t item_bytes; /* of the evictor's own state per item (cache_view_slot), aligned to 8 bytes */
    EVICTOR_FUNCTIONS(POLICY_MEMBER)
    /* An item that is held does not matter to it: `notify` is told of no CACHE_HIT meanwhile, and neither of the
     * CACHE_INSERT of an item that is held at once nor of its CACHE_ACQUIRE. Its slot is zeroed then. */
    bool skips_held;
};

#endif
