/* Any replica, with equal chances. */
#include "policies/declared.h"
#include "sim/core/rng.h"
#include "sim/world/policy/routing.h"

static int random_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state;
    (void)request;
    return (int)rng_below(view->random, (uint64_t)view->n_replicas);
}

const struct router routing_random = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "random",
               .summary = "any replica, with equal chances",
               .source = "folklore"},
    .route = random_route,
    .ignores_loads = true,
};
