/* Building the replicas of a service: for every pool its cost model, its KV cache, and GPUs for each replica. */
#include "sim/catalog/cost.h"
#include "sim/world/links/topology_config.h"
#include "sim/world/policy/instance.h"
#include "sim/world/replica/replica_stream.h"
#include "sim/world/replica/replica_traffic.h"
#include "sim/world/service/fleet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Offloading: where a pool's weights and KV cache are, what its policy can do, what it shares with others --- */

/* The value of a batcher's parameter "preemption"; NULL: it has none. */
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

/* Checks that both policies agree on preempted sequences, and that the batcher can swap. */
static int check_preemption(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct kv_offloader *offloader = pool->offload.policy;
    const struct batcher *batcher = pool->env.batcher;
    const char *preemption = preemption_of(&pool->config.batching);
    if (offloader->evicted == NULL) return 0;
    const bool swaps = offload_evicted(&pool->offload, &(struct request_view){0}) == OFFLOAD_HOST;
    if (swaps && !batcher->resumes_swapped && fleet->config->pools.n == 0) /* of several kinds of pools some may not */
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
    if (pool->config.pipeline_parallel == 1 && fleet_parts_of(fleet, &pool->config).n > 1)
        return diag_error(
            fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "tensor_parallel"),
            "lower it to the GPUs of a node, or take a kv.offload that leaves weights and cache on the GPU",
            "kv.offload '%s' knows the memory of one node, not of %lld", pool->offload.policy->policy.name,
            (long long)fleet_parts_of(fleet, &pool->config).n);
    if (pool->config.data_parallel > 1)
        return diag_error(fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "data_parallel"),
                          "leave it out, or take a kv.offload that leaves weights and cache on the GPU",
                          "kv.offload '%s' knows no data_parallel", pool->offload.policy->policy.name);
    if (pool->config.pipeline_parallel == 1) return 0;
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "pipeline_parallel"),
                      "take tensor_parallel, or a kv.offload that leaves weights and cache on the GPU",
                      "kv.offload '%s' places the layers of one stage, not of %lld", pool->offload.policy->policy.name,
                      (long long)pool->config.pipeline_parallel);
}

/* Most replicas of the pool on a node: if nodes are filled in order, or one pool is spread. */
static int64_t replicas_per_node(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct cluster *cluster = cluster_with_gpu(fleet->env->cluster, pool->config.gpu);
    if (cluster == NULL || cluster->total_gpus == INT64_MAX) return 1;
    if (fleet->config->placement == SERVICE_SPREAD && fleet->n_pools == 1)
        return fleet_spread_most(fleet, &pool->config);
    const int64_t fit = cluster->gpus_per_node / pool->config.tensor_parallel;
    const int64_t n = pool->config.replicas < fit ? pool->config.replicas : fit;
    return n > 1 ? n : 1;
}

/* If the placement names no bus, it is planned for the site's PCIe switch and the pool's GPUs below it. Returns
 * whether that is so. */
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

/* Rate of each GPU of a replica when no other replica moves anything: its own link, and its part of a switch that it
 * shares with the replica's other GPUs. */
static double port_bytes_per_s(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct topology *topology = fleet->env->topology;
    const struct pcie_switch_config *pcie = &topology_config(topology)->pcie_switch;
    const double port = topology_port_bytes_per_s(topology, &pool->gpu);
    const double all = port > 0 ? port : (double)INFINITY;
    if (pcie->gpus <= 0) return all;
    return fmin(all, pcie->bytes_per_s / fmin((double)pool->config.tensor_parallel, (double)pcie->gpus));
}

/* Asks the offloading policy of a pool for a placement, whose model then prices iterations. Replicas of one node share
 * its host memory and the site's PCIe switch equally. Returns 0 or a negative code with findings: a missing tier,
 * stages that the policy cannot place, preemption that contradicts the batcher's. */
