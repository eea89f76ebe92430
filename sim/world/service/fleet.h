/* The replicas of a service, in pools of equal ones, and the router that sends requests to them.
 *
 * Replicas are numbered by role (prefill, mixed, decode), then by pool as the scenario lists them, so that those that
 * may process a prompt and those that may decode are each a range. */
#ifndef ORRERY_WORLD_SERVICE_FLEET_H
#define ORRERY_WORLD_SERVICE_FLEET_H

#include "models/transformer.h"
#include "sim/catalog/power.h"
#include "sim/core/rng.h"
#include "sim/world/replica/replica.h"
#include "sim/world/service/service.h"

struct fleet_pool {
    struct pool_config config;
    struct gpu_spec gpu;
    struct offload_service offload;
    struct gpu_power power;   /* of a GPU, as far as it is known */
    struct energy_law energy; /* of a replica, where env.energy says so */
    struct pace_model pace;   /* the same, where env.pace says so */
    struct replica_env env; /* what its replicas share */
    int64_t kv_blocks;      /* of each */
    int32_t first, n;       /* its replicas */
};

/* What routers see of a replica beside its load. */
struct replica_usage {
    int64_t kv_blocks, decode_context_tokens;
    int64_t reserved_tokens; /* see fleet_view_reserved_tokens */
    int64_t entering_prompts, idle_sequences;
};

/* The bulletin board of a service with an information delay: every replica reports at the multiples of the period, and
 * routers see the latest report (Mitzenmacher, "How Useful Is Old Information?", 2000: periodic update). */
struct fleet_reports {
    struct owner owner;
    sim_ns period_ns; /* 0: none; routers see the present */
    sim_ns seen_ns;   /* time of the latest report */
    sim_ns quiet_ns;  /* while none is armed: nothing has changed since then */
    struct replica_load *loads;   /* [n_replicas] */
    struct replica_usage *usages; /* [n_replicas] */
};

/* A router and its state. */
struct fleet_router {
    const struct router *router;
    void *state;
};

/* Those that routers may choose from, where replicas come and go: the ones that are up, by number. */
struct fleet_candidates {
    int32_t n;
    int32_t *numbers;           /* [n_replicas]; NULL: all are, all the time */
    struct replica_load *loads; /* [n_replicas]: what the latest router saw of them */
};

struct fleet {
    const struct service_config *config;
    const struct service_env *env;
    const struct llm_spec *llm;
    size_t n_pools;
    struct fleet_pool *pools;
    int32_t n_replicas;
    /* replicas 0 .. n_prompt - 1 may process prompts, first_decode and later may decode */
    int32_t n_prompt, first_decode;
    struct replica *replicas;
    struct replica_load *loads;  /* [n_replicas] */
    int64_t *reserved_tokens;    /* [n_replicas] */
    int64_t n_handovers;         /* under way */
    struct fleet_router routing, decode_routing; /* the latter without a router where nothing is handed over */
    struct rng random;           /* for routers */
    bool *asked_oracle;          /* whether the router that is being asked has looked into the future */
    struct fleet_reports reports;
    struct fleet_candidates candidates;
    int32_t prefix_block_tokens; /* of the blocks that prompts are cached in; 0: not yet known */
};

/* Takes the GPUs, builds the cost models and the replicas. `common` is what all replicas share but their pool's own
 * batcher and model; config, env and llm outlive the fleet. Returns 0 or a negative code with findings; fleet_fini also
 * after failure. */
int fleet_init(struct fleet *fleet, const struct service_config *config, const struct service_env *env,
               const struct llm_spec *llm, const struct replica_env *common);
void fleet_fini(struct fleet *fleet);

/* Takes the GPUs of a replica, all stages or none. Returns 1, 0 where the cluster has no room now, or SIM_E_NOMEM.
 * fleet_unseat gives them back; what is on its way there must have come. Both in fleet_seat.c. */
int fleet_seat(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica, sim_ns now);
void fleet_unseat(const struct fleet *fleet, struct replica *replica, sim_ns now);

/* Whether its replicas can start anew: no pools, nothing offloaded, a router that chooses one replica. */
bool fleet_may_restart(const struct fleet *fleet);

