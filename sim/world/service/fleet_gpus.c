/* Placement of replicas on GPUs: taken stage by stage, each stage on one node, and released; and the reset of a replica
 * that restarts. */
#include "sim/core/check.h"
#include "sim/world/policy/instance.h"
#include "sim/world/service/fleet.h"

/* An unlimited cluster has no nodes and always has room. A placement on it stays reserved for its replica. */
static bool is_endless(const struct fleet *fleet)
{
    return fleet->env->cluster->total_gpus == INT64_MAX;
}

/* For all stages. */
static bool has_room(const struct fleet *fleet, const struct fleet_pool *pool)
{
    return is_endless(fleet) ||
           cluster_has_groups_of(fleet->env->cluster, pool->config.gpu, (int32_t)pool->config.tensor_parallel,
                                 pool->config.pipeline_parallel);
}

/* Whether its service can do without the replica, which then gives its GPUs back. */
static bool is_returnable(const struct fleet *fleet, const struct replica *replica)
{
    const struct scaling_config *scaling = &fleet->config->scaling;
    return scaling->policy.entry != NULL && replica->index >= scaling->min;
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

/* GPUs for one stage. Returns 0 or SIM_E_NOMEM. */
static int take_stage(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica,
                      struct allocation *part, sim_ns now)
{
    const int32_t gpus = (int32_t)pool->config.tensor_parallel;
    const int32_t node = is_endless(fleet) ? -1
                                           : cluster_take_group_of(fleet->env->cluster, pool->config.gpu, now, gpus);
    SIM_REQUIRE(node >= 0 || is_endless(fleet));
    note_returnable(fleet, replica, node, gpus);
    *part = (struct allocation){.node = node, .gpus = gpus};
    return topology_placement_add(fleet->env->topology, &replica->placement, node, gpus, &pool->gpu);
}

int fleet_take_gpus(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica, sim_ns now)
{
    const int64_t stages = pool->config.pipeline_parallel;
    struct holder *holder = &replica->holder;
    if (is_endless(fleet) && replica->placement.n_gpus > 0) return 1;
    if (!has_room(fleet, pool)) return 0;
    if (replica->parts == NULL)
        replica->parts = arena_alloc(fleet->env->site->arena, (size_t)stages * sizeof *replica->parts);
    if (replica->parts == NULL) return SIM_E_NOMEM;
    fleet_claim_gpus(fleet, replica, false);
    for (int64_t i = 0; i < stages; i++) {
        const int code = take_stage(fleet, pool, replica, &replica->parts[i], now);
        if (code != 0) return code;
        if (i > 0) replica->parts[i - 1].next = &replica->parts[i];
    }
    if (is_endless(fleet)) return 1;
    holder->held = replica->parts;
    holder->ugpus = (int64_t)replica->placement.n_gpus * GPU_MICRO;
    if (holder->ops == NULL) return 1; /* it has not joined yet: holders_join reports them */
    const int code = holders_given(&fleet->env->cluster->holders, holder, now);
    return code != 0 ? code : 1;
}

void fleet_release_gpus(const struct fleet *fleet, struct replica *replica, sim_ns now)
{
    struct cluster *cluster = fleet->env->cluster;
    struct holder *holder = &replica->holder;
    if (is_endless(fleet)) return;
    holders_taken(&cluster->holders, holder, now);
    for (const struct allocation *part = holder->held; part != NULL; part = part->next) {
        note_returnable(fleet, replica, part->node, -part->gpus);
        cluster_release_group_of(cluster, now, part->node, part->gpus);
    }
    holder->held = NULL;
    holder->ugpus = 0;
    topology_placement_release(&replica->placement);
}

/* Most GPUs of a node of this type. */
static int32_t most_per_node(struct cluster *cluster, const char *gpu)
{
    int32_t most = 0;
    for (cluster = cluster_with_gpu(cluster, gpu); cluster != NULL; cluster = cluster_with_gpu(cluster->next, gpu))
        if (cluster->gpus_per_node > most) most = cluster->gpus_per_node;
    return most;
}

int fleet_refuse_replica(const struct fleet *fleet, const struct fleet_pool *pool, int32_t index)
{
    const long long gpus = (long long)pool->config.tensor_parallel;
    const int32_t per_node = most_per_node(fleet->env->cluster, pool->config.gpu);
    if (gpus > per_node)
        return diag_error(fleet->env->site->diag, SIM_E_UNFIT, fleet_place_of(fleet, pool, "tensor_parallel"),
                          "lower tensor_parallel, or raise gpus_per_node",
                          "service '%s' splits each layer over %lld GPUs, of which a node has %d", fleet->config->name,
                          gpus, per_node);
    return diag_error(fleet->env->site->diag, SIM_E_UNFIT,
                      fleet_place_of(fleet, pool, index == pool->first ? "tensor_parallel" : "replicas"),
                      "raise cluster.nodes, or lower replicas, tensor_parallel or pipeline_parallel",
                      "the cluster has no node left with %lld free GPU%s for replica %d of service '%s'", gpus,
                      gpus == 1 ? "" : "s", index, fleet->config->name);
}

/* An error at `key` of the service. */
static int refuse(const struct fleet *fleet, const char *key, const char *hint, const char *problem)
{
    const struct service_env *env = fleet->env;
    const char *path = arena_printf(env->site->arena, "services.%s.%s", fleet->config->name, key);
    return diag_error(env->site->diag, SIM_E_CONFIG, path != NULL ? config_where(env->site->config, path) : "", hint,
                      "service '%s' scales, and %s", fleet->config->name, problem);
}

bool fleet_may_restart(const struct fleet *fleet)
{
    const struct router *router = fleet->config->routing.entry;
    return fleet->config->pools.n == 0 && !offload_in_use(&fleet->pools->offload) && router->route_pair == NULL;
}

int fleet_check_scaling(const struct fleet *fleet)
{
    const struct service_config *config = fleet->config;
    const struct router *router = config->routing.entry;
    if (config->scaling.policy.entry == NULL) return 0;
    if (fleet_sets_restart(fleet))
        return refuse(fleet, "restart", "say it as scaling.start_delay or scaling.load_bandwidth",
                      "'scaling' also starts its replicas after failures; it has a 'restart'");
    if (config->pools.n > 0) return refuse(fleet, "pools", "leave out 'pools' or 'scaling'", "has pools");
    if (config->scaling.min > config->scaling.max)
        return refuse(fleet, "scaling.min", "lower it, or raise scaling.max", "'min' is above 'max'");
    if (offload_in_use(&fleet->pools->offload))
        return refuse(fleet, "kv.offload", "take one that leaves weights and cache on the GPU",
                      "its 'kv.offload' places them elsewhere");
    if (router->route_pair != NULL)
        return refuse(fleet, "routing", "take one that chooses one replica", "its 'routing' chooses two");
    return 0;
}

int fleet_renew(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica)
{
    const struct batcher *batcher = pool->env.batcher;
    policy_state_destroy(&batcher->policy, replica->batcher_state);
    int code = policy_state_create(&batcher->policy, POLICY_BATCHING, sizeof *batcher, pool->config.batching.params,
                                   &replica->batcher_state, fleet->env->site->diag);
    return code != 0 ? code : fleet_forget_prefixes(fleet, pool, replica);
}
