/* What an offloaded iteration moves over the links of the site, between host, drives and GPUs, in competition with
 * others.
 *
 * While a replica computes, each lane of its iterations (models/offload.h) is a claim on the links of its path. The
 * demand is what the first iteration of a run moves, over the time that it takes alone; max-min fairness decides the
 * grant. If the grant is less, iterations last as long as the lane takes at its share (offload_limit). An iteration is
 * assumed to move and compute evenly over its time, as it does over its layers. So when a grant changes, the rest of
 * the current iteration continues at the new speed at once. A run lasts until its demand has changed by 1/64, if others
 * could notice.
 *
 * Bytes are counted on the links when iterations end, exactly those of the cost model, so link bytes are the sum of the
 * moved bytes. A tier of "kv" with the name of a storage of the cluster is that storage, shared by all replicas of the
 * node. Other drives are the replica's own: of their path only the GPUs' links and host memory belong to the site.
 *
 * Leaves out: unused parts of other claims while one lane is throttled; serial schedules, whose transfers overlap with
 * nothing and would meet in the same layers. */
#ifndef ORRERY_WORLD_REPLICA_REPLICA_STREAM_H
#define ORRERY_WORLD_REPLICA_REPLICA_STREAM_H

#include "sim/world/replica/replica.h"

/* For a replica with GPUs whose service offloads. Returns 0, SIM_E_NOMEM or SIM_E_CONFIG with a finding. */
int replica_stream_open(struct replica *replica);
void replica_stream_close(struct replica *replica);

/* The replica begins an iteration of this work now: the cost of this and like iterations at the granted shares. Returns
 * 0 or SIM_E_NOMEM. */
int replica_stream_cost(struct replica_stream *stream, const struct iteration_work *work, struct iteration_cost *cost);

/* The replica becomes idle: its claims end. */
void replica_stream_end_claims(struct replica_stream *stream);

/* Counts iterations that replica_env.on_batch has reported. */
void replica_stream_count(struct replica_stream *stream, const struct replica_batch *batch);

/* The current iteration began at this time, at the present shares. */
void replica_stream_begin(struct replica_stream *stream, sim_ns start_ns);

/* Shares have changed during the current iteration, which was to end at end_ns. Returns its new end, later than now. */
sim_ns replica_stream_end_ns(struct replica_stream *stream, const struct iteration_work *work, sim_ns now,
                             sim_ns end_ns);

#endif
