/* The cheapest fleet of a service with one type of GPU: the baseline of mixed fleets. */
#include "policies/declared.h"
#include "policies/rental/fleet_params.h"

static int fleet(void *state, const struct market_view *view, struct fleet_plan *plan, struct diag *diag)
{
    return fleet_params_plan(state, view, plan, melange_single_kind, diag);
}

const struct renter rental_cheapest_single_type = {
    .policy = {POLICY_HEAD(renter, POLICY_RENTAL),
               .name = "cheapest-single-type",
               .summary = "cheapest fleet of one GPU type that serves a mix of requests",
               .source = "the baseline of Mélange, arXiv 2404.14527",
               .params = fleet_params_fields,
               .params_bytes = sizeof(struct fleet_params),
               .state_bytes = sizeof(struct fleet_params)},
    .fleet = fleet,
};
