/* The inside of a service whose number of replicas varies. */
#ifndef ORRERY_WORLD_SERVICE_SCALING_STATE_H
#define ORRERY_WORLD_SERVICE_SCALING_STATE_H

#include "sim/world/policy/autoscaling.h"
#include "sim/world/service/service_state.h"

/* Replicas that start and stop on decisions of the service's autoscaler, or of one of each pool that scales. A pool
 * without one keeps its number of replicas, but for failures.
 *
 *     down -> starting -> up -> draining -> down     a draining replica that is wanted again is up at once;
 *                                                    a failure of its node takes it down from any state
 *                                                    (service_failures.c)
 *
 * At every multiple of the interval, starting at time 0, the autoscaler returns a number of replicas, which is limited
 * to min and max. A starting replica takes all its GPUs from the cluster at once and is up when its weights are loaded;
 * at time 0 they are. If there is no room, preemptible running jobs yield (holder.h); otherwise the next decision tries
 * again. A replica that is no longer wanted gets no new requests, finishes those it has, and releases its GPUs; a
 * starting one releases them at once. Replicas start in the order of their numbers, draining ones first. They stop in
 * reverse order, starting ones first. If several pools decide at one moment, all see the service as it was before, and
 * GPUs are released before others are taken. Each pool gets its min
 * first, those that decode before the others: processed prompts hold GPUs until their KV has left. Then they get the
 * rest, in the order of pools.
 *
 * A draining replica that processes prompts for others keeps its GPUs until their KV has left. One that decodes
 * finishes all requests that it was chosen for, also those whose prompts are still processed elsewhere.
 *
 * A replica that restarts has a new state of its batching policy and an empty cache. Requests that find no replica up
 * wait at the service, in order of arrival. They are routed a nanosecond after the first one is up: at that very moment
 * a request would come after some of the boundaries between iterations. After the trace has ended and the last request
 * has left, the service goes down to min and its autoscaler is no longer called. Decisions keep no run alive.
 *
 * Leaves out: offloaded weights, routers that choose pairs; how the weights reach the GPUs, and competition on that
 * path; requests that move from a draining replica to another one. */

struct service_scaling;

/* For a service with a built fleet. *scaling is NULL if the number of replicas is constant: neither an autoscaler nor
 * failing nodes (service_failures.c) change it. Functions below that accept NULL then behave as if all replicas were
 * always up. Returns 0 or a negative code with findings. */
int scaling_create(struct service *service, struct service_scaling **scaling);
void scaling_destroy(struct service_scaling *scaling); /* may be NULL; after the engine */

void scaling_start(struct service_scaling *scaling);
void scaling_on_dry(struct service_scaling *scaling); /* the trace has ended */
void scaling_on_arrival(struct service_scaling *scaling);
void scaling_on_leave(struct service_scaling *scaling, const struct request *request, sim_ns now);

/* The KV of a prompt has left the replica that processed it. */
void scaling_on_release(struct service_scaling *scaling, int32_t replica, sim_ns now);

/* Whether an arriving request has to wait for a replica; if so, it waits here. */
bool scaling_makes_wait(struct service_scaling *scaling, struct request *request);

/* Requests that wait for a replica. */
int64_t scaling_waiting(const struct service_scaling *scaling);
void scaling_each_waiting(const struct service_scaling *scaling, void (*visit)(void *context, struct request *request),
                          void *context);

/* How long a replica has held GPUs by `now`, as a time, and as a share of `now` and of the time after the warm-up (0 if
 * there was none); whether it holds them. */
sim_ns scaling_held_ns(const struct service_scaling *scaling, int32_t replica, sim_ns now);
double scaling_held_frac(const struct service_scaling *scaling, int32_t replica, sim_ns now);
double scaling_late_held_frac(const struct service_scaling *scaling, int32_t replica, sim_ns now);
sim_ns scaling_late_ns(const struct service_scaling *scaling, sim_ns since_ns, sim_ns now); /* time after the warm-up */
bool scaling_is_placed(const struct service_scaling *scaling, int32_t replica);

/* Series of a service that scales: of all replicas, then of each pool that scales. They are appended to `series`, which
 * may be NULL. Returns their number, or SIM_E_NOMEM. scaling_sample writes their values (sampler.h). */