static int place_offloaded(const struct fleet *fleet, struct fleet_pool *pool)
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
        .gpu_bytes = memory.usable_bytes - memory.reserve_bytes - memory.state_bytes, .activation_bytes = memory.activation_bytes,
        .activation_tokens = pool->config.kv.activation_tokens, .kv_block_tokens = pool->config.kv.block_tokens,
        .where = fleet_place_of(fleet, pool, "kv.offload"), .arena = env->site->arena, .diag = env->site->diag};
    int code = offload_service_init(&pool->offload, &request);
    if (code == 0) code = check_preemption(fleet, pool);
    if (code != 0 || !offload_in_use(&pool->offload)) return code;
    const struct llm_spec *llm = fleet->llm;
    if (llm->linear_layers > 0 || llm->index_tokens > 0 || llm->alternating_dense || !llm_heads_are_plain(llm))
        return diag_error(env->site->diag, SIM_E_CONFIG, request.where,
                          "take a kv.offload that leaves weights and cache on the GPU",
                          "kv.offload places layers that are alike, and those of %s are not", llm->name);
    pool->env.model.model = &pool->offload.model;
    pool->env.model.cost = offload_cost;
    pool->env.model.cost_row = NULL; /* it prices the model that was replaced */
    pool->time_error = (struct time_error){0}; /* of transfers nobody knows it */
    pool->env.speed_frac = 0.0;
    return check_stages(fleet, pool);
}

/* --- Prefix caches ---
 *
 * One at each replica whose pool has a policy for it, created when the length of the trace's blocks is known. */

static int refuse_lengths(const struct fleet *fleet, int32_t block_tokens)
{
    return diag_error(fleet->env->site->diag, SIM_E_DATA, NULL, "take a trace in which all blocks have one length",
                      "service '%s' caches prefixes in blocks of %d tokens, and gets a request with blocks of %d",
                      fleet->config->name, fleet->prefix_block_tokens, block_tokens);
}

static int refuse_multiple(const struct fleet *fleet, const struct fleet_pool *pool, int32_t block_tokens)
{
    return diag_error(
        fleet->env->site->diag, SIM_E_CONFIG, NULL, "set kv.block_tokens to a divisor of it",
        "service '%s' is to cache prefixes in blocks of %d tokens, which is no multiple of the %lld of its "
        "KV blocks",
        fleet->config->name, block_tokens, (long long)pool->config.kv.block_tokens);
}

static struct cache_options cache_options(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct config_variant *variant = &pool->config.kv.prefix_cache;
    return (struct cache_options){.evictor = variant->entry, .params = variant->params, .seed = fleet->env->site->seed,
                                  .run = fleet->env->site->run, .diag = fleet->env->site->diag};
}

static int share_in_pool(const struct fleet *fleet, const struct fleet_pool *pool, int32_t block_tokens)
{
    const struct cache_options options = cache_options(fleet, pool);
    int code = 0;
    if (options.evictor == NULL) return 0;
    if (block_tokens % pool->config.kv.block_tokens != 0) return refuse_multiple(fleet, pool, block_tokens);
    for (int32_t i = 0; i < pool->n && code == 0; i++)
        code = replica_share_prefixes(&fleet->replicas[pool->first + i], &options, block_tokens);
    return code;
}

int fleet_share_prefixes(struct fleet *fleet, int32_t block_tokens)
{
    int code = 0;
    if (block_tokens == fleet->prefix_block_tokens) return 0;
    if (fleet->prefix_block_tokens > 0) return refuse_lengths(fleet, block_tokens);
    fleet->prefix_block_tokens = fleet->stores.block_tokens = block_tokens;
    for (size_t i = 0; i < fleet->n_pools && code == 0; i++)
        code = share_in_pool(fleet, &fleet->pools[i], block_tokens);
    return code;
}

int fleet_forget_prefixes(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica)
{
    const struct cache_options options = cache_options(fleet, pool);
    return replica_forget_prefixes(replica, &options);
}

