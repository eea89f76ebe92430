/* Placement of replicas on GPUs: taken stage by stage, each stage on one node or on several whole ones, and released;
 * whether transfers between them are bundled; and the reset of a replica that restarts. */
#include "sim/core/check.h"
#include "sim/world/policy/instance.h"
#include "sim/world/replica/replica_traffic.h"
#include "sim/world/service/fleet.h"

#include <string.h>

/* An unlimited cluster has no nodes and always has room. A placement on it stays reserved for its replica. */
static bool is_endless(const struct fleet *fleet)
{
    return fleet->env->cluster->total_gpus == INT64_MAX;
}

int32_t fleet_gpus_per_node(const struct fleet *fleet, const struct pool_config *pool)
{
    int32_t most = 0;
    if (is_endless(fleet)) return 0;
    struct cluster *cluster = cluster_with_gpu(fleet->env->cluster, pool->gpu);
    for (; cluster != NULL; cluster = cluster_with_gpu(cluster->next, pool->gpu))
        if (cluster->gpus_per_node > most) most = cluster->gpus_per_node;
    return most;
}

struct fleet_parts fleet_parts_of(const struct fleet *fleet, const struct pool_config *pool)
{
    const int32_t wide = (int32_t)pool->tensor_parallel, per_node = fleet_gpus_per_node(fleet, pool);
    if (per_node == 0 || wide <= per_node) return (struct fleet_parts){wide, pool->pipeline_parallel};
    return (struct fleet_parts){per_node, pool->pipeline_parallel * (wide / per_node)};
}

/* For all stages. */
static bool has_room(const struct fleet *fleet, const struct fleet_pool *pool, struct fleet_parts parts)
{
    return is_endless(fleet) || cluster_has_groups_of(fleet->env->cluster, pool->config.gpu, parts.gpus, parts.n);
}

/* Whether its service can do without the replica, which then gives its GPUs back. */
static bool is_returnable(const struct fleet *fleet, const struct replica *replica)
{
    const struct fleet_pool *pool = fleet_pool_of(fleet, replica->index);
    const struct scaling_config *scaling = &pool->config.scaling;
    return scaling->policy.entry != NULL && replica->index - pool->first >= scaling->min;
}

static void note_returnable(const struct fleet *fleet, const struct replica *replica, int32_t node, int32_t gpus)
{
    if (node >= 0 && is_returnable(fleet, replica)) cluster_note_returnable(fleet->env->cluster, node, gpus);
}

void fleet_claim_gpus(const struct fleet *fleet, struct replica *replica, bool claims)
{
    if (is_endless(fleet) || replica->parts == NULL || replica->claims_gpus == claims) return;
    if (is_returnable(fleet, replica)) return;
    for (const struct allocation *part = replica->parts; part != NULL; part = part->next)
        cluster_note_claimed(fleet->env->cluster, part->node, claims ? part->gpus : -part->gpus);
    replica->claims_gpus = claims;
}

/* GPUs for part number `i`. Returns 0 or SIM_E_NOMEM. */
static int take_part(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica,
                     struct fleet_parts parts, int64_t i, sim_ns now)
{
    const int32_t gpus = parts.gpus;
    int32_t node = -1;
    if (fleet->on_node != NULL)
        node = fleet_spread_part(fleet, pool, replica, parts, i, now);
    else if (!is_endless(fleet))
        node = cluster_take_group_of(fleet->env->cluster, pool->config.gpu, now, gpus);
    SIM_REQUIRE(node >= 0 || is_endless(fleet));
    note_returnable(fleet, replica, node, gpus);
    replica->parts[i] = (struct allocation){.node = node, .gpus = gpus};
    return topology_placement_add(fleet->env->topology, &replica->placement, node, gpus, &pool->gpu);
}

int fleet_take_gpus(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica, sim_ns now)
{
    const struct fleet_parts parts = fleet_parts_of(fleet, &pool->config);
    struct holder *holder = &replica->holder;
    if (is_endless(fleet) && replica->placement.n_gpus > 0) return 1;
    if (!has_room(fleet, pool, parts)) return 0;
    if (replica->parts == NULL)
        replica->parts = arena_alloc(fleet->env->site->arena, (size_t)parts.n * sizeof *replica->parts);
    if (replica->parts == NULL) return SIM_E_NOMEM;
    fleet_claim_gpus(fleet, replica, false);
    for (int64_t i = 0; i < parts.n; i++) {
        const int code = take_part(fleet, pool, replica, parts, i, now);
        if (code != 0) return code;
        if (i > 0) replica->parts[i - 1].next = &replica->parts[i];
    }
    if (is_endless(fleet)) return 1;
    holder->held = replica->parts;
    fleet_spread_count(fleet, replica, 1);
    holder->ugpus = (int64_t)replica->placement.n_gpus * GPU_MICRO;
    if (holder->ops == NULL) return 1; /* it has not joined yet: holders_join reports them */
    const int code = holders_given(&fleet->env->cluster->holders, holder, now);
    return code != 0 ? code : 1;
}

