/* Mélange's integer program: the fleet of a service that is cheapest for its mix of request lengths, chosen before the
 * run. The throughput of each kind of GPU is measured beforehand. Requests are not routed by their lengths, as
 * Mélange's balancer does. */
#include "policies/declared.h"
#include "policies/rental/fleet_params.h"

static int fleet(void *state, const struct market_view *view, struct fleet_plan *plan, struct diag *diag)
{
    return fleet_params_plan(state, view, plan, melange_solve, diag);
}

const struct renter rental_melange = {
    .policy = {POLICY_HEAD(renter, POLICY_RENTAL),
               .name = "melange",
               .summary = "cheapest mix of GPU types that serves a mix of requests, by an integer program",
               .source = "Mélange, arXiv 2404.14527",
               .params = fleet_params_fields,
               .params_bytes = sizeof(struct fleet_params),
               .state_bytes = sizeof(struct fleet_params)},
    .fleet = fleet,
};
