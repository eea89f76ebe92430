/* Replicas that come and go, as the service's autoscaler wants.
 *
 *     down -> starting -> up -> draining -> down       a draining one that is wanted again is up at once; a failure of its node
 *                                                      takes one down from any of them (service_struck.c)
 *
 * At every multiple of the interval, time 0 first, the autoscaler says how many replicas there are to be, and the world keeps
 * that within min and max. One that is to start takes its GPUs from the cluster, all at once, and is up when its weights are
 * loaded; at time 0 they are already. Where there is no room, running jobs that may be preempted yield (holder.h);
 * else the next decision tries again. One that is not wanted any more gets no new requests, finishes those it has, and
 * gives its GPUs back; one that only starts gives them back at once. Replicas come in the order of their numbers, draining ones
 * first, and go in the other order, those first that only start.
 *
 * A replica that comes back has a new state of its batching policy and nothing cached. Requests that find no replica up wait at
 * the service, in the order in which they came, and are routed a nanosecond after the first one is up: at that very moment a
 * request would come after some of the boundaries between iterations. When the trace has ended and the last request has left,
 * the service goes down to min, and asks its autoscaler no more: decisions keep no run going.
 *
 * Leaves out: pools, offloaded weights, routers that choose pairs; the way by which the weights come, and whether others use it;
 * requests that move from a draining replica to another one. */
#ifndef ORRERY_WORLD_SERVICE_SERVICE_SCALING_H
#define ORRERY_WORLD_SERVICE_SERVICE_SCALING_H

#include "sim/world/service/service_state.h"

struct service_scaling;

/* Of a service whose fleet has been built; NULL where its replicas do not come and go, neither as an autoscaler wants nor with nodes
 * that fail (service_struck.c), and then everything below that takes a
 * NULL is as if they were up all the time. Returns 0 or a negative code with findings. */
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

/* Emits the metrics of all services that scale together and, where they are several, of each. Returns 0 or the sink's code. */
int services_emit_scaling(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);

/* Emits what failures did to all services that they may strike together and, where they are several, to each. Returns likewise. */
int services_emit_struck(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);

#endif