void fleet_release_gpus(const struct fleet *fleet, struct replica *replica, sim_ns now)
{
    struct cluster *cluster = fleet->env->cluster;
    struct holder *holder = &replica->holder;
    const int code = replica_leave_store(replica, now);
    if (code != 0) engine_fail(fleet->env->site->engine, code);
    if (replica->traffic != NULL) replica_traffic_leave(replica->traffic);
    if (is_endless(fleet)) return;
    holders_taken(&cluster->holders, holder, now);
    for (const struct allocation *part = holder->held; part != NULL; part = part->next) {
        note_returnable(fleet, replica, part->node, -part->gpus);
        cluster_release_group_of(cluster, now, part->node, part->gpus);
    }
    fleet_spread_count(fleet, replica, -1);
    holder->held = NULL;
    holder->ugpus = 0;
    topology_placement_release(&replica->placement);
}

/* --- Attention groups --- */

const struct topology_placement *fleet_kv_placement(const struct replica *replica, int32_t group)
{
    return replica->groups != NULL ? &replica->groups[group] : &replica->placement;
}

/* The GPUs of a replica lie stage by stage. Each group has equally many of every stage. */
static void list_group(const struct pool_config *pool, const struct topology_placement *all, int64_t group,
                       struct topology_placement *found, struct topology_gpu **gpus)
{
    const int64_t each = pool->tensor_parallel / pool->data_parallel;
    for (int64_t stage = 0; stage < pool->pipeline_parallel; stage++)
        memcpy(gpus + stage * each, all->gpus + stage * pool->tensor_parallel + group * each,
               (size_t)each * sizeof(*gpus));
    *found = (struct topology_placement){
        .topology = all->topology, .n_gpus = (int32_t)(each * pool->pipeline_parallel), .gpus = gpus};
}

static int list_groups(const struct fleet *fleet, const struct pool_config *pool, struct replica *replica)
{
    const int32_t n = (int32_t)pool->data_parallel;
    const int32_t n_gpus = (int32_t)(pool->tensor_parallel * pool->pipeline_parallel);
    struct topology_gpu **gpus = arena_alloc(fleet->env->site->arena, (size_t)n_gpus * sizeof(*gpus));
    replica->groups = arena_alloc(fleet->env->site->arena, (size_t)n * sizeof *replica->groups);
    if (gpus == NULL || replica->groups == NULL) return SIM_E_NOMEM;
    replica->n_groups = n;
    for (int32_t i = 0; i < n; i++) {
        struct topology_gpu **own = gpus + (int64_t)i * (n_gpus / n);
        replica->groups[i] = (struct topology_placement){.topology = fleet->env->topology, .gpus = own};
        if (replica->placement.n_gpus > 0) list_group(pool, &replica->placement, i, &replica->groups[i], own);
    }
    return 0;
}

int fleet_list_groups(struct fleet *fleet)
{
    const bool hands_over = fleet->config->pools.n > 0 || fleet->routing.router->route_pair != NULL;
    int code = 0;
    for (int32_t i = 0; i < fleet->n_replicas && code == 0 && hands_over; i++) {
        const struct pool_config *pool = &fleet_pool_of(fleet, i)->config;
        if (pool->data_parallel > 1) code = list_groups(fleet, pool, &fleet->replicas[i]);
    }
    return code;
}

void fleet_relist_groups(const struct fleet_pool *pool, struct replica *replica)
{
    for (int32_t i = 0; i < replica->n_groups; i++)
        list_group(&pool->config, &replica->placement, i, &replica->groups[i], replica->groups[i].gpus);
}

/* --- Bundles --- */

