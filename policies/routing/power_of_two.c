/* Power of two choices: of two replicas drawn at random, the one with fewer unfinished requests; the first drawn if
 * equal. */
#include "policies/declared.h"
#include "sim/core/rng.h"
#include "sim/world/policy/routing.h"

static int power_of_two_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state;
    (void)request;
    if (view->n_replicas == 1) return 0;
    int first = (int)rng_below(view->random, (uint64_t)view->n_replicas);
    int second = (int)rng_below(view->random, (uint64_t)view->n_replicas - 1);
    second += second >= first;
    return view->loads[second].outstanding < view->loads[first].outstanding ? second : first;
}

const struct router routing_power_of_two = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "power-of-two",
               .summary = "of two replicas drawn at random, the one with fewer unfinished requests",
               .source = "Mitzenmacher, \"The Power of Two Choices in Randomized Load Balancing\", 2001"},
    .route = power_of_two_route,
};
