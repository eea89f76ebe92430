/* What the files of this room share. */
#ifndef ORRERY_WORLD_MARKET_MARKET_STATE_H
#define ORRERY_WORLD_MARKET_MARKET_STATE_H

#include "sim/catalog/availability.h"
#include "sim/core/rng.h"
#include "sim/world/market/market.h"
#include "sim/world/policy/rental.h"
#include "sim/world/policy/scheduler.h"

/* A job that wants or has GPUs: the scheduler's bytes of a job. */
struct renting_job {
    const struct job_view *view;
    struct rental rental;
    struct lease *lease;             /* NULL: the job waits for supply */
    struct renting_job *prev, *next; /* in its offer's queue */
};

struct renting_queue {
    struct renting_job *first, *last;
};

struct offer_state {
    const struct offer_config *config;
    int32_t node_type;                /* the node type with these GPUs */
    struct cluster *part;             /* its nodes */
    struct availability availability; /* n 0: none */
    size_t step;                      /* the step of availability in force */
    struct renting_queue waiting;     /* jobs that wait for supply */
    struct renting_queue starting;    /* jobs whose GPUs start up, in the order in which these will be ready */
    int64_t starting_ugpus;           /* GPUs of these jobs */
    int64_t run_ugpus;                /* GPUs leased for the whole run */
};

struct market {
    struct market_env env;
    const struct market_config *config;
    const struct renter *renter;
    void *renter_state;
    struct market_view view;
    struct market_offer *offers;  /* [view.n_offers] */
    struct offer_state *states;   /* ... */
    struct market_job_type *types;
    struct ledger ledger;
    struct owner timer;           /* armed for the next change of spot GPUs */
    struct scheduler *scheduler;  /* NULL: jobs keep theirs */
    struct watcher watcher;       /* with the scheduler: tells jobs how often spot GPUs are taken back */
    struct fleet_plan {
        struct service_config *services; /* copies; NULL: the scenario's own */
        struct market *market;
    } fleet;
    struct renting_queue without_gpus; /* jobs that rent nothing and wait for CPU or memory of a node */
    bool has_spot;
    int64_t n_interruptions;
    int64_t n_free_interruptions; /* of running jobs that save nothing, and so keep all work */
    double lost_gpu_s; /* by them */
};

/* GPUs of an offer that can be leased now, by its limit, the market's supply and the nodes that are up. */
double market_free_gpus(const struct market *market, int32_t offer);

/* GPUs of a node type that are leased now, over all offers. */
double market_leased_gpus(const struct market *market, const struct cluster *part);

/* Most GPUs of an offer that one job can lease from now on; INFINITY: no limit. */
double market_most_gpus(const struct market *market, int32_t offer);

/* Most GPUs of an offer that can be leased for the rest of the run beside those that are; spare nodes count, which no
 * job can lease. */
double market_most_for_run(const struct market *market, int32_t offer);

/* The offer of leases for the whole run: the first one of the node type that is never interrupted; -1: none. */
int32_t market_offer_for_run(const struct market *market, const struct cluster *part);

/* Opens the lease of a job's rental. Returns 0, SIM_E_NOMEM or the sink's code. */
int market_lease(struct market *market, struct renting_job *job, sim_ns now);

/* Ends a lease; `action`: "return" or "lose". Returns 0 or the sink's code. */
int market_return(struct market *market, struct lease *lease, const char *action, sim_ns now);

/* Fill in the offers, from config and catalog, and the renter's view of job types. Return 0 or a negative code with
 * findings. */
int market_make_offers(struct market *market);
int market_make_types(struct market *market);

/* Lets the renter plan the services' replicas. Returns 0 or a negative code with findings. */
int market_make_fleet(struct market *market);

/* Reads the availability file of an offer, if it has one. */
int market_supply_open(struct market *market, int32_t offer);

/* Draws when lease number `lease` will be interrupted; SIM_NS_MAX: never. */
sim_ns market_draw_expiry(const struct market *market, int32_t offer, int64_t lease, sim_ns ready_ns);

/* Moves the replayed availability to `now`, with its interruptions. Returns 0 or a negative code. */
int market_supply_catch_up(struct market *market, sim_ns now);
/* Brings the supply of offers without leases up to now. No timer follows it, and there is nothing to take back. */
int market_supply_look(struct market *market, sim_ns now);

/* Arms the timer for the next change of supply, after leases or queues have changed. */
void market_supply_watch(struct market *market);

/* A job loses its GPUs to the market; a running job is interrupted. Returns 0 or a negative code. */
int market_jobs_interrupt(struct market *market, struct renting_job *job, sim_ns now);

/* There may be supply for waiting jobs: requests a decision. */
void market_jobs_request_decision(struct market *market);

/* The scheduler of jobs that rent for themselves, and the risk that they lose spot GPUs. */
extern const struct scheduler market_jobs_scheduler;
extern const struct watcher_ops market_jobs_watcher_ops;

#endif
