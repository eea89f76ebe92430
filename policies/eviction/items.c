#include "policies/eviction/items.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdbool.h>

/* --- In a set --- */

void item_set_fini(struct item_set *set)
{
    mem_free(set->items);
}

int item_set_add(struct item_set *set, const struct cache_view *view, int32_t item)
{
    ((struct set_place *)item_slot(view, item))->at = set->n;
    return vec_push(&set->items, &set->n, &set->capacity, item);
}

/* The last one takes its place. */
void item_set_remove(struct item_set *set, const struct cache_view *view, int32_t item)
{
    int32_t at = ((const struct set_place *)item_slot(view, item))->at, last = set->items[--set->n];
    set->items[at] = last;
    ((struct set_place *)item_slot(view, last))->at = at;
}

int32_t item_set_draw(const struct item_set *set, struct rng *rng)
{
    return set->n > 0 ? set->items[rng_below(rng, (uint64_t)set->n)] : CACHE_NO_ITEM;
}

/* --- By rank --- */

void item_heap_fini(struct item_heap *heap)
{
    mem_free(heap->entries);
}

static bool before(const struct heap_item *a, const struct heap_item *b)
{
    if (a->rank.first != b->rank.first) return a->rank.first < b->rank.first;
    if (a->rank.second != b->rank.second) return a->rank.second < b->rank.second;
    return a->item < b->item;
}

static void put(struct item_heap *heap, const struct cache_view *view, int32_t at, struct heap_item entry)
{
    heap->entries[at] = entry;
    ((struct heap_place *)item_slot(view, entry.item))->at_1 = at + 1;
}

/* Moves an entry that may be out of order at `at` up or down to its place. */
static void settle(struct item_heap *heap, const struct cache_view *view, int32_t at, struct heap_item entry)
{
    while (at > 0 && before(&entry, &heap->entries[(at - 1) / 2])) {
        put(heap, view, at, heap->entries[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        int64_t child = 2 * (int64_t)at + 1;
        if (child + 1 < heap->n && before(&heap->entries[child + 1], &heap->entries[child])) child++;
        if (child >= heap->n || !before(&heap->entries[child], &entry)) break;
        put(heap, view, at, heap->entries[child]);
        at = (int32_t)child;
    }
    put(heap, view, at, entry);
}

int item_heap_set(struct item_heap *heap, const struct cache_view *view, int32_t item, struct item_rank rank)
{
    int32_t at = ((const struct heap_place *)item_slot(view, item))->at_1 - 1;
    if (at < 0) {
        if (vec_reserve(&heap->entries, &heap->capacity, (size_t)heap->n + 1) != 0) return SIM_E_NOMEM;
        at = heap->n++;
    }
    settle(heap, view, at, (struct heap_item){rank, item});
    return 0;
}

void item_heap_remove(struct item_heap *heap, const struct cache_view *view, int32_t item)
{
    struct heap_place *place = item_slot(view, item);
    int32_t at = place->at_1 - 1;
    if (at < 0) return;
    place->at_1 = 0;
    struct heap_item last = heap->entries[--heap->n];
    if (at < heap->n) settle(heap, view, at, last);
}

int32_t item_heap_first(const struct item_heap *heap)
{
    return heap->n > 0 ? heap->entries[0].item : CACHE_NO_ITEM;
}
