/* Requests go to the replica with the fewest unfinished requests; among equals to the lowest number. */
#include "policies/registry.h"

static int least_outstanding_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state;
    (void)request;
    int32_t best = 0;
    for (int32_t i = 1; i < view->n_replicas; i++)
        if (view->loads[i].outstanding < view->loads[best].outstanding) best = i;
    return best;
}

const struct router routing_least_outstanding = {
    .policy = {.abi = POLICY_ABI,
               .size = sizeof(struct router),
               .family = POLICY_ROUTING,
               .name = "least-outstanding",
               .summary = "the replica with the fewest unfinished requests",
               .source = "folklore (join the shortest queue)"},
    .route = least_outstanding_route,
};
