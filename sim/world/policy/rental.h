/* Rental: which GPUs are rented. The view of the market, the rentals, the struct of a renter. */
#ifndef ORRERY_WORLD_POLICY_RENTAL_H
#define ORRERY_WORLD_POLICY_RENTAL_H

#include "models/speedup.h"
#include "sim/world/policy/job_view.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct rng;
struct fleet_plan;

enum offer_kind { OFFER_ON_DEMAND, OFFER_RESERVED, OFFER_SPOT };

/* GPUs of one type that can be rented, each at this price. */
struct market_offer {
    const char *name;
    const char *gpu; /* type of the GPUs; NULL: the scenario does not say */
    enum offer_kind kind;
    double usd_per_h;     /* of one GPU, now */
    bool changes_price;   /* later in the run */
    double limit_gpus;    /* that can be rented at once; INFINITY: no limit */
    double free_gpus;     /* of these, now */
    sim_ns start_up_ns;   /* from renting to first use */
    bool pays_start_up;
};

/* A kind of jobs (jobs.types). */
struct market_job_type {
    const char *name;
    struct speedup speedup;
    const double *speeds; /* [n_offers]: of one GPU of each offer, 1 on those of the trace; 0: cannot run there */
};

struct market_view {
    sim_ns now_ns;
    int32_t n_offers, n_job_types;
    const struct market_offer *offers;
    const struct market_job_type *job_types; /* in the order of the scenario */
    struct rng *random; /* while a job rents: a stream of this job's own */
};

/* GPUs that a job rents. */
struct rental {
    int32_t offer;
    double gpus; /* above 0 */
};

/* Sets the number of replicas of a service's pool; 0: the pool is left out. Returns 0 or SIM_E_NOMEM. */
int fleet_plan_set(struct fleet_plan *plan, const char *service, const char *pool, int64_t replicas);

/* --- The family --- */

/* All functions may be NULL; they return 0 or a negative code. A renter without any leaves the site as it is: its
 * whole cluster is rented from the start of the run to its end.
 *
 * prepare: called once, before the run.
 *
 * rent: sets the GPUs that a job rents on its submission and holds until it finishes. With this function jobs run
 * under no scheduler. A job is rejected if its offer never has these GPUs, or if it can never run on them.
 *
 * fleet: sets the numbers of the services' replicas, by fleet_plan_set. Called once, before the run. Their GPUs are
 * rented for the whole run. */
#define RENTER_FUNCTIONS(X)                                                                                            \
    X(renter, OPTIONAL, int, prepare, (void *state, const struct market_view *view, struct diag *diag),                \
      (state, view, diag), view, POLICY_NONE)                                                                          \
    X(renter, OPTIONAL, int, rent,                                                                                     \
      (void *state, const struct market_view *view, const struct job_view *job, struct rental *rental),                \
      (state, view, job, rental), view, job)                                                                           \
    X(renter, OPTIONAL, int, fleet,                                                                                    \
      (void *state, const struct market_view *view, struct fleet_plan *plan, struct diag *diag),                       \
      (state, view, plan, diag), view, POLICY_NONE)

struct renter {
    struct policy policy;
    RENTER_FUNCTIONS(POLICY_MEMBER)
    bool ignores_speeds; /* compares no offers by the speeds of job types; else a type with `training` is refused */
};

#endif