/* Whether the links of all replicas carry KV between them and nothing else, in equal parts over all of their GPUs. */
static bool has_bundles(const struct fleet *fleet)
{
    const struct kv_transfer_config *transfer = &fleet->config->kv_transfer;
    const double token_bytes = llm_kv_bytes_per_token(fleet->llm);
    bool found = fleet->config->pools.n > 0 && transfer->bytes_per_s == 0 && transfer->mode == KV_TRANSFER_SERIAL;
    for (size_t i = 0; i < fleet->n_pools && found; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        const int64_t gpus = pool->config.tensor_parallel * pool->config.pipeline_parallel;
        found = pool->config.data_parallel == 1 && !offload_in_use(&pool->offload) &&
                !pool->env.batcher->resumes_swapped && pool->config.kv.prefix_store.tiers.n == 0;
        for (size_t k = 0; k < fleet->n_pools && found; k++) {
            const struct pool_config *other = &fleet->pools[k].config;
            found = topology_bundles(fleet->env->topology, (int32_t)gpus,
                                     (int32_t)(other->tensor_parallel * other->pipeline_parallel), token_bytes);
        }
    }
    for (int32_t i = 0; i < fleet->n_replicas && found; i++) found = topology_owns_nodes(&fleet->replicas[i].placement);
    return found;
}

int64_t fleet_nodes_of_stage(const struct fleet *fleet, const struct fleet_pool *pool)
{
    return fleet_parts_of(fleet, &pool->config).n / pool->config.pipeline_parallel;
}

/* Whether the collectives of a pool's replicas are on the links between nodes. */
bool fleet_shares_links(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct network_config *network = &topology_config(fleet->env->topology)->network;
    return network->collectives == NETWORK_COLLECTIVES_SHARED && fleet_nodes_of_stage(fleet, pool) > 1;
}

bool fleet_may_share(const struct fleet_pool *pool)
{
    const struct speculation_model *speculation = pool->env.speculation;
    return pool->config.pipeline_parallel == 1 && pool->env.model.traffic != NULL &&
           (speculation == NULL || speculation->draft.cost == NULL);
}

int fleet_check_sharing(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct service_env *env = fleet->env;
    if (!fleet_shares_links(fleet, pool)) return 0;
    if (pool->config.pipeline_parallel > 1)
        return diag_error(env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "pipeline_parallel"),
                          "lower tensor_parallel until a stage fits into a node, take one stage, or leave "
                          "cluster.network.collectives out",
                          "service '%s' has pipeline stages that are wider than a node, and "
                          "cluster.network.collectives 'shared' is for wide replicas of one stage",
                          fleet->config->name);
    if (pool->env.model.traffic != NULL) return 0;
    return diag_error(env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "cost"),
                      "take \"cost\": \"operators\", or leave cluster.network.collectives out",
                      "cluster.network.collectives is 'shared', and the %s cost of service '%s' does not say what "
                      "GPUs send over the network",
                      pool->env.model.kind, fleet->config->name);
}

void fleet_bundle(struct fleet *fleet)
{
    const bool starts_anew = fleet->env->nodes_fail || service_config_scales(fleet->config);
    /* replicas that start anew may share nodes with others, and new weights come from GPUs without bundles */
    if (fleet->first_decode == 0 || starts_anew || fleet->env->takes_weights || !has_bundles(fleet)) return;
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (fleet_shares_links(fleet, &fleet->pools[i])) return;
    for (int32_t i = 0; i < fleet->n_replicas; i++) fleet->replicas[i].placement.bundled = true;
}

int fleet_refuse_replica(const struct fleet *fleet, const struct fleet_pool *pool, int32_t index)
{
    const struct fleet_parts parts = fleet_parts_of(fleet, &pool->config);
    const struct cluster *cluster = fleet->env->cluster;
    const long long gpus = parts.gpus, per_stage = parts.n / pool->config.pipeline_parallel;
    const char *where = fleet_place_of(fleet, pool, index == pool->first ? "tensor_parallel" : "replicas");
    char hint[DIAG_TEXT_CHARS], shape[80] = "";
    if (cluster->next == NULL)
        snprintf(shape, sizeof shape, "it has %lld node%s of %lld GPUs: ", (long long)cluster->n_nodes,
                 cluster->n_nodes == 1 ? "" : "s", (long long)fleet_gpus_per_node(fleet, &pool->config));
    snprintf(hint, sizeof hint, "%sraise cluster.nodes, or lower replicas, tensor_parallel or pipeline_parallel",
             shape);
    if (per_stage > 1)
        return diag_error(fleet->env->site->diag, SIM_E_UNFIT, where, hint,
                          "the cluster has not the %lld free nodes with %lld GPUs left that replica %d of service '%s' "
                          "takes",
                          (long long)parts.n, gpus, index, fleet->config->name);
    return diag_error(fleet->env->site->diag, SIM_E_UNFIT, where, hint,
                      "the cluster has no node left with %lld free GPU%s for replica %d of service '%s'", gpus,
                      gpus == 1 ? "" : "s", index, fleet->config->name);
}