int32_t fleet_own_block_tokens(const struct fleet *fleet, int32_t trace_block_tokens)
{
    const int64_t given = fleet->prefix_block_tokens > 0 ? fleet->prefix_block_tokens : trace_block_tokens;
    int64_t longest = given;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct kv_config *kv = &fleet->pools[i].config.kv;
        if (given == 0 && kv->prefix_cache.entry != NULL && kv->block_tokens > longest) longest = kv->block_tokens;
    }
    for (size_t i = 0; i < fleet->n_pools && longest > 0; i++) {
        const struct kv_config *kv = &fleet->pools[i].config.kv;
        if (kv->prefix_cache.entry != NULL && longest % kv->block_tokens != 0) return 0;
    }
    return (int32_t)longest;
}

bool fleet_caches_prefixes(const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (fleet->pools[i].config.kv.prefix_cache.entry != NULL) return true;
    return false;
}

/* --- Making pools, replicas and routers --- */

const char *fleet_path_of(const struct fleet *fleet, const struct fleet_pool *pool, const char *key)
{
    const char *service = fleet->config->name, *name = pool->config.name;
    struct arena *arena = fleet->env->site->arena;
    return name == NULL ? arena_printf(arena, "services.%s.%s", service, key)
                        : arena_printf(arena, "services.%s.pools.%s.%s", service, name, key);
}

const char *fleet_place_of(const struct fleet *fleet, const struct fleet_pool *pool, const char *key)
{
    const char *path = fleet_path_of(fleet, pool, key);
    return path != NULL ? config_where(fleet->env->site->config, path) : "";
}

/* At an end of the interval, times are those of the model by its error, where that is known. */
static int find_time_error(const struct cost_request *request, enum time_case time_case, struct fleet_pool *pool)
{
    if (time_case == TIMES_PREDICTED) return 0;
    struct time_error *error = &pool->time_error;
    const int code = cost_time_error(&pool->config.cost, request, &pool->env.model, error);
    if (code != 0 || error->basis == NULL) return code;
    pool->env.speed_frac = 1.0 / (time_case == TIMES_FAST ? error->fast_frac : error->slow_frac);
    return 0;
}

static int build_model(const struct fleet *fleet, struct fleet_pool *pool)
{
    const struct service_env *env = fleet->env;
    const int64_t per_node = fleet_gpus_per_node(fleet, &pool->config);
    const struct network_config *network = &topology_config(env->topology)->network;
    struct iteration_model *model = &pool->env.model;
    const struct cost_request request = {.catalog = env->site->catalog, .gpu = &pool->gpu, .llm = fleet->llm,
                                         .tensor_parallel = pool->config.tensor_parallel,
                                         .pipeline_parallel = pool->config.pipeline_parallel, .arena = env->site->arena,
                                         .data_parallel = pool->config.data_parallel, .diag = env->site->diag,
                                         .nodes = pool_nodes(&pool->config, per_node, network),
                                         .host_waits = pool_host_waits(fleet->config, &pool->config),
                                         .where = fleet_place_of_cost(fleet, pool),
                                         .tensor_where = fleet_place_of(fleet, pool, "tensor_parallel"),
                                         .pipeline_where = fleet_place_of(fleet, pool, "pipeline_parallel")};
    int code = cost_build(&pool->config.cost, &request, model);
    if (code == 0) code = fleet_check_width(fleet, pool);
    if (code == 0) code = find_time_error(&request, env->site->time_case, pool);
    if (code != 0 || !env->site->strict_domain || model->calibrated) return code;
    return diag_error(env->site->diag, SIM_E_CONFIG, request.where,
                      "take \"kind\": \"operators\" and a GPU that 'orrery calibrate' was given profiles of, or "
                      "\"affine\" or \"table\"",
                      "service '%s': the %s cost is not calibrated, so it has no range that a strict run could keep to",
                      fleet->config->name, model->kind);
}

static int count_blocks(const struct fleet *fleet, struct fleet_pool *pool)
{
    const bool offloaded = offload_in_use(&pool->offload), runs = pool->offload.problem[0] == '\0';
    pool->kv_blocks = offloaded ? offload_kv_blocks(&pool->offload, pool->config.kv.block_tokens) : 0;
    if (offloaded && runs && pool->config.kv.blocks > 0) pool->kv_blocks = pool->config.kv.blocks;
    if (offloaded) return 0; /* a placement that does not fit serves no request: a valid result */
    pool->kv_blocks = pool_kv_blocks(&pool->config, &pool->gpu, fleet->llm);
    pool->kv_blocks = fleet_blocks_beside_draft(fleet, pool);
    if (pool->kv_blocks <= 0) return fleet_refuse_memory(fleet, pool);
    pool->kv_blocks = fleet_blocks_beside_chunks(pool);
    return pool->kv_blocks > 0 ? 0 : fleet_refuse_chunks(fleet, pool);
}

