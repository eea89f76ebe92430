/* Fixed fleet: the GPUs of the site are rented for the whole run, and jobs share them under their scheduler. */
#include "policies/declared.h"
#include "sim/world/policy/rental.h"

const struct renter rental_fixed_fleet = {
    .policy = {POLICY_HEAD(renter, POLICY_RENTAL),
               .name = "fixed-fleet",
               .summary = "the whole cluster, from the start of the run to its end",
               .source = "a fleet that does not follow demand: the baseline of all other policies",
               .state_bytes = 1},
    .ignores_speeds = true,
};
