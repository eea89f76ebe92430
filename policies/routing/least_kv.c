/* To the replica that uses the smallest share of its KV blocks; the lowest number among equals. */
#include "policies/declared.h"
#include "sim/world/policy/routing.h"

static int least_kv_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state;
    (void)request;
    int32_t best = 0;
    int64_t best_used = fleet_view_kv_used_blocks(view, 0), best_total = fleet_view_kv_total_blocks(view, 0);
    for (int32_t i = 1; i < view->n_replicas; i++) {
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
               .source = "folklore (least memory used)"},
    .route = least_kv_route,
};
