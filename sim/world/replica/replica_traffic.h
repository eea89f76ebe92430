/* Collectives of a replica over nodes on the links of the site, in competition with others: "collectives": "shared" of
 * cluster.network.
 *
 * A GPU sends to the GPU of its place on the next node (rings), or on all other nodes (all-to-all): the *edges*. While
 * the replica computes, each edge has a claim on its path to the bytes of an iteration over the time of an iteration.
 * This *standing* claim is what others lose. It is below what the edge gets while it sends, for it sends in a part of
 * the iteration only.
 *
 * While an edge sends, it wants the full rate of collectives, and gets its max-min fair share at that demand beside all
 * others as they are: other replicas at their standing claims, jobs at theirs, flows elastic. The edge with the least
 * share slows all collectives: the iteration costs what its model says of a network with that share of the bandwidth.
 * There computing may hide a part (iteration_model.cost_at_share). So n transfers that fill a link together with one
 * edge slow its collectives n + 1 times, and get 1/n each of what it leaves. What is added is that at full clocks. An
 * iteration never ends before its bytes fit into its grants. So no link carries more than its bandwidth.
 *
 * The share is worked out anew when an iteration is priced, and when that of an edge changes: a *sensor* claim tells
 * (link.h). The rest of the current iteration then goes on at the new speed, as if it computed and sent evenly.
 *
 * Leaves out: replicas whose collectives send at the same moments, or avoid each other; messages between pipeline
 * stages; PCIe links of the GPUs; a ring of some nodes of the replica, which is taken to go on to the next one; more
 * than 16 partners of a node in an all-to-all, in whose place 16 evenly spaced ones get all bytes. */
#ifndef ORRERY_WORLD_REPLICA_REPLICA_TRAFFIC_H
#define ORRERY_WORLD_REPLICA_REPLICA_TRAFFIC_H

#include "sim/world/replica/replica.h"

/* For a replica of one stage whose cost model states its traffic. Returns 0 or SIM_E_NOMEM. */
int replica_traffic_open(struct replica *replica);
void replica_traffic_close(struct replica *replica);

/* The replica begins an iteration of this work now. *cost is that on a network of its own, and becomes that at its
 * share. Returns 0 or SIM_E_NOMEM. */
int replica_traffic_cost(struct replica_traffic *traffic, const struct iteration_work *work,
                         struct iteration_cost *cost);

/* The replica becomes idle: its claims end. It loses its GPUs: its edges end too. */
void replica_traffic_end_claims(struct replica_traffic *traffic);
void replica_traffic_leave(struct replica_traffic *traffic);

/* Counts iterations that replica_env.on_batch has reported. */
void replica_traffic_count(struct replica_traffic *traffic, const struct replica_batch *batch);

/* The current iteration began at this time, at the present share. */
void replica_traffic_begin(struct replica_traffic *traffic, sim_ns start_ns);

/* The share has changed during the current iteration, which was to end at end_ns. Returns its new end, later than
 * now. */
sim_ns replica_traffic_end_ns(struct replica_traffic *traffic, sim_ns now, sim_ns end_ns);

#endif
