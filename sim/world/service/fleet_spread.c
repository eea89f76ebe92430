/* Replicas of a service with "placement": "spread". Each part goes to the node with the fewest other replicas of the
 * pool. Among equals a node precedes others if it has a part of the same replica, then by fewer replicas in its rack,
 * fewer free GPUs and its number. On R replicas and N equally free nodes, no node has more than ceil(R / N) of them.
 * Replicas that run do not move when others leave. */
#include "sim/core/mem.h"
#include "sim/world/service/fleet.h"

/* What decides between nodes: the lowest wins, by the members in this order. */
struct rank {
    int32_t replicas, is_apart, rack_replicas, free_gpus;
};

struct spreading {
    int32_t *on_node; /* [nodes of the site] replicas of the pool */
    int32_t *in_rack; /* [nodes of the site] of the rack that begins with this node */
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

/* Stages of a replica that lie side by side count once. */
static void count_replica(const struct cluster *site, const struct replica *replica, struct spreading *spreading)
{
    int32_t last_node = -1, last_rack = -1;
    for (const struct allocation *part = replica->holder.held; part != NULL; part = part->next) {
        const int32_t rack = rack_of(site, part->node);
        spreading->on_node[part->node] += part->node != last_node;
        spreading->in_rack[rack] += rack != last_rack;
        last_node = part->node;
        last_rack = rack;
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
    if (a->replicas != b->replicas) return a->replicas < b->replicas;
    if (a->is_apart != b->is_apart) return a->is_apart < b->is_apart;
    if (a->rack_replicas != b->rack_replicas) return a->rack_replicas < b->rack_replicas;
    return a->free_gpus < b->free_gpus;
}

/* The best node with room; -1: none. */
static int32_t choose(struct cluster *site, const char *gpu, const struct spreading *spreading,
                      const struct replica *replica, int64_t n_parts, int32_t gpus)
{
    struct rank best = {0};
    int32_t chosen = -1;
    for (struct cluster *part = cluster_with_gpu(site, gpu); part != NULL; part = cluster_with_gpu(part->next, gpu))
        for (int32_t i = 0; i < part->n_nodes; i++) {
            const int32_t node = part->first_node + i;
            if (part->node_free_gpus[i] < gpus) continue;
            const struct rank rank = {.replicas = spreading->on_node[node],
                                      .is_apart = !has_part_on(replica, n_parts, node),
                                      .rack_replicas = spreading->in_rack[rack_of(site, node)],
                                      .free_gpus = part->node_free_gpus[i]};
            if (chosen >= 0 && !precedes(&rank, &best)) continue;
            best = rank;
            chosen = node;
        }
    return chosen;
}

int fleet_spread_part(const struct fleet *fleet, const struct fleet_pool *pool, const struct replica *replica,
                      int64_t i, int32_t gpus, sim_ns now, int32_t *node)
{
    struct cluster *site = fleet->env->cluster;
    const size_t n_nodes = (size_t)count_nodes(site);
    int32_t *counts = mem_zalloc(2 * n_nodes, sizeof *counts);
    if (counts == NULL) return SIM_E_NOMEM;
    struct spreading spreading = {.on_node = counts, .in_rack = counts + n_nodes};
    for (int32_t k = 0; k < pool->n; k++)
        if (pool->first + k != replica->index) count_replica(site, &fleet->replicas[pool->first + k], &spreading);
    *node = choose(site, pool->config.gpu, &spreading, replica, i, gpus);
    mem_free(counts);
    if (*node >= 0) cluster_take_group_on(site, now, *node, gpus);
    return 0;
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
    const int32_t per_node = fleet_gpus_per_node(fleet, pool);
    int64_t most = 1;
    while (most < per_node && count_room(fleet, pool, most) < pool->replicas) most++;
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
