/* The switches between the NICs of a site: a tree of levels with many equal paths.
 *
 *     core                               top switches of a network of three levels
 *      | pod_uplinks ports of each pod switch
 *     pod switches                       `uplinks` of them in every pod; the top of a network of two levels (spines)
 *      | one port of each leaf to each pod switch of its pod
 *     leaves
 *      | NICs
 *
 * A leaf has NICs below it and `uplinks` ports above it, port j to switch j of its pod. Port c of switch j of a pod
 * leads to core switch (j, c), which has one port to each pod. With two levels the whole site is one pod. A path
 * between NICs of two leaves goes up over a port j, between two pods also over a port c, and down again: a choice of
 * (j, c) is a path. This is the folded Clos network, whose case of equal switches is the fat tree (Al-Fares et al.,
 * SIGCOMM 2008, section 3).
 *
 *     leaf-spine   a leaf has the NICs of `nodes_per_leaf` nodes
 *     rails        a leaf has NIC i of each of `nodes_per_leaf` nodes (rail-optimised)
 *     fat-tree     every switch has `ports` ports
 *
 * Oversubscription is the bandwidth that enters a switch from below over that of its ports above. The number of ports
 * above follows from it, rounded up; each port has the bandwidth that makes the ratio exact.
 *
 * Leaves out: failures of whole switches, buffers and congestion control, adaptive routing of single packets. */
#ifndef ORRERY_WORLD_LINKS_GRAPH_H
#define ORRERY_WORLD_LINKS_GRAPH_H

#include "sim/core/err.h"
#include "sim/world/cluster/cluster_config.h"
#include "sim/world/links/topology_config.h"

#include <stdbool.h>
#include <stdint.h>

struct graph {
    enum network_topology topology; /* NETWORK_FLAT: no switches are described */
    int32_t nics_per_node, nodes_per_leaf; /* nodes_per_leaf: of rails */
    int32_t leaf_nics;       /* below each leaf */
    int32_t n_leaves;
    int32_t uplinks;         /* of each leaf; 0: one leaf has all NICs */
    int32_t leaves_per_pod;  /* 0: all leaves are one pod */
    int32_t pod_uplinks;     /* of each pod switch; 0: two levels */
    double uplink_bytes_per_s, pod_uplink_bytes_per_s; /* of each port, per direction */
};

/* A NIC of the site: node, and number in the node. Nodes count over all node types. */
struct graph_nic {
    int32_t node, nic;
};

/* Which of the equal paths: a port of the leaf and a port of the pod switch. */
struct graph_choice {
    int32_t uplink, pod_uplink;
};

/* Reads "cluster.network". Returns 0, or SIM_E_CONFIG with a finding at `where` for a network that does not fit the
 * nodes. `where` returns the place of a key of that section. */
int graph_init(struct graph *graph, const struct network_config *network, const struct cluster_config *cluster,
               const char *(*where)(void *context, const char *key), void *context, struct diag *diag);

static inline bool graph_is_flat(const struct graph *graph)
{
    return graph->topology == NETWORK_FLAT;
}

/* As scenarios write it: "leaf-spine". */
const char *graph_topology_name(const struct graph *graph);

int32_t graph_leaf_of(const struct graph *graph, struct graph_nic nic);
int32_t graph_pod_of(const struct graph *graph, int32_t leaf);

/* Nodes below one leaf, or one set of rails; and below the switches of one pod, 0: all of them. */
int32_t graph_leaf_nodes(const struct graph *graph);
int32_t graph_pod_nodes(const struct graph *graph);

/* Switches on the shortest path between two NICs: 1 below one leaf, 3 in one pod, 5 between pods. */
int32_t graph_distance(const struct graph *graph, struct graph_nic from, struct graph_nic to);

/* The path that equal-cost multipath routing takes: by a hash of both NICs and a label of the flow. A label stands for
 * the ports of a connection, which all its packets share. The hash is SplitMix64 (Steele et al., OOPSLA 2014), chained
 * over from.node, from.nic, to.node, to.nic and label. */
struct graph_choice graph_ecmp(const struct graph *graph, struct graph_nic from, struct graph_nic to, uint64_t label);

/* A flow between two NICs. */
struct graph_flow {
    struct graph_nic from, to;
};

/* Paths for n flows that begin together, so that no port carries more of them than it must: of a leaf with f flows,
 * f over its uplinks, rounded up. If no leaf and no pod is oversubscribed, flows of which no two share a NIC share no
 * port. Writes choices [n]. Returns 0 or SIM_E_NOMEM. */
int graph_plan(const struct graph *graph, const struct graph_flow *flows, int32_t n, struct graph_choice *choices);

#endif