/* The pool's GPU: the cluster's, or one of its node types'. */
static int find_gpu(const struct fleet *fleet, struct fleet_pool *pool)
{
    const struct service_env *env = fleet->env;
    if (pool->config.gpu == NULL) {
        pool->config.gpu = env->cluster->gpu;
        pool->gpu = *env->gpu;
        return 0;
    }
    const char *where = fleet_place_of(fleet, pool, "gpu");
    int code = catalog_gpu(env->site->catalog, pool->config.gpu, where, env->site->arena, &pool->gpu, env->site->diag);
    if (code != 0 || cluster_with_gpu(env->cluster, pool->config.gpu) != NULL) return code;
    return diag_error(env->site->diag, SIM_E_CONFIG, where, "add some to cluster.node_types",
                      "the cluster has no nodes with the GPU '%s' of pool '%s' of service '%s'", pool->config.gpu,
                      pool->config.name, fleet->config->name);
}

/* Bytes of a KV block over all GPUs of a replica that hold a part of it: those of a group with sequences of its own.
 * With more GPUs than heads of keys and values, several GPUs hold the same. */
static int64_t kv_block_bytes(const struct pool_config *config, const struct llm_spec *llm)
{
    const int64_t gpus = config->tensor_parallel / config->data_parallel;
    return llround(llm_shard(llm, gpus, 1).kv_bytes_per_token * (double)(gpus * config->kv.block_tokens));
}

/* Checks that the eviction policy can be used: it needs no future. Caches start with the first prefix. */
static int try_prefix_cache(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct policy *policy = pool->config.kv.prefix_cache.entry;
    struct diag *diag = fleet->env->site->diag;
    struct cache trial;
    if (policy == NULL) return 0;
    if (policy->oracle & ORACLE_FUTURE)
        return diag_error(diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "kv.prefix_cache"),
                          "only 'orrery trace stat --prefix-cache' knows it",
                          "eviction policy '%s' asks for the accesses that are still to come", policy->name);
    int code = cache_init(&trial, &(struct cache_options){.evictor = policy,
                                                          .params = pool->config.kv.prefix_cache.params,
                                                          .capacity = 1, .diag = diag});
    cache_fini(&trial);
    return code;
}

/* Counts energy if the power of the GPU is known and all of the work is the GPU's. */
static int find_power(const struct fleet *fleet, struct fleet_pool *pool)
{
    const struct service_env *env = fleet->env;
    const int64_t gpus = pool->config.tensor_parallel * pool->config.pipeline_parallel;
    const int code = catalog_gpu_power(env->site->catalog, &pool->gpu, env->site->arena, &pool->power, env->site->diag);
    if (code != 0 || pool->power.from == NULL || offload_in_use(&pool->offload)) return code;
    pool->energy = energy_model_of(&pool->power.model, &pool->gpu, fleet->llm, gpus);
    pool->env.energy = &pool->energy;
    return 0;
}

/* A GPU price in the scenario overrides the catalog's. */
static void find_price(const struct fleet *fleet, struct fleet_pool *pool)
{
    const double given = cluster_gpu_usd_per_h(fleet->env->cluster, pool->config.gpu);
    if (!isnan(given)) pool->gpu.usd_per_h = given;
}

