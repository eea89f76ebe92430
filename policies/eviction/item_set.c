#include "policies/eviction/item_set.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stddef.h>

void item_set_fini(struct item_set *set)
{
    mem_free(set->items);
}

static int grow(struct item_set *set)
{
    int32_t capacity = set->capacity == 0 ? 64 : set->capacity <= INT32_MAX / 2 ? 2 * set->capacity : INT32_MAX;
    int32_t *items = mem_realloc(set->items, (size_t)capacity * sizeof *items);
    if (items == NULL) return SIM_E_NOMEM;
    set->items = items;
    set->capacity = capacity;
    return 0;
}

int item_set_add(struct item_set *set, const struct cache_view *view, int32_t item)
{
    if (set->n == set->capacity && grow(set) != 0) return SIM_E_NOMEM;
    ((struct set_place *)cache_view_slot(view, item))->at = set->n;
    set->items[set->n++] = item;
    return 0;
}

/* The last one takes its place. */
void item_set_remove(struct item_set *set, const struct cache_view *view, int32_t item)
{
    int32_t at = ((const struct set_place *)cache_view_slot(view, item))->at, last = set->items[--set->n];
    set->items[at] = last;
    ((struct set_place *)cache_view_slot(view, last))->at = at;
}

int32_t item_set_draw(const struct item_set *set, struct rng *rng)
{
    return set->n > 0 ? set->items[rng_below(rng, (uint64_t)set->n)] : CACHE_NO_ITEM;
}
