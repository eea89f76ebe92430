/* Replicas of a service with "placement": "spread". Each part goes to a node with a part of the same replica, else to
 * one with room for all parts that remain, else to the one with room for the most, so that few nodes hold the replica.
 * Among equals the node precedes that has the fewest replicas of the pool, then of the service, then in its rack of
 * the pool, then the fewest free GPUs, then the lowest number. On R replicas that each fit on a node, and N equally
 * free nodes, no node has more than ceil(R / N) of them. Replicas that run do not move when others leave. */
#include "sim/core/mem.h"
#include "sim/world/service/fleet.h"

/* What decides between nodes: the lowest wins, by the members in this order. */
enum { IS_APART, PARTS_LEFT, POOL_REPLICAS, SERVICE_REPLICAS, RACK_REPLICAS, FREE_GPUS, N_RANKS };

struct rank {
    int32_t by[N_RANKS];
};

static int32_t count_nodes(const struct cluster *cluster)
{
    while (cluster->next != NULL) cluster = cluster->next;
    return cluster->first_node + cluster->n_nodes;
}

/* The first node of a node's rack, by number in the site. */
static int32_t rack_of(const struct cluster *site, int32_t node)
{
    const struct cluster *part = site;
    while (node >= part->first_node + part->n_nodes) part = part->next;
    const int32_t wide = part->nodes_per_rack;
    return wide > 0 ? node - (node - part->first_node) % wide : part->first_node;
}

int fleet_spread_init(struct fleet *fleet)
{
    if (fleet->config->placement != SERVICE_SPREAD || fleet->env->cluster->total_gpus == INT64_MAX) return 0;
    const size_t n_nodes = (size_t)count_nodes(fleet->env->cluster);
    fleet->on_node = mem_zalloc((1 + 2 * fleet->n_pools) * n_nodes, sizeof *fleet->on_node);
    if (fleet->on_node == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        fleet->pools[i].on_node = fleet->on_node + (1 + 2 * i) * n_nodes;
        fleet->pools[i].in_rack = fleet->pools[i].on_node + n_nodes;
    }
    return 0;
}

void fleet_spread_fini(struct fleet *fleet)
{
    mem_free(fleet->on_node);
}

/* Whether one of the replica's parts before `end` lies in the rack. */
static bool has_part_in(const struct cluster *site, const struct replica *replica, const struct allocation *end,
                        int32_t rack)
{
    for (const struct allocation *part = replica->holder.held; part != end; part = part->next)
        if (rack_of(site, part->node) == rack) return true;
    return false;
}

/* Parts of a replica on one node lie side by side, and count once. Those in one rack may have others between them, and
 * count once too. */
void fleet_spread_count(const struct fleet *fleet, const struct replica *replica, int32_t sign)
{
    int32_t last_node = -1;
    if (fleet->on_node == NULL) return;
    const struct cluster *site = fleet->env->cluster;
    const struct fleet_pool *pool = fleet_pool_of(fleet, replica->index);
    for (const struct allocation *part = replica->holder.held; part != NULL; part = part->next) {
        if (part->node == last_node) continue;
        const int32_t rack = rack_of(site, part->node);
        fleet->on_node[part->node] += sign;
        pool->on_node[part->node] += sign;
        pool->in_rack[rack] += has_part_in(site, replica, part, rack) ? 0 : sign;
        last_node = part->node;
    }
}

static bool has_part_on(const struct replica *replica, int64_t n_parts, int32_t node)
{
    for (int64_t i = 0; i < n_parts; i++)
        if (replica->parts[i].node == node) return true;
    return false;
}

static bool precedes(const struct rank *a, const struct rank *b)
{
    int i = 0;
    while (i < N_RANKS - 1 && a->by[i] == b->by[i]) i++;
    return a->by[i] < b->by[i];
}

int32_t fleet_spread_part(const struct fleet *fleet, const struct fleet_pool *pool, const struct replica *replica,
                          struct fleet_parts parts, int64_t i, sim_ns now)
{
    struct cluster *site = fleet->env->cluster;
    const char *gpu = pool->config.gpu;
    struct rank best = {0};
    int32_t chosen = -1;
    for (struct cluster *part = cluster_with_gpu(site, gpu); part != NULL; part = cluster_with_gpu(part->next, gpu))
        for (int32_t k = 0; k < part->n_nodes; k++) {
            const int32_t node = part->first_node + k, free_gpus = part->node_free_gpus[k];
            if (free_gpus < parts.gpus) continue;
            const int64_t n_left = parts.n - i - free_gpus / parts.gpus;
            const struct rank rank = {{[IS_APART] = !has_part_on(replica, i, node),
                                       [PARTS_LEFT] = n_left > 0 ? (int32_t)n_left : 0,
                                       [POOL_REPLICAS] = pool->on_node[node],
                                       [SERVICE_REPLICAS] = fleet->on_node[node],
                                       [RACK_REPLICAS] = pool->in_rack[rack_of(site, node)],
                                       [FREE_GPUS] = free_gpus}};
            if (chosen >= 0 && !precedes(&rank, &best)) continue;
            best = rank;
            chosen = node;
        }
    if (chosen >= 0) cluster_take_group_on(site, now, chosen, parts.gpus);
    return chosen;
}

/* Replicas that find room if no node takes more than `most`. */
static int64_t count_room(const struct fleet *fleet, const struct pool_config *pool, int64_t most)
{
    int64_t n = 0;
    struct cluster *part = cluster_with_gpu(fleet->env->cluster, pool->gpu);
    for (; part != NULL; part = cluster_with_gpu(part->next, pool->gpu))
        for (int32_t i = 0; i < part->n_nodes; i++) {
            const int64_t fit = part->node_free_gpus[i] / pool->tensor_parallel;
            n += fit < most ? fit : most;
        }
    return n;
}

int64_t fleet_spread_most(const struct fleet *fleet, const struct pool_config *pool)
{
    const int64_t fit = fleet_gpus_per_node(fleet, pool) / pool->tensor_parallel;
    int64_t most = 1;
    while (most < fit && count_room(fleet, pool, most) < pool->replicas) most++;
    return most;
}

int fleet_check_spread(const struct fleet *fleet)
{
    const struct service_env *env = fleet->env;
    if (fleet->config->placement != SERVICE_SPREAD || env->cluster->total_gpus != INT64_MAX) return 0;
    const char *path = arena_printf(env->site->arena, "services.%s.placement", fleet->config->name);
    return diag_error(env->site->diag, SIM_E_CONFIG, path != NULL ? config_where(env->site->config, path) : "",
                      "leave cluster.unlimited out",
                      "service '%s' is spread over nodes, and an unlimited cluster has none", fleet->config->name);
}