static int build_pool(const struct fleet *fleet, struct fleet_pool *pool, const struct replica_env *common)
{
    int code = find_gpu(fleet, pool);
    if (code == 0) find_price(fleet, pool);
    if (code == 0) code = try_prefix_cache(fleet, pool);
    if (code != 0) return code;
    pool->env = *common;
    pool->env.max_context_tokens = fleet->llm->max_context;
    pool->env.reads = llm_reads(fleet->llm);
    pool->env.reads.groups = (double)pool->config.data_parallel;
    pool->env.batcher = pool->config.batching.entry;
    pool->env.stages = pool->config.pipeline_parallel;
    pool->env.kv_block_bytes = kv_block_bytes(&pool->config, fleet->llm);
    pool->env.offload = &pool->offload;
    code = fleet_check_windows(fleet, pool);
    if (code != 0) return code;
    if (pool_frees_windows(&pool->config, fleet->llm))
        pool->env.window_share = llm_window_share(fleet->llm,
                                                  pool->config.tensor_parallel / pool->config.data_parallel);
    code = build_model(fleet, pool);
    if (code == 0) code = fleet_check_sharing(fleet, pool);
    if (code == 0) code = place_offloaded(fleet, pool);
    if (code == 0) code = find_power(fleet, pool);
    if (code == 0) code = fleet_build_speculation(fleet, pool);
    if (code == 0) code = count_blocks(fleet, pool);
    return code != 0 ? code : fleet_build_sampling(fleet, pool);
}

static int build_replica(struct fleet *fleet, const struct fleet_pool *pool, int32_t index)
{
    const struct pool_config *config = &pool->config;
    struct replica *replica = &fleet->replicas[index];
    struct diag *diag = fleet->env->site->diag;
    diag->place = fleet_place_of(fleet, pool, "batching");
    int code = replica_init(replica, &pool->env, index, site_env_owner_ids(fleet->env->site, 1),
                            config->kv.block_tokens, pool->kv_blocks, config->batching.params, &fleet->loads[index]);
    diag->place = NULL;
    if (code == 0 && index - pool->first < config->start_replicas) {
        const int got = fleet_take_gpus(fleet, pool, replica, 0);
        code = got == 0 ? fleet_refuse_replica(fleet, pool, index) : got < 0 ? got : 0;
    }
    if (code == 0 && offload_in_use(&pool->offload)) code = replica_stream_open(replica);
    if (code == 0 && fleet_shares_links(fleet, pool)) code = replica_traffic_open(replica);
    return code;
}

/* Replicas are numbered by role in this order. */
static const int role_order[] = {POOL_PREFILL, POOL_MIXED, POOL_DECODE};

/* Replicas of a pool that are made whether or not the GPUs of the site can hold them. */
enum { FREE_REPLICAS = 4096 };

/* Number of replicas to make. Of very many these are more than the GPUs of the site can hold, but not all: the others
 * would never find room, and take memory. */
static int32_t count_replicas(const struct fleet *fleet, const struct pool_config *config)
{
    const int64_t gpus_each = config->tensor_parallel * config->pipeline_parallel;
    const char *gpu = config->gpu != NULL ? config->gpu : fleet->env->cluster->gpu;
    int64_t n = FREE_REPLICAS;
    if (config->replicas <= n || gpu == NULL) return (int32_t)config->replicas;
    const struct cluster *part = cluster_with_gpu(fleet->env->cluster, gpu);
    for (; part != NULL; part = cluster_with_gpu(part->next, gpu)) {
        if (part->total_gpus == INT64_MAX) return (int32_t)config->replicas;
        n += part->total_gpus / gpus_each + 1;
    }
    return (int32_t)(config->replicas < n ? config->replicas : n);
}

/* The pools of one role. */
static int build_pools_of(struct fleet *fleet, int role, const struct replica_env *common, size_t *n_built)
{
    int code = 0;
    for (size_t i = 0; i < fleet->n_pools && code == 0; i++) {
        struct pool_config config = service_pool(fleet->config, i);
        if (config.role != role) continue;
        struct fleet_pool *pool = &fleet->pools[(*n_built)++];
        *pool = (struct fleet_pool){.config = config, .first = fleet->n_replicas, .n = count_replicas(fleet, &config)};
        fleet->n_replicas += pool->n;
        code = build_pool(fleet, pool, common);
        pool->env.changed_loads = &fleet->changed_loads;
    }
    return code;
}

