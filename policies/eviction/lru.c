/* Evicts the least recently used item. An item in use counts as used until its release. */
#include "policies/declared.h"
#include "policies/eviction/items.h"
#include "sim/world/policy/eviction.h"

static int lru_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct item_list *unused = state; /* items that are not held, the least recently used first */
    bool listed = event != CACHE_INSERT && event != CACHE_RELEASE &&
                  (event != CACHE_HIT || !cache_view_held(view, item));
    if (listed) item_list_remove(unused, view, item);
    bool is_held = event == CACHE_ACQUIRE || (event == CACHE_HIT && !listed);
    if (event != CACHE_FORGET && !is_held) item_list_add(unused, view, item);
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
};
