/* To the replica that uses the smallest share of its KV blocks; the lowest number among equals. */
#include "policies/declared.h"
#include "policies/routing/least.h"

struct least_kv {
    int64_t choices;
};

#define ROW_OF struct least_kv
static const struct config_field least_kv_fields[] = {CHOICES_ROW, {0}};
#undef ROW_OF

static int least_kv_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)request;
    const struct least_kv *router = state;
    struct choices choices;
    choices_draw(&choices, view, router->choices);
    int32_t best = choices_at(&choices, 0);
    int64_t best_used = fleet_view_kv_used_blocks(view, best), best_total = fleet_view_kv_total_blocks(view, best);
    for (int32_t k = 1; k < choices.n; k++) {
        const int32_t i = choices_at(&choices, k);
        int64_t used = fleet_view_kv_used_blocks(view, i), total = fleet_view_kv_total_blocks(view, i);
        if (used * best_total >= best_used * total) continue;
        best = i;
        best_used = used;
        best_total = total;
    }
    return best;
}

const struct router routing_least_kv = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "least-kv",
               .summary = "the replica that uses the smallest share of its KV blocks; asks all replicas",
               .source = "folklore (least memory used)",
               .params = least_kv_fields,
               .params_bytes = sizeof(struct least_kv),
               .state_bytes = sizeof(struct least_kv)},
    .route = least_kv_route,
};
