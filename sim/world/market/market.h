/* The market of GPUs that a site rents from: offers with prices, supply and spot interruptions, and the open leases.
 *
 * A renter (sim/world/policy/rental.h) decides. A renter with `rent` rents for each job on its own: the job runs on
 * what it rented until its end, without a scheduler (market_scheduler). Otherwise jobs share the cluster, which is
 * leased as a whole. GPUs of services are leased for the whole run. Services and jobs that share a leased cluster share
 * its bill by the GPUs that services hold over time; the jobs pay for the rest, idle GPUs included. The services pay
 * for all GPUs of node types that the scheduler of the jobs does not use.
 *
 * Not modelled: bidding, moving between regions. */
#ifndef ORRERY_WORLD_MARKET_MARKET_H
#define ORRERY_WORLD_MARKET_MARKET_H

#include "sim/catalog/catalog.h"
#include "sim/core/engine.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/market/ledger.h"
#include "sim/world/market/market_config.h"
#include "sim/world/policy/rental.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/sink.h"
#include "sim/world/service/service.h"

struct scheduler;
struct market;

/* The output of a run, for costs per unit; 0: none. Met requests count after the warm-up. */
struct market_yield {
    int64_t jobs, output_tokens, met_requests;
};

/* The inputs of a market. The pointers outlive it. */
struct market_env {
    struct site_env *site;
    struct cluster *cluster;
    const struct config_list *types;    /* struct job_type: jobs.types */
    const struct config_list *services; /* struct service_config */
    const struct scheduler *scheduler;  /* of the jobs; NULL: the scenario has none */
    struct market_yield (*yield)(void *context); /* at the end of the run */
    void *context;
};

/* Finds prices, reads availability files and prepares the renter. Returns 0 or a negative code with findings. */
int market_create(const struct market_config *config, const struct market_env *env, struct market **market);

/* The replacement of the jobs' scheduler, with its parameters; NULL: jobs keep theirs. */
const struct scheduler *market_scheduler(const struct market *market);
const void *market_scheduler_params(struct market *const *market);

/* A service of the scenario, with the replicas of the renter's fleet. */
const struct service_config *market_service(const struct market *market, size_t index);

/* At the start, after services have taken their GPUs, it opens the leases for the whole run; at the end it emits
 * metrics. Its series: GPUs of each type that are rented and in use, and the bill so far of each offer. */
extern const struct component market_component;

#endif