static int build_pools(struct fleet *fleet, const struct replica_env *common)
{
    fleet->pools = mem_zalloc(fleet->n_pools, sizeof *fleet->pools);
    if (fleet->pools == NULL) return SIM_E_NOMEM;
    int32_t begin[4] = {0};
    size_t n_built = 0;
    int code = 0;
    for (int i = 0; i < 3 && code == 0; i++) {
        code = build_pools_of(fleet, role_order[i], common, &n_built);
        begin[i + 1] = fleet->n_replicas;
    }
    fleet->first_decode = begin[1];
    fleet->n_prompt = begin[2];
    return code;
}

/* Checks that some replica processes prompts and some replica decodes. */
static int check_roles(const struct fleet *fleet)
{
    const struct service_config *config = fleet->config;
    bool prompts = fleet->n_prompt > 0, decodes = fleet->first_decode < fleet->n_replicas;
    if (prompts && decodes) return 0;
    char *path = arena_printf(fleet->env->site->arena, "services.%s.pools", config->name);
    if (path == NULL) return SIM_E_NOMEM;
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, config_where(fleet->env->site->config, path),
                      prompts ? "add a pool with role decode or mixed" : "add a pool with role prefill or mixed",
                      prompts ? "no pool of service '%s' decodes what its prefill pools have processed"
                              : "no pool of service '%s' processes prompts",
                      config->name);
}

static int build_replicas(struct fleet *fleet)
{
    size_t n = (size_t)fleet->n_replicas;
    fleet->replicas = mem_zalloc(n, sizeof *fleet->replicas);
    fleet->loads = mem_zalloc(n, sizeof *fleet->loads);
    fleet->reserved_tokens = mem_zalloc(n, sizeof *fleet->reserved_tokens);
    fleet->asked_oracle = mem_zalloc(1, sizeof *fleet->asked_oracle);
    if (fleet->replicas == NULL || fleet->loads == NULL || fleet->reserved_tokens == NULL ||
        fleet->asked_oracle == NULL || change_log_init(&fleet->changed_loads, fleet->n_replicas) != 0)
        return SIM_E_NOMEM;
    int code = fleet_spread_init(fleet);
    for (size_t i = 0; i < fleet->n_pools && code == 0; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        for (int32_t k = 0; k < pool->n && code == 0; k++) code = build_replica(fleet, pool, pool->first + k);
    }
    return code;
}

static int build_router(const struct fleet *fleet, const struct config_variant *routing, struct fleet_router *made)
{
    const struct policy *policy = routing->entry;
    const struct router *router = (const struct router *)(const void *)policy;
    int code = policy_state_create(policy, POLICY_ROUTING, sizeof *router, routing->params, &made->state,
                                   fleet->env->site->diag);
    if (code != 0) return code;
    made->router = router;
    if (router->route != NULL || router->route_pair != NULL) return 0;
    return diag_error(fleet->env->site->diag, SIM_E_POLICY, NULL, NULL,
                      "routing policy '%s' has neither route nor route_pair", policy->name);
}

/* The router of requests that are handed over, if the decode replica is not chosen on arrival. */
static int build_decode_router(struct fleet *fleet)
{
    const struct service_config *config = fleet->config;
    bool chosen = config->decode_routing.entry != NULL;
    if (fleet->first_decode == 0 || fleet->routing.router->route_pair != NULL) return 0;
    int code = build_router(fleet, chosen ? &config->decode_routing : &config->routing, &fleet->decode_routing);
    if (code != 0 || fleet->decode_routing.router->route != NULL) return code;
    char *path = arena_printf(fleet->env->site->arena, "services.%s.decode_routing", config->name);
    if (path == NULL) return SIM_E_NOMEM;
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, config_where(fleet->env->site->config, path),
                      "make it the 'routing'", "routing policy '%s' chooses both replicas on arrival",
                      fleet->decode_routing.router->policy.name);
}

