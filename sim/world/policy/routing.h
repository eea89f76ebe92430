/* Routing: which replica of a service a request goes to. The view of the replicas and the struct of a router. */
#ifndef ORRERY_WORLD_POLICY_ROUTING_H
#define ORRERY_WORLD_POLICY_ROUTING_H

#include "sim/world/policy/policy.h"
#include "sim/world/policy/request_view.h"

#include <stdint.h>

struct fleet;
struct rng;

/* What the replicas of a pool do for a request: all of it, or its prompt only, or the decoding of prompts that were processed
 * elsewhere. */
enum pool_role { POOL_MIXED, POOL_PREFILL, POOL_DECODE };

/* What a router sees of each replica. */
struct replica_load {
    int64_t outstanding;  /* requests routed there and not finished */
    int64_t waiting;      /* of these, not yet in the batch */
    int64_t queued_tokens; /* of all of these: prompt tokens still to be processed */
    int64_t decodes;      /* unfinished requests that decode there, or will once their prompt has been processed */
};

/* What may become of a request now: n_replicas candidates, which routers number from 0. Everything here, and what
 * fleet_view_* tell, is as it was at seen_ns: now, or under an information delay at the latest report.
 *
 * Where replicas come and go the candidates are those that are up, in the order of their own numbers, so n_replicas changes
 * between two calls. A replica that comes gets the lowest number that is free, and the highest goes first, so that those
 * that stay mostly keep their places. */
struct fleet_view {
    sim_ns now_ns, seen_ns;
    int32_t n_replicas;
    const struct replica_load *loads; /* [n_replicas] */
    struct rng *random;               /* sim/core/rng.h: the service's own stream for its routers */
    const struct fleet *fleet;        /* for fleet_view_* below */
    int32_t first;                    /* of the candidates, in the fleet */
    const int32_t *numbers;           /* [n_replicas]: theirs in a fleet that scales; NULL: from `first` on */
};

/* KV blocks of a candidate: in use, and in all. */
int64_t fleet_view_kv_used_blocks(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_kv_total_blocks(const struct fleet_view *view, int32_t replica);

/* What a candidate's pool is for. */
enum pool_role fleet_view_role(const struct fleet_view *view, int32_t replica);

/* Oracle (ORACLE_OUTPUT): tokens of the largest KV cache that the unfinished requests of a candidate will come to: prompt and
 * output where they decode, the prompt where only that is processed, until it has been handed over. And the same of one request
 * that arrives. Asking without having declared it is a policy fault. */
int64_t fleet_view_reserved_tokens(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_full_tokens(const struct fleet_view *view, const struct request_view *request);

/* Leading tokens of the request's prompt that are in a candidate's prefix cache, now: engines tell of them as they change, so that
 * there is no information delay. */
int64_t fleet_view_prefix_tokens(const struct fleet_view *view, int32_t replica, const struct request_view *request);

/* KV blocks of a candidate in tokens. */
int64_t fleet_view_kv_total_tokens(const struct fleet_view *view, int32_t replica);

/* Prompts that pass the first pipeline stage of a candidate now (where stages do not batch for themselves: any stage), and
 * sequences that decode there and are in no batch, those included whose prompt was processed elsewhere. */
int64_t fleet_view_entering_prompts(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_idle_sequences(const struct fleet_view *view, int32_t replica);

/* Processed tokens of a candidate's decoding sequences. */
int64_t fleet_view_decode_context_tokens(const struct fleet_view *view, int32_t replica);

/* --- The family --- */

/* Where a request's prompt is processed and where it decodes. */
struct route_pair {
    int32_t prompt, decode;
};

/* route: the replica a request goes to, 0 .. n_replicas - 1. In a service with pools it is asked on arrival, of the replicas
 * that may process a prompt, and, by `decode_routing`, when a replica of role prefill has processed it, of those that may
 * decode.
 *
 * route_pair: chooses both replicas on arrival, of all that there are and whatever their roles; the router is not asked
 * again. Returns 0 or a negative code. A router has one of the two functions at least; route_pair goes before route. */
#define ROUTER_FUNCTIONS(X)                                                                                            \
    X(router, ONE_OF, int, route, (void *state, const struct fleet_view *view, const struct request_view *request),      \
      (state, view, request), view, request)                                                             \
    X(router, ONE_OF, int, route_pair,                                                                                 \
      (void *state, const struct fleet_view *view, const struct request_view *request, struct route_pair *pair),        \
      (state, view, request, pair), view, request)

struct router {
    struct policy policy;
    ROUTER_FUNCTIONS(POLICY_MEMBER)
};

#endif
