/* The replicas of a service, in pools of equal ones, and the router that sends requests to them.
 *
 * Replicas are numbered by role (prefill, mixed, decode), then by pool in the scenario's order. Replicas that may
 * process prompts, and replicas that may decode, are thus each a range. */
#ifndef ORRERY_WORLD_SERVICE_FLEET_H
#define ORRERY_WORLD_SERVICE_FLEET_H

#include "models/transformer.h"
#include "sim/catalog/power.h"
#include "sim/core/change_log.h"
#include "sim/core/rng.h"
#include "sim/world/policy/routing.h"
#include "sim/world/replica/replica.h"
#include "sim/world/service/service.h"

struct fleet_pool {
    struct pool_config config;
    struct gpu_spec gpu;
    struct offload_service offload;
    struct gpu_power power;         /* of a GPU, as far as known */
    struct energy_model energy;     /* of a replica; valid if env.energy points here */
    struct holder_draw draw;        /* of each replica */
    struct clock_model clock_model; /* valid if env.clock_model points here */
    struct replica_env env; /* shared by its replicas */
    struct time_error time_error; /* of its cost model, in runs at an end of the interval */
    int64_t kv_blocks;      /* of each */
    int32_t first, n;       /* its replicas */
    int32_t *on_node;       /* [nodes of the site] replicas with a part there; NULL: the service is not spread */
    int32_t *in_rack;       /* [nodes of the site] of the rack that begins with this node */
};

/* What routers see of a replica beyond its load. */
struct replica_usage {
    int64_t kv_blocks, decode_context_tokens;
    int64_t reserved_tokens; /* see fleet_view_reserved_tokens */
    int64_t entering_prompts, idle_sequences;
};

/* The bulletin board of a service with an information delay. Every replica reports at the multiples of the period, and
 * routers see the latest report (periodic update of Mitzenmacher, "How Useful Is Old Information?", 2000). */
struct fleet_reports {
    struct owner owner;
    sim_ns period_ns; /* 0: none; routers see the present */
    sim_ns seen_ns;   /* time of the latest report */
    sim_ns quiet_ns;  /* while none is armed: the time since which nothing has changed */
    struct replica_load *loads;   /* [n_replicas] */
    struct replica_usage *usages; /* [n_replicas] */
};

/* A router and its state. */
struct fleet_router {
    const struct router *router;
    void *state;
};

/* The replicas that routers may choose from, when replicas come and go: those that are up, by number. */
struct fleet_candidates {
    int32_t n;
    int32_t *numbers;           /* [n_replicas]; NULL: all replicas are always up */
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
    int32_t *on_node;            /* [nodes of the site] replicas with a part there; NULL: it is not spread */
    struct replica_load *loads;  /* [n_replicas] */
    struct change_log changed_loads; /* of replicas, but for `decodes` */
    int64_t *reserved_tokens;    /* [n_replicas] */
    struct fleet_router routing, decode_routing; /* the latter without a router where nothing is handed over */
    struct rng random;           /* for routers */
    bool *asked_oracle;          /* whether the router being asked has read the future */
    struct fleet_reports reports;
    struct fleet_candidates candidates;
    int32_t prefix_block_tokens; /* length of prefix blocks; 0: not yet known */
    struct prefix_stores stores;
};

/* Takes the GPUs, builds the cost models and the replicas. `common` is what all replicas share but their pool's own
 * batcher and model; config, env and llm outlive the fleet. Returns 0 or a negative code with findings; fleet_fini
 * also after failure. */
int fleet_init(struct fleet *fleet, const struct service_config *config, const struct service_env *env,
               const struct llm_spec *llm, const struct replica_env *common);
void fleet_fini(struct fleet *fleet);

/* How a replica takes its GPUs: n parts, each of so many GPUs of one node. A part is a stage, or where a stage is
 * wider than a node, all of a node. */
