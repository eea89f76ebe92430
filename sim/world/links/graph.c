#include "sim/world/links/graph.h"

#include "sim/core/hash.h"

#include <math.h>

/* --- From the scenario --- */

struct reading {
    struct graph *graph;
    const struct network_config *network;
    const struct cluster_config *cluster;
    const char *(*where)(void *context, const char *key);
    void *context;
    struct diag *diag;
    int64_t n_nodes, n_nics;
};

#define REFUSE(reading, key, hint, ...)                                                                                \
    diag_error((reading)->diag, SIM_E_CONFIG, (reading)->where((reading)->context, key), hint, __VA_ARGS__)

static const char *const topology_names[] = {
#define NETWORK_TOPOLOGY_NAME(id, name) [id] = name,
    NETWORK_TOPOLOGIES(NETWORK_TOPOLOGY_NAME)
#undef NETWORK_TOPOLOGY_NAME
};

static bool is_given(double value)
{
    return value > 0.0; /* neither NAN nor 0 */
}

/* Keys that mean nothing for this topology. */
static int check_keys(const struct reading *reading)
{
    const struct network_config *network = reading->network;
    const bool is_flat = network->topology == NETWORK_FLAT, is_fat = network->topology == NETWORK_FAT_TREE;
    const struct {
        const char *key;
        bool is_given, is_meant;
    } keys[] = {{"ports", network->ports > 0, is_fat},
                {"levels", network->levels > 0, is_fat},
                {"nodes_per_leaf", network->nodes_per_leaf > 0, !is_flat && !is_fat},
                {"leaves_per_pod", network->leaves_per_pod > 0, !is_flat && !is_fat},
                {"oversubscription", is_given(network->oversubscription), !is_flat},
                {"pod_oversubscription", is_given(network->pod_oversubscription), !is_flat},
                {"uplink", is_given(network->uplink_bytes_per_s), !is_flat},
                {"paths", network->paths != NETWORK_ECMP, !is_flat},
                {"fabric", is_given(network->fabric_bytes_per_s), is_flat}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].is_given && !keys[i].is_meant)
            return REFUSE(reading, keys[i].key, "leave it out, or choose another \"topology\"",
                          "'%s' means nothing in a network of topology '%s'", keys[i].key,
                          topology_names[network->topology]);
    if (is_flat) return 0;
    if (reading->cluster->unlimited)
        return REFUSE(reading, "topology", "leave out \"unlimited\", or \"topology\"",
                      "an unlimited cluster has no nodes that switches could connect");
    return 0;
}

enum { USUAL_PORTS = 64 }; /* of a switch, unless the scenario says otherwise */

/* Nodes of a leaf: given, or as many as half of the usual ports connect. */
static int64_t leaf_nodes_of(const struct network_config *network, int32_t leaf_nics_each)
{
    const int64_t usual = USUAL_PORTS / 2 / leaf_nics_each;
    if (network->nodes_per_leaf > 0) return network->nodes_per_leaf;
    return usual > 0 ? usual : 1;
}

static double ratio_of(double given)
{
    return is_given(given) ? given : 1.0;
}

/* Ports above a switch, and the bandwidth of each, for so much bandwidth below. */
static int32_t ports_above(double below_bytes_per_s, double ratio, double link_bytes_per_s, double *port_bytes_per_s)
{
    const double above_bytes_per_s = below_bytes_per_s / ratio;
    const double n = fmax(ceil(above_bytes_per_s / link_bytes_per_s - 1e-9), 1.0);
    *port_bytes_per_s = above_bytes_per_s / n;
    return (int32_t)fmin(n, 1e9);
}

/* Of a switch with so many ports: those above, if the others are below. */
static int32_t divide_ports(int64_t ports, double ratio)
{
    const int32_t above = (int32_t)fmax(ceil((double)ports / (1.0 + ratio) - 1e-9), 1.0);
    return above < ports ? above : (int32_t)ports - 1;
}

