/* Items of a cache, for evictors: in a row, in a set, and by rank. An item is in one of them at most; its place there
 * is the first member of its slot (cache_view_slot). Zeroed, each is empty. */
#ifndef ORRERY_POLICIES_EVICTION_ITEMS_H
#define ORRERY_POLICIES_EVICTION_ITEMS_H

#include "sim/core/rng.h"
#include "sim/world/policy/eviction.h"

#include <stdint.h>

/* As cache_view_slot, without a call. */
static inline void *item_slot(const struct cache_view *view, int32_t item)
{
    return view->slots + (size_t)item * view->slot_bytes;
}

/* --- In a row --- */

/* Every operation is O(1) and allocates nothing. */
struct item_link {
    int32_t after, before; /* neighbours plus 1; 0: none */
};

struct item_list {
    int32_t front, back; /* items plus 1; 0: none */
    int64_t n;
};

/* The item at the front, or CACHE_NO_ITEM. */
static inline int32_t item_list_front(const struct item_list *list)
{
    return list->front - 1;
}

/* Of an item plus 1. */
static inline struct item_link *item_link_of(const struct cache_view *view, int32_t item_1)
{
    return item_slot(view, item_1 - 1);
}

/* At the back. */
static inline void item_list_add(struct item_list *list, const struct cache_view *view, int32_t item)
{
    struct item_link *link = item_slot(view, item);
    *link = (struct item_link){.before = list->back};
    *(list->back != 0 ? &item_link_of(view, list->back)->after : &list->front) = item + 1;
    list->back = item + 1;
    list->n++;
}

static inline void item_list_remove(struct item_list *list, const struct cache_view *view, int32_t item)
{
    const struct item_link *link = item_slot(view, item);
    *(link->before != 0 ? &item_link_of(view, link->before)->after : &list->front) = link->after;
    *(link->after != 0 ? &item_link_of(view, link->after)->before : &list->back) = link->before;
    list->n--;
}

/* --- In a set --- */

/* One item is drawn at random. Every operation is O(1). */
struct set_place {
    int32_t at; /* index in its set */
};

struct item_set {
    int32_t *items;
    int32_t n, capacity;
};

void item_set_fini(struct item_set *set);
int item_set_add(struct item_set *set, const struct cache_view *view, int32_t item); /* 0 or SIM_E_NOMEM */
void item_set_remove(struct item_set *set, const struct cache_view *view, int32_t item);

/* One of its items, all equally likely; CACHE_NO_ITEM when it is empty. */
int32_t item_set_draw(const struct item_set *set, struct rng *rng);

/* --- By rank --- */

/* A binary heap, the lowest rank first: O(log n) per change. */
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

struct item_heap {
    struct heap_item *entries;
    int32_t n, capacity;
};

void item_heap_fini(struct item_heap *heap);

/* Inserts the item, or moves it to its new rank. Returns 0 or SIM_E_NOMEM. */
int item_heap_set(struct item_heap *heap, const struct cache_view *view, int32_t item, struct item_rank rank);

/* Removes the item, if it is in the heap. */
void item_heap_remove(struct item_heap *heap, const struct cache_view *view, int32_t item);

/* The item of the lowest rank, or CACHE_NO_ITEM. */
int32_t item_heap_first(const struct item_heap *heap);

#endif