struct fleet_parts {
    int32_t gpus;
    int64_t n;
};
struct fleet_parts fleet_parts_of(const struct fleet *fleet, const struct pool_config *pool);

/* Most GPUs of a node with the pool's GPU; 0: the cluster is unlimited. */
int32_t fleet_gpus_per_node(const struct fleet *fleet, const struct pool_config *pool);

/* The GPUs of a replica that have the KV of a sequence: all of them, or those of the attention group. */
const struct topology_placement *fleet_kv_placement(const struct replica *replica, int32_t group);

/* Lists the GPUs of each attention group, of services that hand KV over. Returns 0 or SIM_E_NOMEM.
 * fleet_relist_groups: of a replica that has taken other GPUs. In fleet_gpus.c. */
int fleet_list_groups(struct fleet *fleet);
void fleet_relist_groups(const struct fleet_pool *pool, struct replica *replica);

/* Marks the placements of all replicas as bundled, once they are taken, if their links carry nothing but KV in equal
 * parts (sim/world/links/bundle.c). In fleet_gpus.c. */
void fleet_bundle(struct fleet *fleet);

/* Takes the GPUs of a replica, all stages or none. Returns 1, 0 where the cluster has no room now, or SIM_E_NOMEM.
 * fleet_release_gpus gives them back; no transfer to it may be under way. Both in fleet_gpus.c. */
int fleet_take_gpus(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica, sim_ns now);
void fleet_release_gpus(const struct fleet *fleet, struct replica *replica, sim_ns now);

/* --- fleet_spread.c: where the replicas of a service with "placement": "spread" go --- */

/* Called once the pools are known. Returns 0 or SIM_E_NOMEM; fleet_spread_fini is due also after failure. */
int fleet_spread_init(struct fleet *fleet);
void fleet_spread_fini(struct fleet *fleet);

/* Takes the GPUs of part number `i` of a replica. Returns the number of the node in the site; -1: none has room. */
int32_t fleet_spread_part(const struct fleet *fleet, const struct fleet_pool *pool, const struct replica *replica,
                          struct fleet_parts parts, int64_t i, sim_ns now);

/* Counts a replica on its nodes: it has taken its GPUs (sign 1), or gives them back (-1). */
void fleet_spread_count(const struct fleet *fleet, const struct replica *replica, int32_t sign);

/* Most replicas of the pool on one node, if they take the GPUs that are free now. */
int64_t fleet_spread_most(const struct fleet *fleet, const struct pool_config *pool);

/* Checks that the site has nodes to spread over. Returns 0, or SIM_E_CONFIG with a finding. */
int fleet_check_spread(const struct fleet *fleet);

/* A replica that a failure took will take as many GPUs again, to hold them until the run ends: jobs count them as in
 * use. The claim ends when it takes GPUs, or by `claims` false. */
void fleet_claim_gpus(const struct fleet *fleet, struct replica *replica, bool claims);

/* Whether its replicas can start anew: nothing offloaded, a router that chooses one replica. */
bool fleet_may_restart(const struct fleet *fleet);

/* What cannot scale is found: 0 or SIM_E_CONFIG. For a fleet whose pools are built. */
int fleet_check_scaling(const struct fleet *fleet);

/* A stage wider than a node needs whole nodes and a network between them: 0 or SIM_E_UNFIT with a finding. */
int fleet_check_width(const struct fleet *fleet, const struct fleet_pool *pool);

/* Nodes that a stage of the pool's replicas lies on. */
int64_t fleet_nodes_of_stage(const struct fleet *fleet, const struct fleet_pool *pool);

/* Whether the collectives of a pool's replicas are on the links between nodes ("collectives" of cluster.network), and
 * whether they can be: 0 or SIM_E_CONFIG with a finding. In fleet_gpus.c. */
bool fleet_shares_links(const struct fleet *fleet, const struct fleet_pool *pool);
int fleet_check_sharing(const struct fleet *fleet, const struct fleet_pool *pool);

