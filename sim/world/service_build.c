/* Making a service from its section of the scenario. */
#include "models/kvcapacity.h"
#include "sim/catalog/cost.h"
#include "sim/world/policy_state.h"
#include "sim/world/service_state.h"

enum { PIPELINE_STAGES = 1 }; /* of a replica: its layers are not split */

#define FIELD(name) offsetof(struct service_config, name)
static const struct config_field kv_fields[] = {
    {.name = "block_tokens", .kind = CONFIG_INT, .offset = offsetof(struct kv_config, block_tokens), .value = "16",
     .min = 1, .max = 65536, .help = "tokens per block of the paged KV cache"},
    {.name = "blocks", .kind = CONFIG_INT, .offset = offsetof(struct kv_config, blocks), .value = "0", .min = 0,
     .max = 1e12, .help = "KV blocks per replica; 0: what the GPU's memory leaves beside the weights"},
    {.name = "usable_frac", .kind = CONFIG_REAL, .offset = offsetof(struct kv_config, usable_frac), .value = "0.9",
     .min = 0.01, .max = 1, .help = "share of the GPU's memory that the engine uses (vLLM: gpu_memory_utilization)"},
    {.name = "reserve", .kind = CONFIG_QUANTITY, .dim = UNIT_BYTES,
     .offset = offsetof(struct kv_config, reserve_bytes), .value = "512MiB", .min = 0, .max = 1e12,
     .help = "memory of the runtime on each GPU: context, buffers, graphs"},
    {.name = "activation_tokens", .kind = CONFIG_INT, .offset = offsetof(struct kv_config, activation_tokens),
     .value = "4096", .min = 1, .max = 1e9, .help = "tokens of the largest iteration, for which activations are kept"},
    {.name = "activation_sequences", .kind = CONFIG_INT,
     .offset = offsetof(struct kv_config, activation_sequences), .value = "256", .min = 1, .max = 1e6,
     .help = "sequences of the largest iteration, for which logits are kept"},
    {0}};

const struct config_field service_config_fields[] = {
    {.name = "llm", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED | CONFIG_NAME_OR_PATH, .offset = FIELD(llm), .min = 1,
     .max = 4096,
     .help = "LLM of the catalog (orrery list llms), or path of a Hugging Face config.json"},
    {.name = "tensor_parallel", .kind = CONFIG_INT, .offset = FIELD(tensor_parallel), .value = "1", .min = 1,
     .max = 1024, .help = "GPUs that share each layer of a replica; all on one node"},
    {.name = "replicas", .kind = CONFIG_INT, .offset = FIELD(replicas), .value = "1", .min = 1, .max = 1000000,
     .help = "instances of the LLM"},
    {.name = "batching", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = FIELD(batching),
     .family = "batching", .tag = "policy", .value = "vllm-v0", .help = "which requests an iteration serves"},
    {.name = "routing", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = FIELD(routing), .family = "routing",
     .tag = "policy", .value = "round-robin", .help = "which replica a request goes to"},
    {.name = "cost", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = FIELD(cost), .family = "cost",
     .tag = "kind", .value = "operators", .help = "how long an iteration takes"},
    {.name = "kv", .kind = CONFIG_SECTION, .offset = FIELD(kv), .fields = kv_fields, .help = "the paged KV cache"},
    {.name = "trace", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED, .offset = FIELD(trace),
     .family = "request-trace", .tag = "format", .help = "the requests that arrive"},
    {0}};
#undef FIELD

static const char *place_of(const struct service *service, const char *key)
{
    char *path = arena_printf(service->env.arena, "services.%s.%s", service->config->name, key);
    return path != NULL ? config_where(service->env.config, path) : "";
}

static int build_model(struct service *service)
{
    const struct service_config *config = service->config;
    const struct service_env *env = &service->env;
    int code = catalog_llm(env->catalog, config->llm, place_of(service, "llm"), env->arena, &service->llm, env->diag);
    if (code != 0) return code;
    service->replica_env.max_context_tokens = service->llm.max_context;
    struct iteration_model *model = &service->replica_env.model;
    const struct cost_request request = {.catalog = env->catalog, .gpu = env->gpu, .llm = &service->llm,
                                         .tensor_parallel = config->tensor_parallel,
                                         .pipeline_parallel = PIPELINE_STAGES, .where = place_of(service, "cost"),
                                         .arena = env->arena, .diag = env->diag};
    code = cost_build(&config->cost, &request, model);
    if (code != 0 || !env->strict_domain || model->calibrated) return code;
    return diag_error(env->diag, SIM_E_CONFIG, place_of(service, "cost"),
                      "take \"kind\": \"operators\" and a GPU that 'orrery calibrate' was given profiles of, or "
                      "\"affine\" or \"table\"",
                      "service '%s': the %s cost is not calibrated, so it has no range that a strict run could keep to",
                      config->name, model->kind);
}