/* Checks that replicas to which requests may be handed over have a batcher that takes them. */
static int check_takers(const struct fleet *fleet)
{
    bool by_role = fleet->first_decode > 0, by_pair = fleet->routing.router->route_pair != NULL;
    if (!by_role && !(by_pair && fleet->n_replicas > 1)) return 0;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        const struct batcher *batcher = pool->env.batcher;
        if (pool->config.role == POOL_PREFILL || batcher->accepts_remote) continue;
        return diag_error(fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "batching"),
                          "take one that does, such as vllm-v0, vllm-v1, sglang, trtllm or sarathi",
                          "batching policy '%s' takes no requests whose prompt was processed elsewhere, which %s%s%sof "
                          "service '%s' may be handed",
                          batcher->policy.name, pool->config.name != NULL ? "pool '" : "the replicas ",
                          pool->config.name != NULL ? pool->config.name : "", pool->config.name != NULL ? "' " : "",
                          fleet->config->name);
    }
    return 0;
}

static int build_routers(struct fleet *fleet)
{
    const char *stream = arena_printf(fleet->env->site->arena, "services.%s.routing", fleet->config->name);
    if (stream == NULL) return SIM_E_NOMEM;
    rng_init(&fleet->random, fleet->env->site->seed, fleet->env->site->run, stream, 0);
    int code = build_router(fleet, &fleet->config->routing, &fleet->routing);
    if (code == 0) code = build_decode_router(fleet);
    return code != 0 ? code : check_takers(fleet);
}

/* --- Hand-over --- */

/* Checks that some replica with role prefill reaches some replica that decodes. */
static int check_ways(const struct fleet *fleet)
{
    if (fleet->config->kv_transfer.bytes_per_s > 0 || service_config_scales(fleet->config)) return 0;
    for (int32_t from = 0; from < fleet->first_decode; from++)
        for (int32_t to = fleet->first_decode; to < fleet->n_replicas; to++)
            if (topology_reaches(&fleet->replicas[from].placement, &fleet->replicas[to].placement)) return 0;
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, config_where(fleet->env->site->config, "cluster"),
                      "add \"network\": {\"bandwidth\": \"50GB/s\"} to the cluster",
                      "service '%s': data moves between nodes, but there is no network", fleet->config->name);
}

int fleet_init(struct fleet *fleet, const struct service_config *config, const struct service_env *env,
               const struct llm_spec *llm, const struct replica_env *common)
{
    *fleet = (struct fleet){.config = config, .env = env, .llm = llm, .n_pools = service_n_pools(config)};
    int code = build_pools(fleet, common);
    if (code == 0) code = check_roles(fleet);
    if (code == 0) code = fleet_check_spread(fleet);
    if (code == 0) code = fleet_check_scaling(fleet);
    if (code == 0) code = build_replicas(fleet);
    if (code == 0) code = fleet_store_init(fleet);
    if (code == 0) code = fleet_chunks_init(fleet);
    if (code == 0) code = fleet_reports_init(fleet);
    if (code == 0) code = build_routers(fleet);
    if (code != 0) return code;
    fleet_warn_unread(fleet);
    fleet_bundle(fleet);
    code = fleet_list_groups(fleet);
    return code == 0 && fleet->first_decode > 0 ? check_ways(fleet) : code;
}

static void destroy_router(const struct fleet_router *made)
{
    if (made->router != NULL) policy_state_destroy(&made->router->policy, made->state);
}

void fleet_fini(struct fleet *fleet)
{
    for (int32_t i = 0; fleet->replicas != NULL && i < fleet->n_replicas; i++) replica_fini(&fleet->replicas[i]);
    fleet_store_fini(fleet);
    fleet_spread_fini(fleet);
    destroy_router(&fleet->routing);
    destroy_router(&fleet->decode_routing);
    fleet_reports_fini(fleet);
    mem_free(fleet->candidates.numbers);
    mem_free(fleet->candidates.loads);
    for (size_t i = 0; fleet->pools != NULL && i < fleet->n_pools; i++) offload_service_fini(&fleet->pools[i].offload);
    mem_free(fleet->replicas);
    mem_free(fleet->loads);
    change_log_fini(&fleet->changed_loads);
    mem_free(fleet->reserved_tokens);
    mem_free(fleet->asked_oracle);
    mem_free(fleet->pools);
}
