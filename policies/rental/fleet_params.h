/* Parameters of the policies that plan a fleet for a service: the requests by buckets of lengths, and the throughput
 * of each kind of GPU. */
#ifndef ORRERY_POLICIES_RENTAL_FLEET_PARAMS_H
#define ORRERY_POLICIES_RENTAL_FLEET_PARAMS_H

#include "policies/rental/melange_fleet.h"
#include "sim/core/config/config.h"
#include "sim/world/policy/rental.h"

/* An entry of "kinds": the replicas of one pool. */
struct fleet_kind {
    const char *name;  /* key: name of the pool */
    const char *offer; /* NULL: the offer named like the pool */
    int64_t gpus;      /* of each replica */
    struct config_list max_per_s; /* double, by bucket */
};

struct fleet_params {
    const char *service;
    double rate_per_s;
    int64_t slices;
    struct config_list buckets; /* double: shares of the requests */
    struct config_list kinds;   /* struct fleet_kind */
};

extern const struct config_field fleet_params_fields[];

typedef enum lp_outcome fleet_solver(const struct melange_problem *problem, struct melange_fleet *fleet);

/* Plans the fleet with `solve` and sets the replicas of each pool. Returns 0 or a negative code with findings. */
int fleet_params_plan(const struct fleet_params *params, const struct market_view *view, struct fleet_plan *plan,
                      fleet_solver *solve, struct diag *diag);

#endif