/* What cannot scale is found: 0 or SIM_E_CONFIG. For a fleet whose pools are built. */
int fleet_check_scaling(const struct fleet *fleet);

/* The finding for a replica that found no room when the fleet was built. */
int fleet_refuse_seat(const struct fleet *fleet, const struct fleet_pool *pool, int32_t index);

/* An empty replica is as new, but for what it has counted. Returns 0 or a negative code. */
int fleet_renew(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica);

/* Forgets what its replica has cached (replica_forget_prefixes). Returns 0 or a negative code. */
int fleet_forget_prefixes(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica);

/* Chooses the replica that is to process the request's prompt, and the one that is to decode it if that is known by
 * then. Returns 0, or SIM_E_POLICY with a finding. */
int fleet_route(struct fleet *fleet, struct request *request, sim_ns now);

/* Chooses the replica that is to decode a request whose prompt is or will be processed elsewhere. Returns likewise. */
int fleet_route_decode(struct fleet *fleet, struct request *request, sim_ns now);

/* The KV of its prompt is no longer at the replica that processed it. */
void fleet_handed_over(struct fleet *fleet, const struct request *request, int32_t prompt_replica);

/* The request leaves the system. */
void fleet_leave(struct fleet *fleet, const struct request *request);

/* What routers see of a replica. */
const struct replica_load *fleet_seen_load(const struct fleet *fleet, int32_t replica);

/* Reports. Each is before a router is asked, and after the last request has left: from then on nothing
 * changes, and no report keeps the run going. */
int fleet_reports_init(struct fleet *fleet); /* 0 or SIM_E_NOMEM */
void fleet_reports_fini(struct fleet *fleet);
void fleet_reports_before_routing(struct fleet *fleet, sim_ns now);
void fleet_reports_when_empty(struct fleet *fleet, sim_ns now);

/* Whether every replica that the request may come to has room for it. The last token is never processed, so it needs
 * none. */
bool fleet_can_serve(const struct fleet *fleet, const struct request *request);

/* The pool whose replicas have room for the fewest tokens; the first of equals. */
const struct fleet_pool *fleet_smallest_kv(const struct fleet *fleet);

/* A request has come whose prompt is known by prefix blocks of so many tokens: from the first one on replicas that are
 * to cache prefixes do. Returns 0, or a negative code with a finding: lengths that differ, or are no multiple of a KV
 * block. */
int fleet_share_prefixes(struct fleet *fleet, int32_t block_tokens);

/* Whether any of its replicas is to cache prefixes. */
bool fleet_caches_prefixes(const struct fleet *fleet);

/* Tokens of a block of a request's own chain: those of its trace's blocks, of which the trace has some in other rows
 * (0: it has none), else of KV blocks; 0 where none fits all pools that cache prefixes, or none does. */
int32_t fleet_own_block_tokens(const struct fleet *fleet, int32_t trace_block_tokens);

/* Requests at the replicas. */
int64_t fleet_outstanding(const struct fleet *fleet);

/* The number of a candidate in the fleet. */
static inline int32_t fleet_view_number(const struct fleet_view *view, int32_t candidate)
{
    return view->numbers != NULL ? view->numbers[candidate] : view->first + candidate;
}

/* The pool of a replica. */
static inline const struct fleet_pool *fleet_pool_of(const struct fleet *fleet, int32_t replica)
{
    const struct fleet_pool *pool = fleet->pools;
    while (replica < pool->first || replica >= pool->first + pool->n) pool++;
    return pool;
}

/* --- Inside: fleet*.c --- */

/* The path, and the place, of a key of the pool, or of the service where it has no pools. The path is NULL without
 * memory. */
const char *fleet_path_of(const struct fleet *fleet, const struct fleet_pool *pool, const char *key);
const char *fleet_place_of(const struct fleet *fleet, const struct fleet_pool *pool, const char *key);

/* Warns of every setting of the service that a scenario gives and that nothing here reads, with its place. The pools
 * are built and the routers chosen by then. */
void fleet_tell_unread(const struct fleet *fleet);

/* Whether the scenario says otherwise than by default how replicas start again after failures. */
bool fleet_sets_restart(const struct fleet *fleet);

#endif
