/* Evicts the item whose next use is latest, or that has none. That gives the fewest misses of any policy if every item
 * asked for must be inserted (and none in advance), all misses cost the same, and no item is held.
 *
 * Its number of hits therefore bounds the hits along unbroken prefixes of any policy. Its own hits along prefixes need
 * not be the most: the block with the latest next use must be inserted, and if its parent is evicted for it, it lies
 * behind a gap.
 *
 * Needs the future: an oracle. */
#include "policies/declared.h"
#include "policies/eviction/items.h"
#include "sim/world/policy/eviction.h"

static int belady_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct item_heap *unused = state;
    if (event == CACHE_ACQUIRE || event == CACHE_FORGET) {
        item_heap_remove(unused, view, item);
        return 0;
    }
    if (cache_view_held(view, item)) return 0;
    return item_heap_set(unused, view, item, (struct item_rank){.first = -cache_view_next_use(view, item)});
}

static int32_t belady_victim(void *state, const struct cache_view *view)
{
    (void)view;
    return item_heap_first(state);
}

static void belady_fini(void *state)
{
    item_heap_fini(state);
}

const struct evictor eviction_belady = {
    .policy = {POLICY_HEAD(evictor, POLICY_EVICTION),
               .name = "belady",
               .summary = "the item whose next use is latest: the fewest misses possible",
               .source = "Belady, IBM Systems Journal 5(2) (1966); optimal: Mattson et al. (1970)",
               .oracle = ORACLE_FUTURE,
               .state_bytes = sizeof(struct item_heap),
               .fini = belady_fini},
    .item_bytes = sizeof(struct heap_place),
    .notify = belady_notify,
    .victim = belady_victim,
};
