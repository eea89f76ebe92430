/* The inside of a service whose replicas come and go. Only the service_scaling*.c files include this. */
#ifndef ORRERY_WORLD_SERVICE_SCALING_STATE_H
#define ORRERY_WORLD_SERVICE_SCALING_STATE_H

#include "sim/world/service/service_state.h"

/* Replicas that come and go, as the service's autoscaler wants.
 *
 *     down -> starting -> up -> draining -> down       a draining one that is wanted again is up at once; a failure of its node
 *                                                      takes one down from any of them (service_struck.c)
 *
 * At every multiple of the interval, time 0 first, the autoscaler says how many replicas there are to be, and the world
 * keeps that within min and max. One that is to start takes its GPUs from the cluster, all at once, and is up when its
 * weights are loaded; at time 0 they are already. Where there is no room, running jobs that may be preempted yield
 * (holder.h); else the next decision tries again. One that is not wanted any more gets no new requests, finishes those
 * it has, and gives its GPUs back; one that only starts gives them back at once. Replicas come in the order of their
 * numbers, draining ones first, and go in the other order, those first that only start.
 *
 * A replica that comes back has a new state of its batching policy and nothing cached. Requests that find no replica up
 * wait at the service, in the order in which they came, and are routed a nanosecond after the first one is up: at that
 * very moment a request would come after some of the boundaries between iterations. When the trace has ended and the
 * last request has left, the service goes down to min, and asks its autoscaler no more: decisions keep no run going.
 *
 * Leaves out: pools, offloaded weights, routers that choose pairs; the way by which the weights come, and whether
 * others use it; requests that move from a draining replica to another one. */

struct service_scaling;

/* Of a service whose fleet has been built; NULL where its replicas do not come and go, neither as an autoscaler wants
 * nor with nodes that fail (service_struck.c), and then everything below that takes a NULL is as if they were up all
 * the time. Returns 0 or a negative code with findings. */
int scaling_create(struct service *service, struct service_scaling **scaling);
void scaling_destroy(struct service_scaling *scaling); /* may be NULL; after the engine */

void scaling_start(struct service_scaling *scaling);
void scaling_on_dry(struct service_scaling *scaling); /* the trace is at its end */
void scaling_on_arrival(struct service_scaling *scaling);
void scaling_on_leave(struct service_scaling *scaling, const struct request *request, sim_ns now);

/* Whether a request that comes has to wait for a replica; then it waits here. */
bool scaling_holds(struct service_scaling *scaling, struct request *request);

/* Requests that wait for a replica. */
int64_t scaling_held(const struct service_scaling *scaling);
void scaling_each_held(const struct service_scaling *scaling, void (*visit)(void *context, struct request *request),
                       void *context);

/* How long a replica has had GPUs by now, as a time and as a share of it; whether it has them. */
sim_ns scaling_held_ns(const struct service_scaling *scaling, int32_t replica, sim_ns now);
double scaling_held_frac(const struct service_scaling *scaling, int32_t replica, sim_ns now);
bool scaling_is_seated(const struct service_scaling *scaling, int32_t replica);

/* Values of the series of services that scale (sampler.h). */
void scaling_sample(const struct service_scaling *scaling, double *values);

/* Checks INV-10. */
void scaling_check(const struct service_scaling *scaling);

/* Emits the metrics of all services that scale together and, where they are several, of each. Returns 0 or the sink's
 * code. */
int services_emit_scaling(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);

/* Emits what failures did to all services that they may strike together and, where they are several, to each. Returns
 * likewise. */
int services_emit_struck(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);

enum replica_life { REPLICA_DOWN, REPLICA_STARTING, REPLICA_UP, REPLICA_DRAINING, REPLICA_LIVES };

/* A replica with GPUs, from when it takes them until it gives them back; `held_ns`: of the earlier ones. */
struct tenure {
    enum replica_life life;
    bool is_struck;          /* a failure took it, and it is not up again */
    sim_ns since_ns, held_ns;
    sim_ns up_ns;            /* while it starts: when it will be up */
    /* while it is up: the latest decision, or its coming up, and what it had computed by then */
    sim_ns seen_ns, busy_ns;
};

struct service_scaling {
    struct service *service;
    const struct scaling_config *config;
    int64_t min;          /* replicas that stay when all is over */
    struct owner clock;   /* of the next decision, or of what comes before it */
    struct owner release; /* of requests that are held */
    const struct autoscaler *autoscaler; /* NULL: as many as `replicas` says, but for failures */
    void *state;
    int32_t n; /* replicas, in all lives */
    struct tenure *tenures;
    int32_t count[REPLICA_LIVES];
    sim_ns delay_ns; /* from taking GPUs to being up */
    sim_ns next_ns;  /* the next decision; SIM_NS_MAX: none */
    int64_t wanted;
    bool moved;      /* GPUs, in this event */
    bool tries_again; /* at the clock's next event: to have as many as are wanted */
    bool is_over;    /* and everybody knows */
    struct request_list held;
    struct level up, seated, missing; /* replicas */
    int64_t n_starts, n_drains, n_held, n_yielded;
    int64_t n_arrived, n_seen; /* requests; by the latest decision */
    struct level struck, gone;     /* replicas that failures keep from being up; 1 while they keep all */
    int64_t n_struck, n_struck_requests;
};

/* What the autoscaler sees; what it is told as since the previous decision starts anew. */
struct autoscaling_view scaling_look(struct service_scaling *scaling, sim_ns now);

/* Emits a decision row about a replica, or (-1) about none in particular. Returns 0 or the sink's code. */
int scaling_tell_as(const struct service_scaling *scaling, const char *policy, int32_t replica, const char *action,
                    const char *reason, sim_ns now);

/* An empty replica leaves its GPUs, and is down. Returns 0 or a negative code. */
int scaling_leave_gpus(struct service_scaling *scaling, int32_t index, sim_ns now);

/* At the end of this moment: it tries to have as many replicas as are wanted. */
void scaling_try_again(struct service_scaling *scaling);

/* Requests that wait at the service are routed, as long as a replica is up. An event of `release`. */
void scaling_route_held(struct engine *engine, struct owner *owner, sim_ns now);

/* service_struck.c: replicas that are up, or wanted, have changed. */
void scaling_count_struck(struct service_scaling *scaling, sim_ns now);

/* No failure keeps this one from being up any more. */
void scaling_forget_strike(struct service_scaling *scaling, int32_t index, sim_ns now);

#endif
