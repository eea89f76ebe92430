/* Evicts the least recently used item. An item in use counts as used until its release. */
#include "policies/declared.h"
#include "policies/eviction/items.h"
#include "sim/world/policy/eviction.h"

static int lru_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct item_list *unused = state; /* items that are not held, the least recently used first */
    switch (event) {
    case CACHE_HIT:
        if (cache_view_held(view, item)) break;
        item_list_remove(unused, view, item);
        item_list_add(unused, view, item);
        break;
    case CACHE_ACQUIRE:
    case CACHE_FORGET: item_list_remove(unused, view, item); break;
    case CACHE_INSERT:
    case CACHE_RELEASE: item_list_add(unused, view, item); break;
    }
    return 0;
}

static int32_t lru_victim(void *state, const struct cache_view *view)
{
    (void)view;
    return item_list_front(state);
}

const struct evictor eviction_lru = {
    .policy = {POLICY_HEAD(evictor, POLICY_EVICTION),
               .name = "lru",
               .summary = "the least recently used item",
               .source = "Belady, IBM Systems Journal 5(2) (1966)",
               .state_bytes = sizeof(struct item_list)},
    .item_bytes = sizeof(struct item_link),
    .notify = lru_notify,
    .victim = lru_victim,
    .skips_held = true,
};