int scaling_series(const struct service_scaling *scaling, struct sampler_series *series);
void scaling_sample(const struct service_scaling *scaling, double *values);

/* Checks INV-10. */
void scaling_check(const struct service_scaling *scaling);

/* Emits the metrics of all scaling services together, of each if there are several, and of pools that scale. Returns 0
 * or the sink's code. */
int services_emit_scaling(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);

/* Emits the effects of failures on all services subject to them together and, if there are several, on each. Returns 0
 * or the sink's code. */
int services_emit_failures(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);

enum replica_phase { REPLICA_DOWN, REPLICA_STARTING, REPLICA_UP, REPLICA_DRAINING, REPLICA_PHASES };

/* A replica's present tenure of GPUs. `held_ns`: sum of the earlier ones; `late_ns`: of these after the warm-up. */
struct tenure {
    enum replica_phase phase;
    bool has_failed;          /* taken down by a failure, and not up again */
    int64_t n_failed;         /* how often */
    sim_ns since_ns, held_ns, late_ns;
    sim_ns up_ns;           /* while it starts: when it will be up */
    /* while it is up: the latest decision, or its coming up, and what it had computed by then */
    sim_ns seen_ns, busy_ns;
};

/* The replicas of one pool. */
struct pool_scaling {
    const struct fleet_pool *pool;
    const struct scaling_config *config;
    const struct autoscaler *autoscaler; /* NULL: the number is constant, except for failures */
    void *state;
    int64_t min; /* replicas that stay at the end */
    int64_t wanted;
    const char *reason;      /* of the latest decision */
    sim_ns next_ns;          /* the next decision; SIM_NS_MAX: none */
    bool decides, tries_again; /* at the clock's present event; at its next: start the replicas that are missing */
    int32_t count[REPLICA_PHASES];
    int32_t lowest[REPLICA_PHASES], highest[REPLICA_PHASES]; /* none in this state is below, or above */
    struct level up, placed, missing; /* replicas */
    int64_t n_starts, n_drains;
    int64_t n_seen; /* requests that had arrived by the latest decision */
};

struct service_scaling {
    struct service *service;
    struct owner clock;   /* of the next decision, or of an earlier event */
    struct owner release; /* of the routing of held requests */
    bool scales; /* some pool has an autoscaler */
    struct pool_scaling *pools; /* [fleet.n_pools] */
    int32_t n; /* replicas, in all lives */
    struct tenure *tenures;
    bool moved;   /* GPUs were taken or released in this event */
    bool is_over; /* the last request has left */
    struct request_list waiting;
    struct level up, missing; /* replicas of all pools */
    int64_t n_held, n_yielded;
    int64_t n_arrived; /* requests */
    struct level failed, gone;     /* replicas that failures keep from being up; 1 while they keep all */
    int64_t n_failed, n_lost_requests;
    int32_t only_node; /* as service_only_node, at the start */
};

/* The view of a pool's autoscaler; starts the counts since the previous decision anew. */
struct autoscaling_view scaling_make_view(struct service_scaling *scaling, struct pool_scaling *pool, sim_ns now);

static inline int64_t scaling_serving(const struct pool_scaling *pool)
{
    return pool->count[REPLICA_UP] + pool->count[REPLICA_STARTING];
}

/* Emits a decision row about a replica, or (-1) about none in particular. Returns 0 or the sink's code. */
int scaling_emit_decision(const struct service_scaling *scaling, const char *policy, int32_t replica,
                          const char *action, const char *reason, sim_ns now);

/* An empty replica releases its GPUs and is down. Returns 0 or a negative code. */
int scaling_leave_gpus(struct service_scaling *scaling, int32_t index, sim_ns now);

/* At the end of this moment: tries to start the replicas that are missing, of all pools or of the constant ones. */
void scaling_try_again(struct service_scaling *scaling, bool only_constant);

/* Routes the requests that wait at the service, while a replica is up. An event of `release`. */
void scaling_route_waiting(struct engine *engine, struct owner *owner, sim_ns now);

/* service_failures.c: the number of replicas that are up, or wanted, has changed. */
void scaling_count_failed(struct service_scaling *scaling, sim_ns now);

/* The replica is no longer kept down by a failure. */
void scaling_clear_failure(struct service_scaling *scaling, int32_t index, sim_ns now);

#endif
