/* Evicts the item with the fewest uses since its insertion; among equals the least recently used. The count of an
 * evicted item is forgotten. */
#include "policies/declared.h"
#include "policies/eviction/items.h"
#include "sim/world/policy/eviction.h"

struct lfu_item {
    struct heap_place place;
    int64_t uses, last_use; /* number of the access; for an item in use, that of its release */
};

static int lfu_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct item_heap *unused = state;
    struct lfu_item *slot = cache_view_slot(view, item);
    if (event == CACHE_ACQUIRE || event == CACHE_FORGET) {
        item_heap_remove(unused, view, item);
        return 0;
    }
    slot->uses += event != CACHE_RELEASE;
    slot->last_use = view->access;
    if (cache_view_held(view, item)) return 0;
    return item_heap_set(unused, view, item, (struct item_rank){slot->uses, slot->last_use});
}

static int32_t lfu_victim(void *state, const struct cache_view *view)
{
    (void)view;
    return item_heap_first(state);
}

static void lfu_fini(void *state)
{
    item_heap_fini(state);
}

const struct evictor eviction_lfu = {
    .policy = {POLICY_HEAD(evictor, POLICY_EVICTION),
               .name = "lfu",
               .summary = "the item with the fewest uses since its insertion, then the least recently used",
               .source = "Coffman and Denning, Operating Systems Theory (1973)",
               .state_bytes = sizeof(struct item_heap),
               .fini = lfu_fini},
    .item_bytes = sizeof(struct lfu_item),
    .notify = lfu_notify,
    .victim = lfu_victim,
};