/* Every switch has the same number of ports, and every port the bandwidth of a NIC. */
static int init_fat_tree(const struct reading *reading)
{
    struct graph *graph = reading->graph;
    const struct network_config *network = reading->network;
    const bool has_pods = network->levels != 2;
    const int64_t ports = network->ports > 0 ? network->ports : USUAL_PORTS;
    const double bytes_per_s = network->bytes_per_s;
    if (is_given(network->uplink_bytes_per_s) && network->uplink_bytes_per_s != bytes_per_s)
        return REFUSE(reading, "uplink", "leave it out, or choose topology 'leaf-spine'",
                      "all ports of a fat tree have the bandwidth of a NIC");
    if (!has_pods && is_given(network->pod_oversubscription))
        return REFUSE(reading, "pod_oversubscription", "take \"levels\": 3", "a network of two levels has no pods");
    graph->uplinks = divide_ports(ports, ratio_of(network->oversubscription));
    graph->leaf_nics = (int32_t)ports - graph->uplinks;
    graph->uplink_bytes_per_s = graph->leaf_nics * bytes_per_s / (graph->uplinks * ratio_of(network->oversubscription));
    int64_t most_leaves = ports;
    if (has_pods) {
        graph->pod_uplinks = divide_ports(ports, ratio_of(network->pod_oversubscription));
        graph->leaves_per_pod = (int32_t)ports - graph->pod_uplinks;
        graph->pod_uplink_bytes_per_s = graph->leaves_per_pod * graph->uplink_bytes_per_s /
                                        (graph->pod_uplinks * ratio_of(network->pod_oversubscription));
        most_leaves = ports * graph->leaves_per_pod;
    }
    if (reading->n_nics <= most_leaves * graph->leaf_nics) return 0;
    return REFUSE(reading, "ports", "raise it, or lower cluster.nodes",
                  "a fat tree of %lld-port switches connects %lld NICs, and the nodes have %lld", (long long)ports,
                  (long long)(most_leaves * graph->leaf_nics), (long long)reading->n_nics);
}

static int init_leaves(const struct reading *reading)
{
    struct graph *graph = reading->graph;
    const struct network_config *network = reading->network;
    const double link_bytes_per_s = is_given(network->uplink_bytes_per_s) ? network->uplink_bytes_per_s
                                                                          : network->bytes_per_s;
    const bool is_rails = network->topology == NETWORK_RAILS;
    const int32_t leaf_nics_each = is_rails ? 1 : graph->nics_per_node;
    const int64_t leaf_nodes = leaf_nodes_of(network, leaf_nics_each), leaf_nics = leaf_nodes * leaf_nics_each;
    if (network->leaves_per_pod == 0 && is_given(network->pod_oversubscription))
        return REFUSE(reading, "pod_oversubscription", "add \"leaves_per_pod\"", "a network of two levels has no pods");
    if (leaf_nics > INT32_MAX)
        return REFUSE(reading, "nodes_per_leaf", "lower it", "a leaf has at most %d NICs", INT32_MAX);
    if (is_rails && network->leaves_per_pod % graph->nics_per_node != 0)
        return REFUSE(reading, "leaves_per_pod", "take a multiple of the NICs of a node",
                      "a pod of %lld leaves has some of the %d rails of a node only",
                      (long long)network->leaves_per_pod, graph->nics_per_node);
    graph->nodes_per_leaf = (int32_t)leaf_nodes;
    graph->leaf_nics = (int32_t)leaf_nics;
    graph->uplinks = ports_above(graph->leaf_nics * network->bytes_per_s, ratio_of(network->oversubscription),
                                 link_bytes_per_s, &graph->uplink_bytes_per_s);
    graph->leaves_per_pod = (int32_t)network->leaves_per_pod;
    if (graph->leaves_per_pod > 0)
        graph->pod_uplinks = ports_above(graph->leaves_per_pod * graph->uplink_bytes_per_s,
                                         ratio_of(network->pod_oversubscription), link_bytes_per_s,
                                         &graph->pod_uplink_bytes_per_s);
    return 0;
}

/* The most NICs of a node. */
static int64_t nics_of(const struct network_config *network, const struct cluster_config *cluster)
{
    int64_t most = cluster->gpus_per_node;
    for (size_t i = 0; i < cluster->node_types.n; i++) {
        const struct node_type_config *type = (const struct node_type_config *)cluster->node_types.items + i;
        if (type->gpus_per_node > most) most = type->gpus_per_node;
    }
    return network->per == NETWORK_PER_NODE ? 1 : most;
}

