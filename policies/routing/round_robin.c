/* The replicas in turn, by order of arrival. */
#include "policies/declared.h"
#include "sim/world/policy/routing.h"

struct round_robin {
    int32_t next;
};

static int round_robin_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)request;
    struct round_robin *router = state;
    int32_t replica = router->next < view->n_replicas ? router->next : 0; /* there may be fewer than the last time */
    router->next = (replica + 1) % view->n_replicas;
    return replica;
}

const struct router routing_round_robin = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "round-robin",
               .summary = "replicas in turn",
               .source = "folklore",
               .state_bytes = sizeof(struct round_robin)},
    .route = round_robin_route,
    .ignores_loads = true,
};
