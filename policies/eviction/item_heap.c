#include "policies/eviction/item_heap.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>

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
    ((struct heap_place *)cache_view_slot(view, entry.item))->at_1 = at + 1;
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

static int grow(struct item_heap *heap)
{
    int32_t capacity = heap->capacity == 0 ? 64 : heap->capacity <= INT32_MAX / 2 ? 2 * heap->capacity : INT32_MAX;
    struct heap_item *entries = mem_realloc(heap->entries, (size_t)capacity * sizeof *entries);
    if (entries == NULL) return SIM_E_NOMEM;
    heap->entries = entries;
    heap->capacity = capacity;
    return 0;
}

int item_heap_set(struct item_heap *heap, const struct cache_view *view, int32_t item, struct item_rank rank)
{
    int32_t at = ((const struct heap_place *)cache_view_slot(view, item))->at_1 - 1;
    if (at < 0) {
        int code = heap->n == heap->capacity ? grow(heap) : 0;
        if (code != 0) return code;
        at = heap->n++;
    }
    settle(heap, view, at, (struct heap_item){rank, item});
    return 0;
}

void item_heap_remove(struct item_heap *heap, const struct cache_view *view, int32_t item)
{
    struct heap_place *place = cache_view_slot(view, item);
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
