/* What is reported of a replica whose GPUs have no memory for a KV cache, and how many would have; and of one that is
 * to free what it needs. */
#include "sim/world/links/topology_config.h"
#include "sim/world/service/fleet.h"

#include <stdio.h>
#include <string.h>

/* The least tensor parallelism above the pool's, of its doubles, that leaves memory for KV blocks; 0: none does. */
static int64_t least_parallel(const struct fleet *fleet, const struct fleet_pool *pool)
{
    struct pool_config wider = pool->config;
    for (wider.tensor_parallel *= 2; wider.tensor_parallel <= 64; wider.tensor_parallel *= 2)
        if (fleet->llm->q_heads % wider.tensor_parallel == 0 && pool_kv_blocks(&wider, &pool->gpu, fleet->llm) > 0)
            return wider.tensor_parallel;
    return 0;
}

/* Writes that a tensor parallelism fits, and what to set if it takes more nodes than there are or a network. Other
 * services may take some of the nodes. */
static void show_fit(const struct fleet *fleet, const struct fleet_pool *pool, int64_t least, char *text, size_t bytes)
{
    struct pool_config wider = pool->config;
    wider.tensor_parallel = least;
    const int64_t per_node = fleet_gpus_per_node(fleet, &wider);
    const struct fleet_parts parts = fleet_parts_of(fleet, &wider);
    int64_t n_nodes = 0;
    for (struct cluster *cluster = cluster_with_gpu(fleet->env->cluster, wider.gpu); per_node > 0 && cluster != NULL;
         cluster = cluster_with_gpu(cluster->next, wider.gpu))
        n_nodes += cluster->n_nodes;
    const int n = snprintf(text, bytes, "; tensor_parallel %lld fits", (long long)least);
    if (per_node == 0) return;
    const int64_t per = per_node / parts.gpus, needed = (wider.replicas * parts.n + per - 1) / per;
    const bool lacks_network = least > per_node && !(topology_config(fleet->env->topology)->network.bytes_per_s > 0);
    if (needed <= n_nodes && !lacks_network) return;
    char nodes[48] = "";
    const char *path = fleet_path_of(fleet, pool, "tensor_parallel");
    if (needed > n_nodes) snprintf(nodes, sizeof nodes, " --set cluster.nodes=%lld", (long long)needed);
    snprintf(text + n, bytes - (size_t)n, " on %lld nodes of %lld GPU%s, the cluster has %lld:%s%s --set %s=%lld",
             (long long)needed, (long long)per_node, per_node == 1 ? "" : "s", (long long)n_nodes, nodes,
             lacks_network ? " --set cluster.network.bandwidth=50GB/s" : "", path != NULL ? path : "tensor_parallel",
             (long long)least);
}

/* The place of what --set says about the LLM, its GPUs or their number, else of the number. */
static const char *unfit_place(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct config *config = fleet->env->site->config;
    const char *paths[] = {fleet_path_of(fleet, pool, "tensor_parallel"),
                           arena_printf(fleet->env->site->arena, "services.%s.llm", fleet->config->name),
                           "cluster.gpu"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (paths[i] == NULL || !config_is_given(config, paths[i])) continue;
        const char *where = config_where(config, paths[i]);
        if (strncmp(where, "--set", strlen("--set")) == 0) return where;
    }
    return fleet_place_of(fleet, pool, "tensor_parallel");
}

int fleet_refuse_memory(const struct fleet *fleet, const struct fleet_pool *pool)
{
    char hint[2 * DIAG_TEXT_CHARS], fits[208] = "";
    const bool is_slice = pool->gpu.slices > 0; /* which no replica has several of */
    const int64_t least = is_slice ? 0 : least_parallel(fleet, pool);
    char states[128] = "";
    if (least > 0) show_fit(fleet, pool, least, fits, sizeof fits);
    if (fleet->llm->linear_layers > 0)
        snprintf(states, sizeof states, ", states of %lld sequences %.3g GB (see kv.activation_sequences)",
                 (long long)pool->config.kv.activation_sequences,
                 1e-9 * (double)pool->config.kv.activation_sequences * llm_state_bytes(fleet->llm, 1));
    snprintf(hint, sizeof hint, "its weights have %.4g GB%s; take %s%s",
             pool_weight_bytes(&pool->config, fleet->llm) / 1e9, states,
             is_slice ? "a larger profile, or whole GPUs"
                      : "more GPUs per replica (tensor_parallel) or a GPU with more memory",
             fits);
    return diag_error(fleet->env->site->diag, SIM_E_UNFIT, unfit_place(fleet, pool), hint,
                      "'%s' does not fit into %lld x %s: no memory is left for KV blocks", fleet->llm->name,
                      (long long)pool->config.tensor_parallel, pool->gpu.name);
}

int fleet_check_windows(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const char *problem = pool->config.frees_windows ? service_windows_problem(fleet->config, &pool->config) : NULL;
    if (problem == NULL && pool->config.kv.windows == KV_WINDOWS_FREE && fleet->llm->full_layers == 0)
        problem = "no layers of its LLM have a window beside others without";
    if (problem == NULL) return 0;
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "kv.windows"),
                      "take \"keep\", or leave it out", "service '%s' cannot free what lies behind windows: %s",
                      fleet->config->name, problem);
}
