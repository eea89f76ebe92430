/* The market of GPUs that a site rents from: offers with prices, supply and spot interruptions, and the leases that are open.
 *
 * A renter (sim/world/policy/policy.h) decides. One with `rent` rents for each job on its own: the job runs on what it rented
 * until its end, under no scheduler (market_scheduler). Otherwise jobs share the cluster, which is leased as a whole. What
 * services hold is leased from the start to the end of the run, too.
 *
 * Left out: bidding, moving between regions. */
#ifndef ORRERY_WORLD_MARKET_MARKET_H
#define ORRERY_WORLD_MARKET_MARKET_H

#include "sim/catalog/catalog.h"
#include "sim/core/engine.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/market/ledger.h"
#include "sim/world/market/market_config.h"
#include "sim/world/policy/market_view.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/sink.h"
#include "sim/world/service/service.h"

struct scheduler;
struct market;

/* What a market needs from the world around it. The pointers outlive it. */
/* What a run achieved, to set against its bill; 0: nothing of the kind. Met requests are those after the warm-up. */
struct market_yield {
    int64_t jobs, output_tokens, met_requests;
};

struct market_env {
    struct site_env *site;
    struct cluster *cluster;
    const struct config_list *types;    /* struct job_type: jobs.types */
    const struct config_list *services; /* struct service_config */
    const struct policy *scheduler;     /* of the jobs; NULL: the scenario has none */
    struct market_yield (*yield)(void *context); /* at the end of the run */
    void *context;
};

/* Finds prices, reads availability files, and lets the renter prepare itself. Returns 0 or a negative code with findings. */
int market_create(const struct market_config *config, const struct market_env *env, struct market **market);

/* What takes the place of the jobs' scheduler, with its parameters; NULL: jobs keep theirs. */
const struct scheduler *market_scheduler(const struct market *market);
const void *market_scheduler_params(struct market *const *market);

/* A service as it is in the scenario, but with the replicas that the renter's fleet has. */
const struct service_config *market_service(const struct market *market, size_t index);

/* GPUs leased now, all offers together. */
double market_rented_gpus(const struct market *market);

/* Leases at the start, once services have their GPUs; metrics at the end. Its series are the GPUs of each type that are rented
 * and in use, and the bill so far of each offer. */
extern const struct component market_component;

#endif
