/* What an offloaded iteration moves, on the links of the site: between host, drives and GPUs, with whoever else is there.
 *
 * While a replica computes, each lane of its iterations (models/offload.h) is a claim on the links of its way: to what the
 * first iteration of a run moves, over the time that it takes alone. Max-min fairness says what is granted. Where that is
 * less, iterations last as long as the lane takes at its share (offload_limit). All that an iteration moves and computes is
 * taken to be spread evenly over it, as it is over its layers; so when a grant changes, because another replica began, went
 * on with another batch or ended, or KV is copied over the same links, what is left of the iteration under way goes on at
 * the new pace at once. A run lasts until its demand has changed by 1/64 where others could notice.
 *
 * Bytes are counted on the links when iterations end, exactly those of the cost model, so that link bytes are the sum of what
 * was moved. A tier of "kv" that has the name of a storage of the cluster is that, and shared by all replicas of the node;
 * other drives are the replica's own, of whose way only the GPUs' links and host memory are the site's.
 *
 * Leaves out: that a lane which is held back leaves some of the iteration's other claims unused; transfers of iterations
 * that nothing overlaps with (serial schedules) and that would meet in the same layers. */
#ifndef ORRERY_WORLD_REPLICA_REPLICA_STREAM_H
#define ORRERY_WORLD_REPLICA_REPLICA_STREAM_H

#include "sim/world/replica/replica.h"

/* For a seated replica whose service offloads. Returns 0, SIM_E_NOMEM or SIM_E_CONFIG with a finding. */
int replica_stream_open(struct replica *replica);
void replica_stream_close(struct replica *replica);

/* The replica begins an iteration of this work now: what it and its likes cost at the shares that are granted to them. Returns 0
 * or SIM_E_NOMEM. */
int replica_stream_cost(struct replica_stream *stream, const struct iteration_work *work, struct iteration_cost *cost);

/* The replica computes nothing: its claims end. */
void replica_stream_rest(struct replica_stream *stream);

/* Counts iterations that have been told of (replica_env.on_batch). */
void replica_stream_count(struct replica_stream *stream, const struct replica_batch *batch);

/* The iteration under way began at this time, at the present shares. */
void replica_stream_begin(struct replica_stream *stream, sim_ns start_ns);

/* Shares have changed within the iteration under way, which was to end at end_ns: when it ends now, later than now. */
sim_ns replica_stream_end_ns(struct replica_stream *stream, const struct iteration_work *work, sim_ns now,
                             sim_ns end_ns);

#endif
