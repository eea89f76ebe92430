/* Mark&Predict: among the items not used in this phase, one that the latest bit predicts unused in the next phase is
 * evicted first, at random. With room for k items, eta_0 wrong zeros and eta_1 wrong ones, at most 2 OPT + H_k eta_0
 * + eta_1 misses are expected.
 *
 * The bits are true except for random errors: an oracle. */
#include "policies/declared.h"
#include "policies/eviction/marks.h"
#include "policies/eviction/prediction.h"
#include "sim/world/policy/eviction.h"

struct phase_bit {
    double error_frac; /* the parameter */
    struct marks marks;
    struct prediction prediction;
};

struct phase_item {
    struct marked_item item;
    unsigned char bit; /* of the latest access */
};

static int phase_bit_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct phase_bit *self = state;
    struct phase_item *slot = cache_view_slot(view, item);
    if (event == CACHE_ACQUIRE || event == CACHE_FORGET) {
        marks_remove(&self->marks, view, item);
        return 0;
    }
    if (self->prediction.bits == NULL) {
        int code = prediction_make(&self->prediction, view, PREDICT_PHASE, self->error_frac);
        if (code != 0) return code;
    }
    if (event != CACHE_RELEASE) slot->bit = self->prediction.bits[view->access];
    return cache_view_held(view, item) ? 0 : marks_use(&self->marks, view, item, slot->bit);
}

static int32_t phase_bit_victim(void *state, const struct cache_view *view)
{
    return marks_victim(&((struct phase_bit *)state)->marks, view);
}

static void phase_bit_fini(void *state)
{
    struct phase_bit *self = state;
    marks_fini(&self->marks);
    prediction_fini(&self->prediction);
}

#define ROW_OF struct phase_bit
static const struct config_field params[] = {
    ROW_REAL("error", error_frac, DEFAULT("0"), WITHIN(0, 1), "probability that a bit is wrong"),
    {0}};
#undef ROW_OF

const struct evictor eviction_phase_bit = {
    .policy = {POLICY_HEAD(evictor, POLICY_EVICTION),
               .name = "phase-bit",
               .summary = "Mark&Predict: marking, items predicted unused in the next phase first",
               .source = "Antoniadis et al., Paging with Succinct Predictions, ICML 2023, section 4",
               .oracle = ORACLE_FUTURE,
               .params = params,
               .params_bytes = sizeof(struct phase_bit),
               .state_bytes = sizeof(struct phase_bit),
               .fini = phase_bit_fini},
    .item_bytes = sizeof(struct phase_item),
    .notify = phase_bit_notify,
    .victim = phase_bit_victim,
};
