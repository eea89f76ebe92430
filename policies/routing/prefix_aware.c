/* Weighs the cached prefix against the load: the replica with the fewest prompt tokens to process before the first
 * token. These are the tokens queued at the replica, counted `load_weight` times each, plus the request's own that are
 * not cached there. A token that the replica's prefix store has counts `store_weight` of a cached one. Among equals the
 * fewest unfinished requests, then the lowest number; so a request without a cached prefix goes by load. After the
 * cache-aware routing of Preble (Srivatsa et al., ICLR 2025) and of SGLang, which weigh the two by other measures. */
#include "policies/declared.h"
#include "policies/routing/least.h"

struct prefix_aware {
    double load_weight, store_weight;
    int64_t choices;
};

#define ROW_OF struct prefix_aware
static const struct config_field prefix_aware_fields[] = {
    ROW_REAL("load_weight", load_weight, DEFAULT("1"), WITHIN(0, 1e6),
             "weight of a prompt token queued at the replica; a cached one of the request counts 1"),
    ROW_REAL("store_weight", store_weight, DEFAULT("0"), WITHIN(0, 1),
             "weight of a prompt token of the request in a tier of the replica's prefix store"),
    CHOICES_ROW,
    {0}};
#undef ROW_OF

static double tokens_ahead(const struct prefix_aware *router, const struct fleet_view *view, int32_t replica,
                           const struct request_view *request)
{
    return router->load_weight * (double)view->loads[replica].queued_tokens -
           (double)fleet_view_prefix_tokens(view, replica, request) -
           (router->store_weight > 0.0 ? router->store_weight * (double)fleet_view_stored_tokens(view, replica, request)
                                       : 0.0);
}

static int prefix_aware_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    const struct prefix_aware *router = state;
    struct choices choices;
    choices_draw(&choices, view, router->choices);
    int32_t best = choices_at(&choices, 0);
    double fewest = tokens_ahead(router, view, best, request);
    for (int32_t k = 1; k < choices.n; k++) {
        const int32_t i = choices_at(&choices, k);
        double tokens = tokens_ahead(router, view, i, request);
        bool less_busy = view->loads[i].outstanding < view->loads[best].outstanding;
        if (tokens > fewest || (tokens >= fewest && !less_busy)) continue;
        best = i;
        fewest = tokens;
    }
    return best;
}

const struct router routing_prefix_aware = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "prefix-aware",
               .summary = "the replica with the most of the prompt cached, weighed against the tokens queued there; asks all replicas",
               .source = "after Preble (Srivatsa et al., ICLR 2025) and SGLang's cache-aware router",
               .params = prefix_aware_fields,
               .params_bytes = sizeof(struct prefix_aware),
               .state_bytes = sizeof(struct prefix_aware)},
    .route = prefix_aware_route,
    .follows_prefixes = true,
};
