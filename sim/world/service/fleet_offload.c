/* Placing the weights and KV cache of a pool: what its kv_offload policy can do there, and what it shares with others. */
#include "sim/world/service/fleet_offload.h"

#include "sim/world/links/topology_config.h"

#include <math.h>
#include <string.h>

/* The choice that a batcher's parameter "preemption" stands at; NULL: it has none. */
static const char *preemption_of(const struct config_variant *batching)
{
    const struct config_field *field = ((const struct batcher *)batching->entry)->policy.params;
    for (; field != NULL && field->name != NULL; field++)
        if (strcmp(field->name, "preemption") == 0 && field->kind == CONFIG_CHOICE)
            return field->choices[*(const int *)((const char *)batching->params + field->offset)];
    return NULL;
}

static int contradicts(const struct fleet *fleet, const struct fleet_pool *pool, const char *policy,
                       const char *preemption)
{
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "kv.offload"),
                      "leave out one of kv.offload and batching.preemption",
                      "kv.offload '%s' and batching.preemption '%s' (%s) say different things of preempted sequences",
                      policy, preemption, fleet_place_of(fleet, pool, "batching.preemption"));
}

/* What the two policies say of preempted sequences agrees, and the batcher can do it. */
static int check_preemption(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct kv_offloader *offloader = pool->offload.policy;
    const struct batcher *batcher = pool->env.batcher;
    const char *preemption = preemption_of(&pool->config.batching);
    if (offloader->evicted == NULL) return 0;
    const bool swaps = offload_evicted(&pool->offload, &(struct request_view){0}) == OFFLOAD_HOST;
    if (swaps && !batcher->takes_back && fleet->config->pools.n == 0) /* of several kinds of pools some may not */
        return diag_error(
            fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "kv.offload"),
            "take batching 'vllm-v0', or leave kv.offload out",
            "kv.offload '%s' sends preempted sequences to the host, from where batching policy '%s' does not take "
            "them back",
            offloader->policy.name, batcher->policy.name);
    if (preemption == NULL) return 0;
    const bool batcher_swaps = strcmp(preemption, "swap") == 0;
    if (!swaps && batcher_swaps && offloader->place == NULL)
        return contradicts(fleet, pool, offloader->policy.name, preemption);
    const char *path = fleet_path_of(fleet, pool, "batching.preemption");
    if (swaps && !batcher_swaps && path != NULL && config_is_given(fleet->env->site->config, path))
        return contradicts(fleet, pool, offloader->policy.name, preemption);
    return 0;
}

static int check_stages(const struct fleet *fleet, const struct fleet_pool *pool)
{
    if (pool->config.pipeline_parallel == 1) return 0;
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "pipeline_parallel"),
                      "take tensor_parallel, or a kv.offload that leaves weights and cache on the GPU",
                      "kv.offload '%s' places the layers of one stage, not of %lld", pool->offload.policy->policy.name,
                      (long long)pool->config.pipeline_parallel);
}

/* Replicas of the pool that a node holds at most, as the first nodes do that it fills. */
static int64_t replicas_per_node(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct cluster *cluster = cluster_with_gpu(fleet->env->cluster, pool->config.gpu);
    if (cluster == NULL || cluster->total_gpus == INT64_MAX) return 1;
    const int64_t fit = cluster->gpus_per_node / pool->config.tensor_parallel;
    const int64_t n = pool->config.replicas < fit ? pool->config.replicas : fit;
    return n > 1 ? n : 1;
}

/* Without a bus of its own the placement is planned for the site's PCIe switch and the pool's GPUs below it. Returns whether
 * that is so. */
static bool plan_for_switch(const struct fleet *fleet, const struct fleet_pool *pool, int64_t replicas,
                            struct offload_config *config)
{
    const struct pcie_switch_config *pcie = &topology_config(fleet->env->topology)->pcie_switch;
    const int64_t gpus = replicas * pool->config.tensor_parallel;
    if (!isnan(config->bus_bytes_per_s) || pcie->gpus <= 0) return false;
    config->bus_bytes_per_s = pcie->bytes_per_s;
    config->bus_gpus = gpus < pcie->gpus ? gpus : pcie->gpus;
    return true;
}

/* What each GPU of a replica can move when no other replica does: its own link, and its part of a switch with the others. */
static double port_bytes_per_s(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct topology *topology = fleet->env->topology;
    const struct pcie_switch_config *pcie = &topology_config(topology)->pcie_switch;
    const double port = topology_port_bytes_per_s(topology, &pool->gpu);
    const double all = port > 0 ? port : (double)INFINITY;
    if (pcie->gpus <= 0) return all;
    return fmin(all, pcie->bytes_per_s / fmin((double)pool->config.tensor_parallel, (double)pcie->gpus));
}

int fleet_place_offloaded(const struct fleet *fleet, struct fleet_pool *pool)
{
    const struct service_env *env = fleet->env;
    const struct kv_capacity memory = pool_kv_capacity(&pool->config, &pool->gpu, fleet->llm);
    const int64_t replicas = replicas_per_node(fleet, pool);
    struct offload_config config = pool->config.kv.offload;
    const bool on_switch = plan_for_switch(fleet, pool, replicas, &config);
    const struct offload_request request = {
        .config = &config, .catalog = env->site->catalog, .gpu = &pool->gpu, .llm = fleet->llm,
        .model = &pool->env.model, .tensor_parallel = pool->config.tensor_parallel, .node_replicas = replicas,
        .port_bytes_per_s = port_bytes_per_s(fleet, pool), .bus_on_links = on_switch,
        .gpu_bytes = memory.usable_bytes - memory.reserve_bytes, .activation_bytes = memory.activation_bytes,
        .activation_tokens = pool->config.kv.activation_tokens,
        .where = fleet_place_of(fleet, pool, "kv.offload"), .arena = env->site->arena, .diag = env->site->diag};
    int code = offload_service_init(&pool->offload, &request);
    if (code == 0) code = check_preemption(fleet, pool);
    if (code != 0 || !offload_in_use(&pool->offload)) return code;
    pool->env.model.model = &pool->offload.model;
    pool->env.model.cost = offload_cost;
    return check_stages(fleet, pool);
}
