/* Routing: which replica of a service a request goes to. The view of the replicas and the struct of a router. */
#ifndef ORRERY_WORLD_POLICY_ROUTING_H
#define ORRERY_WORLD_POLICY_ROUTING_H

#include "sim/world/policy/policy.h"
#include "sim/world/policy/request_view.h"

#include <stdint.h>

struct change_log;
struct fleet;
struct rng;

/* What the replicas of a pool process of a request: all of it, its prompt only, or its decoding after a prompt that was
 * processed elsewhere. */
enum pool_role { POOL_MIXED, POOL_PREFILL, POOL_DECODE };

/* What a router sees of each replica. */
struct replica_load {
    int64_t outstanding;  /* requests routed there and not finished */
    int64_t waiting;      /* of these, not yet in the batch */
    int64_t queued_tokens; /* prompt tokens that the outstanding requests still have to process */
    int64_t decodes;      /* outstanding requests that decode there now or after their prompt */
};

/* The candidates for a request: n_replicas replicas, which routers number from 0. All members and the results of
 * fleet_view_* are as of seen_ns: now, or the latest report under an information delay.
 *
 * In a service that scales, the candidates are the replicas that are up, ordered by their own numbers, and n_replicas
 * changes between calls. A new replica gets the lowest free number, and the highest number leaves first, so that the
 * others mostly keep their places. */
struct fleet_view {
    sim_ns now_ns, seen_ns;
    int32_t n_replicas;
    const struct replica_load *loads; /* [n_replicas] */
    struct rng *random;               /* sim/core/rng.h: the service's own stream for its routers */
    const struct fleet *fleet;        /* for fleet_view_* below */
    int32_t first;                    /* number of candidate 0 in the fleet */
    const int32_t *numbers;           /* [n_replicas]: numbers in a fleet that scales; NULL: from `first` on */
    /* Numbers in the fleet, each time that outstanding, waiting or queued_tokens changed; NULL: not known, because
     * `loads` are reports, or copies of some replicas. */
    const struct change_log *changed_loads;
};

/* KV blocks of a candidate: in use; total. */
int64_t fleet_view_kv_used_blocks(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_kv_total_blocks(const struct fleet_view *view, int32_t replica);

/* The role of a candidate's pool. */
enum pool_role fleet_view_role(const struct fleet_view *view, int32_t replica);

/* Oracle (ORACLE_OUTPUT): largest KV cache, in tokens, of the unfinished requests of a candidate, and of one arriving
 * request. A request counts prompt and output where it decodes; where only its prompt is processed it counts the
 * prompt, until it has been handed over. A call without the declared oracle is a policy fault. */
int64_t fleet_view_reserved_tokens(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_full_tokens(const struct fleet_view *view, const struct request_view *request);

/* Leading prompt tokens of the request that are in a candidate's prefix cache now: engines report changes at once, so
 * that no information delay applies. */
int64_t fleet_view_prefix_tokens(const struct fleet_view *view, int32_t replica, const struct request_view *request);

/* Of the prompt tokens behind these: those that are in a candidate's prefix store (kv.prefix_store) and that it would
 * load; 0 without a store. Equally up to date. */
int64_t fleet_view_stored_tokens(const struct fleet_view *view, int32_t replica, const struct request_view *request);

/* KV blocks of a candidate in tokens. */
int64_t fleet_view_kv_total_tokens(const struct fleet_view *view, int32_t replica);

/* Prompts on the first pipeline stage of a candidate now; on any stage, unless stages batch independently. Decoding
 * sequences of a candidate in no batch, including those whose prompt was processed elsewhere. */
int64_t fleet_view_entering_prompts(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_idle_sequences(const struct fleet_view *view, int32_t replica);

/* Processed tokens of a candidate's decoding sequences. */
int64_t fleet_view_decode_context_tokens(const struct fleet_view *view, int32_t replica);

/* --- The family --- */

/* Where a request's prompt is processed and where it decodes. */
struct route_pair {
    int32_t prompt, decode;
};

/* route: returns the replica of a request, 0 .. n_replicas - 1, or SIM_E_NOMEM. In a service with pools it is called on
 * arrival, for the replicas that may process a prompt. When a replica of role prefill has processed the prompt,
 * `decode_routing` is called for the replicas that may decode.
 *
 * route_pair: chooses both replicas on arrival, among all replicas whatever their roles; the router is not called
 * again. Returns 0 or a negative code. A router has at least one of the two functions; route_pair takes precedence. */
#define ROUTER_FUNCTIONS(X)                                                                                            \
    X(router, ONE_OF, int, route, (void *state, const struct fleet_view *view, const struct request_view *request),    \
      (state, view, request), view, request)                                                                           \
    X(router, ONE_OF, int, route_pair,                                                                                 \
      (void *state, const struct fleet_view *view, const struct request_view *request, struct route_pair *pair),       \
      (state, view, request, pair), view, request)

struct router {
    struct policy policy;
    ROUTER_FUNCTIONS(POLICY_MEMBER)
    bool ignores_loads;   /* asks nothing about replicas: a delay of what it knows changes nothing */
    bool follows_prefixes; /* goes by cached prefixes; a run without any says so */
    bool follows_sessions; /* goes by sessions; a run without any says so */
};

#endif