/* Whether the collectives of replicas over nodes could be on those links: of one stage, with a cost that says what
 * GPUs send, without a draft model. For a pool that is built. In fleet_gpus.c. */
bool fleet_may_share(const struct fleet_pool *pool);

/* Warns of replicas over nodes on switches that cannot carry their collectives, which are timed as if alone. In
 * fleet_scarce.c. */
void fleet_warn_scarce(const struct fleet *fleet);

/* The finding for a replica without room when the fleet was built. */
int fleet_refuse_replica(const struct fleet *fleet, const struct fleet_pool *pool, int32_t index);

/* Reports that the GPUs of a replica have no memory for a KV cache, and the least tensor parallelism that has. Returns
 * SIM_E_UNFIT. */
int fleet_refuse_memory(const struct fleet *fleet, const struct fleet_pool *pool);

/* Whether nothing keeps the cache of a pool that frees what lies behind windows from it. Returns 0 or SIM_E_CONFIG. */
int fleet_check_windows(const struct fleet *fleet, const struct fleet_pool *pool);

/* Makes an empty replica like new, except for its counts. Returns 0 or a negative code. */
int fleet_renew(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica);

/* Calls replica_forget_prefixes with the pool's cache options. Returns 0 or a negative code. */
int fleet_forget_prefixes(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica);

/* Chooses the replica that processes the request's prompt, and the one that decodes it if the router chooses both.
 * Returns 0, or SIM_E_POLICY with a finding. */
int fleet_route(struct fleet *fleet, struct request *request, sim_ns now);

/* Chooses the replica that decodes a request whose prompt is processed elsewhere. Returns 0, or SIM_E_POLICY with a
 * finding. */
int fleet_route_decode(struct fleet *fleet, struct request *request, sim_ns now);

/* Forgets the replica that was to decode a request: fleet_route_decode is to choose again. */
void fleet_unassign_decode(struct fleet *fleet, struct request *request);

/* Whether a replica is up that processes prompts; one that decodes what another one has processed. */
bool fleet_may_prompt(const struct fleet *fleet);
bool fleet_may_decode(const struct fleet *fleet);

/* The KV of the request's prompt has left the replica that processed it. */
void fleet_handed_over(struct fleet *fleet, const struct request *request, int32_t prompt_replica);

/* A sequence of a request that decodes counts like the request from now on. */
void fleet_fork(struct fleet *fleet, struct request *sequence);

/* The request leaves the system. */
void fleet_leave(struct fleet *fleet, const struct request *request);

/* What routers see of a replica. */
const struct replica_load *fleet_seen_load(const struct fleet *fleet, int32_t replica);

/* Reports. Call fleet_reports_before_routing before asking a router, and fleet_reports_when_empty after the last
 * request has left; then nothing changes, and no report keeps the run alive. */
int fleet_reports_init(struct fleet *fleet); /* 0 or SIM_E_NOMEM */
void fleet_reports_fini(struct fleet *fleet);
void fleet_reports_before_routing(struct fleet *fleet, sim_ns now);
void fleet_reports_when_empty(struct fleet *fleet, sim_ns now);

/* Whether every replica that the request may reach has room for it. The last token is never processed, so it needs
 * none. */
bool fleet_can_serve(const struct fleet *fleet, const struct request *request);

/* KV blocks that one sequence can have at a replica: those of its attention group. */
int64_t fleet_sequence_blocks(const struct fleet_pool *pool);

/* Tokens of the longest sequence that these hold, with what layers with a window take of them. */
int64_t fleet_sequence_tokens(const struct fleet *fleet, const struct fleet_pool *pool);

/* The pool whose replicas hold the fewest tokens of a sequence; the first of equals. */
const struct fleet_pool *fleet_smallest_kv(const struct fleet *fleet);

/* For a request with prefix blocks of block_tokens tokens: from the first such request on, replicas with a prefix
 * cache policy cache prefixes. Returns 0, or a negative code with a finding if lengths differ or are no multiple of a
 * KV block. */
