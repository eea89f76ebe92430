/* Items of a cache by rank, the lowest first, for evictors: a binary heap, O(log n) per change. The item's slot
 * (cache_view_slot) begins with its place in the heap. */
#ifndef ORRERY_POLICIES_EVICTION_ITEM_HEAP_H
#define ORRERY_POLICIES_EVICTION_ITEM_HEAP_H

#include "sim/world/policy/eviction.h"

#include <stdint.h>

struct item_rank {
    int64_t first, second; /* compared in this order, then the item's number */
};

struct heap_place {
    int32_t at_1; /* index plus 1; 0: not in the heap */
};

struct heap_item {
    struct item_rank rank;
    int32_t item;
};

/* Zeroed, it is the empty heap. */
struct item_heap {
    struct heap_item *entries;
    int32_t n, capacity;
};

void item_heap_fini(struct item_heap *heap);

/* Puts the item where its rank belongs, whether it is in the heap or not. Returns 0 or SIM_E_NOMEM. */
int item_heap_set(struct item_heap *heap, const struct cache_view *view, int32_t item, struct item_rank rank);

/* Takes the item out; one that is not in it may be. */
void item_heap_remove(struct item_heap *heap, const struct cache_view *view, int32_t item);

/* The item of the lowest rank, or CACHE_NO_ITEM. */
int32_t item_heap_first(const struct item_heap *heap);

#endif