int graph_init(struct graph *graph, const struct network_config *network, const struct cluster_config *cluster,
               const char *(*where)(void *context, const char *key), void *context, struct diag *diag)
{
    struct reading reading = {.graph = graph, .network = network, .cluster = cluster, .where = where,
                              .context = context, .diag = diag};
    *graph = (struct graph){.topology = (enum network_topology)network->topology};
    int code = network->bytes_per_s > 0 ? check_keys(&reading) : 0;
    if (code != 0 || graph_is_flat(graph)) return code;
    reading.n_nodes = cluster_config_nodes(cluster);
    graph->nics_per_node = (int32_t)nics_of(network, cluster);
    reading.n_nics = reading.n_nodes * graph->nics_per_node;
    code = network->topology == NETWORK_FAT_TREE ? init_fat_tree(&reading) : init_leaves(&reading);
    if (code != 0) return code;
    const int64_t groups = graph->nodes_per_leaf > 0 ? (reading.n_nodes - 1) / graph->nodes_per_leaf + 1 : 0;
    const int64_t n_leaves = network->topology == NETWORK_FAT_TREE ? (reading.n_nics - 1) / graph->leaf_nics + 1
                             : network->topology == NETWORK_RAILS  ? groups * graph->nics_per_node
                                                                   : groups;
    if (n_leaves > INT32_MAX / 2)
        return REFUSE(&reading, "topology", "raise \"nodes_per_leaf\" or \"ports\"", "%lld leaves are too many",
                      (long long)n_leaves);
    graph->n_leaves = (int32_t)n_leaves;
    if (graph->n_leaves == 1) graph->uplinks = 0;
    return 0;
}

const char *graph_topology_name(const struct graph *graph)
{
    return topology_names[graph->topology];
}

/* --- Places --- */

int32_t graph_leaf_of(const struct graph *graph, struct graph_nic nic)
{
    if (graph->topology == NETWORK_RAILS) return nic.node / graph->nodes_per_leaf * graph->nics_per_node + nic.nic;
    return (int32_t)(((int64_t)nic.node * graph->nics_per_node + nic.nic) / graph->leaf_nics);
}

int32_t graph_pod_of(const struct graph *graph, int32_t leaf)
{
    return graph->leaves_per_pod > 0 ? leaf / graph->leaves_per_pod : 0;
}

int32_t graph_leaf_nodes(const struct graph *graph)
{
    const int32_t n = graph->nodes_per_leaf > 0 ? graph->nodes_per_leaf : graph->leaf_nics / graph->nics_per_node;
    return n > 0 ? n : 1;
}

int32_t graph_pod_nodes(const struct graph *graph)
{
    const int64_t leaves = graph->topology == NETWORK_RAILS ? graph->leaves_per_pod / graph->nics_per_node
                                                            : graph->leaves_per_pod;
    const int64_t n = leaves * graph_leaf_nodes(graph);
    return n < INT32_MAX ? (int32_t)n : 0;
}

int32_t graph_distance(const struct graph *graph, struct graph_nic from, struct graph_nic to)
{
    const int32_t from_leaf = graph_leaf_of(graph, from), to_leaf = graph_leaf_of(graph, to);
    if (from_leaf == to_leaf) return 1;
    return graph_pod_of(graph, from_leaf) == graph_pod_of(graph, to_leaf) ? 3 : 5;
}

/* --- Equal-cost multipath --- */

/* SplitMix64's output of its next state. */
static uint64_t chain(uint64_t state, uint64_t value)
{
    return hash_mix((state ^ value) + UINT64_C(0x9e3779b97f4a7c15));
}

struct graph_choice graph_ecmp(const struct graph *graph, struct graph_nic from, struct graph_nic to, uint64_t label)
{
    uint64_t hash = chain(0, (uint64_t)from.node);
    hash = chain(hash, (uint64_t)from.nic);
    hash = chain(hash, (uint64_t)to.node);
    hash = chain(hash, (uint64_t)to.nic);
    hash = chain(hash, label);
    const uint64_t next = chain(hash, 1); /* each switch hashes by itself */
    return (struct graph_choice){graph->uplinks > 0 ? (int32_t)(hash % (uint64_t)graph->uplinks) : 0,
                                 graph->pod_uplinks > 0 ? (int32_t)(next % (uint64_t)graph->pod_uplinks) : 0};
}