int fleet_share_prefixes(struct fleet *fleet, int32_t block_tokens);

/* Whether any pool has a prefix cache policy. */
bool fleet_caches_prefixes(const struct fleet *fleet);

/* Tokens per block of a request's own chain: those of the trace's prefix blocks (0: it has none), else of KV blocks.
 * Returns 0 if no pool caches prefixes or no length fits all that do. */
int32_t fleet_own_block_tokens(const struct fleet *fleet, int32_t trace_block_tokens);

/* Gives each replica the prefix store of its pool, if there is one. Returns 0 or a negative code with a finding;
 * fleet_store_fini also after failure. In fleet_store.c. */
int fleet_store_init(struct fleet *fleet);
void fleet_store_fini(struct fleet *fleet);

/* Gives each replica the chunk store of its pool, if there is one. Returns 0 or a negative code with a finding. In
 * fleet_chunks.c, like the next four. */
int fleet_chunks_init(struct fleet *fleet);
bool fleet_reuses_chunks(const struct fleet *fleet);      /* whether any pool has one */
void fleet_chunks_check(const struct fleet *fleet);       /* a fault ends the process */
int64_t fleet_blocks_beside_chunks(const struct fleet_pool *pool); /* KV blocks that its part in GPU memory leaves */
int fleet_refuse_chunks(const struct fleet *fleet, const struct fleet_pool *pool); /* it leaves none */

/* Unfinished requests at the replicas. */
int64_t fleet_outstanding(const struct fleet *fleet);

/* The replica number of a candidate. */
static inline int32_t fleet_view_number(const struct fleet_view *view, int32_t candidate)
{
    return view->numbers != NULL ? view->numbers[candidate] : view->first + candidate;
}

/* Tells the sink, which asks for it, what a router sees of its candidates (service_seen.c). Returns 0 or the sink's
 * code. */
int fleet_emit_seen(const struct fleet *fleet, const struct policy *policy, const struct fleet_view *view,
                    const struct request *request, sim_ns now);

/* The pool of a replica. */
static inline const struct fleet_pool *fleet_pool_of(const struct fleet *fleet, int32_t replica)
{
    const struct fleet_pool *pool = fleet->pools;
    while (replica < pool->first || replica >= pool->first + pool->n) pool++;
    return pool;
}

/* --- Inside: fleet*.c --- */

/* The config path, and the place in the document, of a key of the pool; of the service if it has no pools. NULL when
 * out of memory. */
const char *fleet_path_of(const struct fleet *fleet, const struct fleet_pool *pool, const char *key);
const char *fleet_place_of(const struct fleet *fleet, const struct fleet_pool *pool, const char *key);

/* Where the cost of a pool is given: pools that share that of the service have one place. In fleet_unread.c. */
const char *fleet_place_of_cost(const struct fleet *fleet, const struct fleet_pool *pool);

/* Sets env.speculation of a pool whose model and power are known, if the service speculates and the pool decodes.
 * Returns 0 or a negative code with a finding. */
int fleet_build_speculation(const struct fleet *fleet, struct fleet_pool *pool);

/* Sets env.sampling of a pool whose KV blocks are known, if requests decode as several sequences. Returns 0 or a
 * negative code with a finding. */
int fleet_build_sampling(const struct fleet *fleet, struct fleet_pool *pool);

/* KV blocks of a replica that also holds a draft model, with the keys and values of its tokens; pool->kv_blocks
 * without one. */
int64_t fleet_blocks_beside_draft(const struct fleet *fleet, const struct fleet_pool *pool);

/* Warns of every setting of the service that a scenario gives and nothing reads, with its place. Called after the
 * pools are built and the routers chosen. */
void fleet_warn_unread(const struct fleet *fleet);

/* Whether the scenario changes the defaults of "restart". */
bool fleet_sets_restart(const struct fleet *fleet);

#endif
