/* Evicts the item that was inserted first. An item that was in use returns to its place in the order. */
#include "policies/declared.h"
#include "policies/eviction/items.h"
#include "sim/world/policy/eviction.h"

struct fifo_item {
    struct heap_place place;
    int64_t inserted; /* number of the access */
};

static int fifo_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct item_heap *unused = state;
    struct fifo_item *slot = cache_view_slot(view, item);
    switch (event) {
    case CACHE_HIT: return 0;
    case CACHE_INSERT: slot->inserted = view->access; break;
    case CACHE_RELEASE: break;
    case CACHE_ACQUIRE:
    case CACHE_FORGET: item_heap_remove(unused, view, item); return 0;
    }
    return item_heap_set(unused, view, item, (struct item_rank){.first = slot->inserted});
}

static int32_t fifo_victim(void *state, const struct cache_view *view)
{
    (void)view;
    return item_heap_first(state);
}

static void fifo_fini(void *state)
{
    item_heap_fini(state);
}

const struct evictor eviction_fifo = {
    .policy = {POLICY_HEAD(evictor, POLICY_EVICTION),
               .name = "fifo",
               .summary = "the item that was inserted first",
               .source = "Belady, IBM Systems Journal 5(2) (1966)",
               .state_bytes = sizeof(struct item_heap),
               .fini = fifo_fini},
    .item_bytes = sizeof(struct fifo_item),
    .notify = fifo_notify,
    .victim = fifo_victim,
};
