/* Networks that collectives do not feel: a replica over nodes whose collectives are timed as if alone, on switches that
 * cannot carry what its GPUs send at the full rate of collectives. */
#include "sim/world/replica/speculation.h"
#include "sim/world/service/fleet.h"

#include <string.h>

/* Capacities that lack less than this share are not short. */
static const double rounding = 1e-6;

/* What the GPUs of a replica send between nodes. */
struct sending {
    const struct graph *graph;
    const struct topology_placement *placement;
    double gpu_bytes_per_s; /* of one GPU, while it sends */
    bool is_spread;         /* to all other nodes; else to the next one */
    int32_t per_node;       /* GPUs of the replica on each of its nodes */
};

/* Rate of one GPU over a prompt, whose collectives are long enough to fill the adapter. */
static void read_sending(const struct fleet_pool *pool, struct sending *sending)
{
    static const struct iteration_work prompt = {.prefill_sequences = 1, .prefill_tokens = 1024, .prefill_pairs = 5e5};
    struct iteration_traffic sent;
    pool->env.model.traffic(pool->env.model.model, &prompt, 1.0, &sent);
    const double bytes = sent.ring_bytes + sent.spread_bytes;
    sending->gpu_bytes_per_s = sent.sending_s > 0.0 ? bytes / sent.sending_s : 0.0;
    sending->is_spread = sent.spread_bytes > 0.0;
}

/* A level of switches: the leaves, or the pods. */
typedef int32_t (*level_fn)(const struct graph *graph, struct graph_nic nic);

static int32_t leaf_of(const struct graph *graph, struct graph_nic nic)
{
    return graph_leaf_of(graph, nic);
}

static int32_t pod_of(const struct graph *graph, struct graph_nic nic)
{
    return graph_pod_of(graph, graph_leaf_of(graph, nic));
}

/* Whether what a GPU sends leaves its switch. */
static bool leaves(const struct sending *sending, level_fn level, int32_t gpu)
{
    const int32_t n = sending->placement->n_gpus,
                  from = level(sending->graph, topology_placement_nic(sending->placement, gpu));
    for (int32_t to = gpu + sending->per_node; to < gpu + n; to += sending->per_node) {
        if (level(sending->graph, topology_placement_nic(sending->placement, to % n)) != from) return true;
        if (!sending->is_spread) return false;
    }
    return false;
}

/* The most GPUs below one switch whose data leave it. */
static int32_t most_leaving(const struct sending *sending, level_fn level)
{
    const int32_t n = sending->placement->n_gpus;
    int32_t most = 0;
    for (int32_t first = 0; first < n; first++) {
        const int32_t at = level(sending->graph, topology_placement_nic(sending->placement, first));
        int32_t found = 0;
        for (int32_t gpu = first; gpu < n; gpu++)
            found += level(sending->graph, topology_placement_nic(sending->placement, gpu)) == at &&
                     leaves(sending, level, gpu);
        if (found > most) most = found;
        if (most == n) break;
    }
    return most;
}

/* Whether n GPUs send more than ports of this rate carry, or one of them more than its port does. */
static bool is_short(const struct sending *sending, int32_t n, double ports, double port_bytes_per_s)
{
    const double room = port_bytes_per_s * (1.0 + rounding);
    return n > 0 && (n * sending->gpu_bytes_per_s > ports * room || sending->gpu_bytes_per_s > room);
}

/* The key of cluster.network that makes the ports between switches scarce for a replica; NULL: none does. */
static const char *scarce_ports(const struct network_config *network, const struct sending *sending)
{
    const struct graph *graph = sending->graph;
    const bool is_narrow = network->oversubscription > 1.0 || network->uplink_bytes_per_s < network->bytes_per_s;
    if (is_narrow && graph->uplinks > 0 &&
        is_short(sending, most_leaving(sending, leaf_of), graph->uplinks, graph->uplink_bytes_per_s))
        return network->oversubscription > 1.0 ? "oversubscription" : "uplink";
    if (network->pod_oversubscription > 1.0 && graph->pod_uplinks > 0 &&
        is_short(sending, most_leaving(sending, pod_of), (double)graph->uplinks * graph->pod_uplinks,
                 graph->pod_uplink_bytes_per_s))
        return "pod_oversubscription";
    return NULL;
}

/* The same for the replicas of a pool. A fabric limits the collectives of each replica, also alone; it is scarce where
 * all replicas so far send more than it carries, which is counted in *sent_bytes_per_s. */
static const char *scarce_for(const struct fleet *fleet, const struct fleet_pool *pool, double *sent_bytes_per_s)
{
    const struct topology *topology = fleet->env->topology;
    const struct network_config *network = &topology_config(topology)->network;
    struct sending sending = {.graph = topology_graph(topology)};
    const char *key = NULL;
    read_sending(pool, &sending);
    for (int32_t i = pool->first; i < pool->first + pool->n && key == NULL; i++) {
        sending.placement = &fleet->replicas[i].placement;
        if (sending.placement->n_gpus == 0) continue; /* not started */
        sending.per_node = sending.placement->n_gpus / (int32_t)fleet_nodes_of_stage(fleet, pool);
        *sent_bytes_per_s += sending.placement->n_gpus * sending.gpu_bytes_per_s;
        if (!graph_is_flat(sending.graph))
            key = scarce_ports(network, &sending);
        else if (*sent_bytes_per_s > network->fabric_bytes_per_s * (1.0 + rounding))
            key = "fabric";
    }
    return key;
}

void fleet_warn_scarce(const struct fleet *fleet)
{
    const struct site_env *site = fleet->env->site;
    double sent_bytes_per_s = 0.0;
    const char *key = NULL;
    if (topology_config(fleet->env->topology)->network.collectives == NETWORK_COLLECTIVES_SHARED) return;
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (fleet_nodes_of_stage(fleet, &fleet->pools[i]) > 1 && !fleet_may_share(&fleet->pools[i])) return;
    for (size_t i = 0; i < fleet->n_pools && key == NULL; i++)
        if (fleet_nodes_of_stage(fleet, &fleet->pools[i]) > 1)
            key = scarce_for(fleet, &fleet->pools[i], &sent_bytes_per_s);
    if (key == NULL) return;
    diag_warning(site->diag, config_where(site->config, arena_printf(site->arena, "cluster.network.%s", key)),
                 "set cluster.network.collectives=shared, unless it is refused for another service",
                 "'%s' does not slow what GPUs of %s of service '%s' send each other between nodes: their "
                 "collectives are timed as if alone on the network",
                 key, strcmp(key, "fabric") == 0 ? "several replicas" : "a replica", fleet->config->name);
}
