/* A bit with every access says whether its item can be discarded before its next use. Discarded items are evicted
 * first, the longest discarded one before the others. If there are none,
 *
 *     mark0   evicts one of the other items by marking: an unmarked one, at random
 *     flush   discards them all (the paper's deterministic algorithm)
 *
 * With room for k items, eta_0 wrong zeros and eta_1 wrong ones there are at most OPT + (k - 1) eta_0 + eta_1 misses by
 * flush, and OPT + 2 H_k eta_0 + eta_1 expected by mark0. The paper's algorithms drop discarded items at once. Here
 * they stay until their room is needed, and a use before is a hit instead of a miss: never more misses than these.
 *
 * The bits are true except for random errors: an oracle. */
#include "policies/declared.h"
#include "policies/eviction/items.h"
#include "policies/eviction/marks.h"
#include "policies/eviction/prediction.h"
#include "sim/world/policy/eviction.h"

enum discard_algorithm { DISCARD_MARK0, DISCARD_FLUSH };

struct discard_params {
    double error_frac;
    int algorithm;
};

struct discard_bit {
    struct discard_params params;
    struct prediction prediction;
    struct item_list lists[2]; /* discarded items; with flush also the others */
    int discarded;             /* index of the list of discarded items */
    struct marks marks;        /* with mark0: the others */
};

struct discard_item {
    union {
        struct item_link link;
        struct marked_item marked;
    };
    unsigned char bit;    /* of the latest access */
    unsigned char list_1; /* the list it is in, plus 1; 0: none */
};

static void take_out(struct discard_bit *self, const struct cache_view *view, int32_t item)
{
    struct discard_item *slot = cache_view_slot(view, item);
    if (slot->list_1 > 0)
        item_list_remove(&self->lists[slot->list_1 - 1], view, item);
    else
        marks_remove(&self->marks, view, item);
    slot->list_1 = 0;
    slot->marked = (struct marked_item){0};
}

static int put_in(struct discard_bit *self, const struct cache_view *view, int32_t item)
{
    struct discard_item *slot = cache_view_slot(view, item);
    if (slot->bit == 0 && self->params.algorithm == DISCARD_MARK0) return marks_use(&self->marks, view, item, false);
    int list = slot->bit ? self->discarded : !self->discarded;
    item_list_add(&self->lists[list], view, item);
    slot->list_1 = (unsigned char)(list + 1);
    return 0;
}

static int discard_bit_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct discard_bit *self = state;
    struct discard_item *slot = cache_view_slot(view, item);
    if (self->prediction.bits == NULL) {
        int code = prediction_make(&self->prediction, view, PREDICT_DISCARD, self->params.error_frac);
        if (code != 0) return code;
    }
    take_out(self, view, item);
    if (event == CACHE_INSERT || event == CACHE_HIT) slot->bit = self->prediction.bits[view->access];
    if (event == CACHE_ACQUIRE || event == CACHE_FORGET || cache_view_held(view, item)) return 0;
    return put_in(self, view, item);
}

static int32_t discard_bit_victim(void *state, const struct cache_view *view)
{
    struct discard_bit *self = state;
    bool flushes = self->params.algorithm == DISCARD_FLUSH;
    if (flushes && self->lists[self->discarded].n == 0) self->discarded = !self->discarded;
    int32_t item = item_list_front(&self->lists[self->discarded]);
    return item == CACHE_NO_ITEM ? marks_victim(&self->marks, view) : item;
}

static void discard_bit_fini(void *state)
{
    struct discard_bit *self = state;
    marks_fini(&self->marks);
    prediction_fini(&self->prediction);
}

static const char *const algorithms[] = {"mark0", "flush", NULL};

#define ROW_OF struct discard_params
static const struct config_field params[] = {
    ROW_REAL("error", error_frac, DEFAULT("0"), WITHIN(0, 1), "probability that a bit is wrong"),
    ROW_CHOICE("algorithm", algorithm, DEFAULT("mark0"), algorithms,
               "if no item is discarded: mark0 evicts an unmarked item at random, flush discards all"),
    {0}};
#undef ROW_OF

const struct evictor eviction_discard_bit = {
    .policy = {POLICY_HEAD(evictor, POLICY_EVICTION),
               .name = "discard-bit",
               .summary = "Mark0: first items whose bit marks them as discardable before their next use, then by marking",
               .source = "Antoniadis et al., Paging with Succinct Predictions, ICML 2023, section 3",
               .oracle = ORACLE_FUTURE,
               .params = params,
               .params_bytes = sizeof(struct discard_params),
               .state_bytes = sizeof(struct discard_bit),
               .fini = discard_bit_fini},
    .item_bytes = sizeof(struct discard_item),
    .notify = discard_bit_notify,
    .victim = discard_bit_victim,
};
