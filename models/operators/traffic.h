/* How far the collectives of an iteration reach: inside nodes, between nodes of a rack, between racks.
 *
 * The nodes of a replica fill racks in order. A ring goes through them in this order and back to the first, so of
 * each rack one node sends to another rack. An all-to-all among N nodes sends (N - S) / (N - 1) of what the S nodes
 * of a rack send to other racks.
 *
 * Ports above a rack bind where they carry less than what leaves the rack while its GPUs send. The ratio of all that
 * the adapters of a full rack could send to this is the oversubscription `binds_at`: a replica that is alone on the
 * network is slower at any larger one, if its flows are spread evenly over the ports. */
#ifndef ORRERY_MODELS_OPERATORS_TRAFFIC_H
#define ORRERY_MODELS_OPERATORS_TRAFFIC_H

#include "models/iteration.h"

/* Where the GPUs of a replica are. */
struct traffic_place {
    double nodes, gpus_per_node;
    double nodes_per_rack;      /* 0: all nodes are in one rack */
    double network_bytes_per_s; /* of the adapter of a GPU */
};

/* Bytes of an iteration over all GPUs of the replica. */
struct traffic_levels {
    double node_bytes; /* over links inside nodes */
    double rack_bytes; /* between nodes of a rack */
    double site_bytes; /* between racks */
    double binds_at;   /* INFINITY: nothing leaves a rack */
};

/* What collectives of an iteration take longer at a share of the network, seconds: exchanges by DeepEP's kernels, and
 * all others, which no computing hides. */
struct operators_parts;
struct operators_slower {
    double computing_s, sending_s;
};

struct operators_slower operators_slower_at(const struct operators_parts *parts, const struct iteration_work *work,
                                            double share_frac);

struct traffic_levels traffic_levels_of(const struct iteration_traffic *traffic, const struct traffic_place *place);

#endif
