/* Evicts a random item among those not used in this phase: in expectation at most 2 H_k times the misses of the best
 * offline policy for k items. A phase ends when all items have been used. */
#include "policies/declared.h"
#include "policies/eviction/marks.h"
#include "sim/world/policy/eviction.h"

static int marking_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    if (event == CACHE_ACQUIRE || event == CACHE_FORGET) marks_remove(state, view, item);
    if (event == CACHE_ACQUIRE || event == CACHE_FORGET || cache_view_held(view, item)) return 0;
    return marks_use(state, view, item, false);
}

static int32_t marking_victim(void *state, const struct cache_view *view)
{
    return marks_victim(state, view);
}

static void marking_fini(void *state)
{
    marks_fini(state);
}

const struct evictor eviction_marking = {
    .policy = {POLICY_HEAD(evictor, POLICY_EVICTION),
               .name = "marking",
               .summary = "a random item not used in this phase; a phase ends when all were used",
               .source = "Fiat et al., Journal of Algorithms 12(4) (1991)",
               .state_bytes = sizeof(struct marks),
               .fini = marking_fini},
    .item_bytes = sizeof(struct marked_item),
    .notify = marking_notify,
    .victim = marking_victim,
};
