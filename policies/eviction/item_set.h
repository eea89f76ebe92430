/* Items of a cache from which one is drawn at random, for evictors: every operation is O(1). An item is in one set at
 * most; its place is the first member of its slot (cache_view_slot). */
#ifndef ORRERY_POLICIES_EVICTION_ITEM_SET_H
#define ORRERY_POLICIES_EVICTION_ITEM_SET_H

#include "sim/core/rng.h"
#include "sim/world/policy/eviction.h"

#include <stdint.h>

struct set_place {
    int32_t at; /* index in its set */
};

/* Zeroed, it is the empty set. */
struct item_set {
    int32_t *items;
    int32_t n, capacity;
};

void item_set_fini(struct item_set *set);
int item_set_add(struct item_set *set, const struct cache_view *view, int32_t item); /* 0 or SIM_E_NOMEM */
void item_set_remove(struct item_set *set, const struct cache_view *view, int32_t item);

/* One of its items, all equally likely; CACHE_NO_ITEM when it is empty. */
int32_t item_set_draw(const struct item_set *set, struct rng *rng);

#endif