int fleet_check_width(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct service_env *env = fleet->env;
    return pool_check_width(&pool->config, fleet_gpus_per_node(fleet, &pool->config),
                            &topology_config(env->topology)->network, fleet->config->name,
                            fleet_place_of(fleet, pool, "tensor_parallel"), env->site->diag);
}

/* An error at `key` of the pool; NULL: of the service. */
static int refuse(const struct fleet *fleet, const struct fleet_pool *pool, const char *key, const char *hint,
                  const char *problem)
{
    const struct service_env *env = fleet->env;
    const char *path = pool != NULL ? fleet_path_of(fleet, pool, key)
                                    : arena_printf(env->site->arena, "services.%s.%s", fleet->config->name, key);
    return diag_error(env->site->diag, SIM_E_CONFIG, path != NULL ? config_where(env->site->config, path) : "", hint,
                      "service '%s' scales, and %s", fleet->config->name, problem);
}

bool fleet_may_restart(const struct fleet *fleet)
{
    const struct router *router = fleet->config->routing.entry;
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (offload_in_use(&fleet->pools[i].offload)) return false;
    return router->route_pair == NULL;
}

static bool is_one_node(const struct cluster *cluster)
{
    return cluster->n_nodes == 1 && cluster->next == NULL;
}

/* Pools between which KV moves. A pool may go down to no replica, but not all that decode: the KV of processed prompts
 * would hold the GPUs that they need. */
static int check_pools(const struct fleet *fleet)
{
    const struct kv_transfer_config *transfer = &fleet->config->kv_transfer;
    bool decodes = fleet->first_decode == 0;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        decodes = decodes || (pool->config.role != POOL_PREFILL &&
                              (pool->config.scaling.policy.entry == NULL || pool->config.scaling.min > 0));
    }
    if (!decodes)
        return refuse(fleet, NULL, "pools", "raise scaling.min of a pool that decodes to 1",
                      "none of its pools that decode always has a replica");
    if (fleet->first_decode == 0 || transfer->bytes_per_s > 0 || is_one_node(fleet->env->cluster)) return 0;
    if (topology_config(fleet->env->topology)->network.bytes_per_s > 0) return 0;
    return refuse(fleet, NULL, "pools", "add \"network\": {\"bandwidth\": \"50GB/s\"} to the cluster",
                  "its replicas may start on any node, but no network connects nodes");
}

static int check_scaling_of(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct scaling_config *scaling = &pool->config.scaling;
    if (scaling->policy.entry == NULL) return 0;
    if (scaling->min > scaling->max)
        return refuse(fleet, pool, "scaling.min", "lower it, or raise scaling.max", "'min' is above 'max'");
    return 0;
}

int fleet_check_scaling(const struct fleet *fleet)
{
    const struct service_config *config = fleet->config;
    const struct router *router = config->routing.entry;
    bool all_scale = true;
    int code = 0;
    if (!service_config_scales(config)) return 0;
    if (config->scaling.policy.entry != NULL && config->pools.n > 0)
        return refuse(fleet, NULL, "scaling", "write it into pools, as in \"pools\": {\"NAME\": {\"scaling\": ...}}",
                      "has pools, which scale one by one");
    for (size_t i = 0; i < fleet->n_pools; i++)
        all_scale = all_scale && fleet->pools[i].config.scaling.policy.entry != NULL;
    if (all_scale && fleet_sets_restart(fleet))
        return refuse(fleet, NULL, "restart", "say it as scaling.start_delay or scaling.load_bandwidth",
                      "'scaling' also starts its replicas after failures; it has a 'restart'");
    for (size_t i = 0; i < fleet->n_pools && code == 0; i++) code = check_scaling_of(fleet, &fleet->pools[i]);
    if (code != 0) return code;
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (offload_in_use(&fleet->pools[i].offload))
            return refuse(fleet, &fleet->pools[i], "kv.offload", "take one that leaves weights and cache on the GPU",
                          "its 'kv.offload' places them elsewhere");
    if (router->route_pair != NULL)
        return refuse(fleet, NULL, "routing", "take one that chooses one replica", "its 'routing' chooses two");
    return check_pools(fleet);
}

int fleet_renew(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica)
{
    const struct batcher *batcher = pool->env.batcher;
    policy_state_destroy(&batcher->policy, replica->batcher_state);
    replica->next_group = 0;
    int code = policy_state_create(&batcher->policy, POLICY_BATCHING, sizeof *batcher, pool->config.batching.params,
                                   &replica->batcher_state, fleet->env->site->diag);
    return code != 0 ? code : fleet_forget_prefixes(fleet, pool, replica);
}
