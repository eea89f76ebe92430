/* What a training step sends between nodes, and how long it takes at the rate that its flows get.
 *
 * A job computes for `compute_s` in every step, and takes part in collectives. Each collective is an exchange among a
 * group of GPUs, in which every GPU has a buffer of `bytes`:
 *
 *     all-reduce               2 (p-1)/p bytes leave each member of the ring (Patarasuk and Yuan, JPDC 2009)
 *     all-gather, reduce-scatter   (p-1)/p bytes; `bytes` is the whole buffer
 *     all-to-all               each member sends bytes/p to each other one
 *     send                     each member sends bytes to the next group (pipeline)
 *
 * Groups of GPUs: `all` of the job; a `rail`, GPU i of each node; a `node`. A ring over all GPUs enters and leaves each
 * node once for each channel: with c channels, the adapters of a node share what leaves it. Groups of some nodes only
 * are blocks of neighbours.
 *
 * A collective takes its latency and its bytes over each edge at the rate of the slowest edge. The share `overlap` of
 * it runs beside the computing, the rest after it; collectives run one after another.
 *
 * Leaves out: starts of kernels, trees and in-network reduction, protocols, and that a node's NVLink may be slower than
 * its adapters. */
#ifndef ORRERY_MODELS_STEP_TRAFFIC_H
#define ORRERY_MODELS_STEP_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

enum step_collective_kind { STEP_ALL_REDUCE, STEP_ALL_GATHER, STEP_REDUCE_SCATTER, STEP_ALL_TO_ALL, STEP_SEND };
enum step_group { STEP_GROUP_ALL, STEP_GROUP_RAIL, STEP_GROUP_NODE };

struct step_collective {
    enum step_collective_kind kind;
    enum step_group group;
    double bytes;
    double overlap_frac;
};

/* Where a job is: a block of nodes that exchange data. */
struct step_place {
    int32_t nodes;         /* of the block */
    int32_t gpus_per_node; /* most of any */
    int32_t channels;      /* adapters of each node that carry the exchange */
    int32_t partners;      /* all-to-all: nodes that each node sends to at once */
};

/* How data moves inside a node, and how long a message takes between nodes. */
struct step_rates {
    double node_bytes_per_s; /* of each GPU within its node; INFINITY: not known */
    double latency_s;
};

/* Bytes over each edge between two nodes in a step; 0: the collective stays inside nodes. */
double step_edge_bytes(const struct step_collective *collective, const struct step_place *place);

/* Time of one collective if each edge has `edge_bytes_per_s`. */
double step_collective_s(const struct step_collective *collective, const struct step_place *place,
                         const struct step_rates *rates, double edge_bytes_per_s);

/* Time of a step with n collectives. */
double step_time_s(double compute_s, const struct step_collective *collectives, int32_t n,
                   const struct step_place *place, const struct step_rates *rates, double edge_bytes_per_s);

#endif