int64_t service_kv_blocks(const struct service_config *config, const struct gpu_spec *gpu, const struct llm_spec *llm)
{
    const struct kv_params params = {.usable_frac = config->kv.usable_frac,
                               .reserve_bytes = config->kv.reserve_bytes,
                               .batch_tokens = config->kv.activation_tokens,
                               .batch_sequences = config->kv.activation_sequences,
                               .block_tokens = config->kv.block_tokens};
    if (config->kv.blocks > 0) return config->kv.blocks;
    return kv_capacity(gpu, llm, config->tensor_parallel, PIPELINE_STAGES, &params).blocks;
}

static int count_blocks(struct service *service, int64_t *blocks)
{
    const struct service_config *config = service->config;
    *blocks = service_kv_blocks(config, service->env.gpu, &service->llm);
    if (*blocks > 0) return 0;
    return diag_error(service->env.diag, SIM_E_CONFIG, place_of(service, "tensor_parallel"),
                      "take more GPUs per replica (tensor_parallel) or a GPU with more memory",
                      "'%s' does not fit into %lld x %s: no memory is left for KV blocks", service->llm.name,
                      (long long)config->tensor_parallel, service->env.gpu->name);
}

/* The GPUs of one replica, all on one node. An unlimited cluster has no nodes and always has room. */
static bool take_gpus(const struct service *service)
{
    struct cluster *cluster = service->env.cluster;
    return cluster->total_gpus == INT64_MAX ||
           cluster_take_group(cluster, 0, (int32_t)service->config->tensor_parallel) >= 0;
}

static int build_replicas(struct service *service)
{
    const struct service_config *config = service->config;
    const struct service_env *env = &service->env;
    int64_t blocks;
    int code = count_blocks(service, &blocks);
    if (code != 0) return code;
    service->replicas = mem_zalloc((size_t)config->replicas, sizeof *service->replicas);
    service->loads = mem_zalloc((size_t)config->replicas, sizeof *service->loads);
    if (service->replicas == NULL || service->loads == NULL) return SIM_E_NOMEM;
    for (int64_t i = 0; i < config->replicas; i++) {
        if (!take_gpus(service))
            return diag_error(env->diag, SIM_E_CONFIG, place_of(service, i == 0 ? "tensor_parallel" : "replicas"),
                              "raise cluster.nodes, or lower replicas or tensor_parallel",
                              "the cluster has no %lld free GPUs on one node for replica %lld of service '%s'",
                              (long long)config->tensor_parallel, (long long)i, config->name);
        code = replica_init(&service->replicas[i], &service->replica_env, (int32_t)i, (*env->next_owner_id)++,
                            config->kv.block_tokens, blocks, config->batching.params, &service->loads[i]);
        if (code != 0) return code;
    }
    return 0;
}

static int build_router(struct service *service)
{
    const struct policy *policy = service->config->routing.entry;
    service->router = (const struct router *)(const void *)policy;
    return policy_state_create(policy, POLICY_ROUTING, sizeof *service->router, service->config->routing.params,
                               &service->router_state, service->env.diag);
}

static int open_trace(struct service *service)
{
    const struct trace_format *format = service->config->trace.entry;
    service->source_options = (struct source_options){.seed = service->env.seed, .run = service->env.run,
                                                      .stream = service->config->name,
                                                      .where = place_of(service, "trace")};
    struct diag *diag = service->env.diag;
    int first = diag != NULL ? diag->n_items : 0;
    int code = format->open_requests(service->config->trace.params, &service->source_options, &service->source, diag);
    if (code == SIM_E_IO) diag_add_hint(diag, first, "its path is given at %s", place_of(service, "trace.path"));
    return code;
}

int service_create(const struct service_config *config, const struct service_env *env, struct service **out)
{
    struct service *service = mem_zalloc(1, sizeof *service);
    *out = service;
    if (service == NULL) return SIM_E_NOMEM;
    service->config = config;
    service->env = *env;
    owner_init(&service->owner, (*env->next_owner_id)++);
    pool_init(&service->requests, sizeof(struct request));
    pool_init(&service->follow_ups, sizeof(struct follow_up));
    service->replica_env = (struct replica_env){
        .engine = env->engine,
        .diag = env->diag,
        .service = config->name,
        .batcher = config->batching.entry,
        .token_gap_s = &service->stats.token_gap_s,
        .single_step = env->single_step,
        .owner = service,
        .on_finish = service_on_finish,
        .on_reject = service_on_reject,
        .on_preempt = service_on_preempt,
        .on_batch = service_on_batch,
    };
    int code = service_stats_init(&service->stats);
    if (code == 0) code = build_model(service);
    if (code == 0) code = build_replicas(service);
    if (code == 0) code = build_router(service);
    return code != 0 ? code : open_trace(service);
}

void service_destroy(struct service *service)
{
    if (service == NULL) return;
    if (service->source != NULL) service->source->close(service->source);
    for (int64_t i = 0; service->replicas != NULL && i < service->config->replicas; i++)
        replica_fini(&service->replicas[i]);
    if (service->router != NULL) policy_state_destroy(&service->router->policy, service->router_state);
    mem_free(service->replicas);
    mem_free(service->loads);
    service_stats_fini(&service->stats);
    pool_fini(&service->requests);
    pool_fini(&service->follow_ups);
    mem_free(service);
}
