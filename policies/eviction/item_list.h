/* Items of a cache in a row, for evictors: every operation is O(1) and allocates nothing. An item is in one list at
 * most; its links are the first member of its slot (cache_view_slot). */
#ifndef ORRERY_POLICIES_EVICTION_ITEM_LIST_H
#define ORRERY_POLICIES_EVICTION_ITEM_LIST_H

#include "sim/world/policy/eviction.h"

#include <stdint.h>

struct item_link {
    int32_t after, before; /* neighbours plus 1; 0: none */
};

/* Zeroed, it is the empty list. */
struct item_list {
    int32_t front, back; /* items plus 1; 0: none */
    int64_t n;
};

/* The item at the front, or CACHE_NO_ITEM. */
int32_t item_list_front(const struct item_list *list);

void item_list_add(struct item_list *list, const struct cache_view *view, int32_t item); /* at the back */
void item_list_remove(struct item_list *list, const struct cache_view *view, int32_t item);

#endif
