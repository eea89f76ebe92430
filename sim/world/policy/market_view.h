/* What a renter sees of the market, and what it may ask for. */
#ifndef ORRERY_WORLD_POLICY_MARKET_VIEW_H
#define ORRERY_WORLD_POLICY_MARKET_VIEW_H

#include "models/speedup.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stdint.h>

struct job_view;
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

/* So many replicas of this pool of a service; 0: the pool is left out. Returns 0 or SIM_E_NOMEM. */
int fleet_plan_set(struct fleet_plan *plan, const char *service, const char *pool, int64_t replicas);

#endif
