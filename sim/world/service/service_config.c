/* The section of a service in a scenario, and what its pools of replicas come to. */
#include "sim/world/service/service.h"

#include <float.h>

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
    {.name = "prefix_cache", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT | CONFIG_OPTIONAL,
     .offset = offsetof(struct kv_config, prefix_cache), .family = "eviction", .tag = "policy",
     .help = "which blocks of processed prompts go first, that are kept for prompts with the same prefix; else none are kept"},
    {.name = "offload", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = offsetof(struct kv_config, offload.policy),
     .family = "kv_offload", .tag = "policy", .value = "none",
     .help = "where weights, KV cache and hidden states lie, and what becomes of the cache of preempted sequences"},
    {.name = "tiers", .kind = CONFIG_MAP, .offset = offsetof(struct kv_config, offload.tiers),
     .fields = offload_tier_fields, .elem_bytes = sizeof(struct offload_tier_config),
     .help = "memory beyond the GPU: of the host, drives, drives that compute; at most one of each kind"},
    {.name = "workload", .kind = CONFIG_SECTION, .offset = offsetof(struct kv_config, offload.workload),
     .fields = offload_workload_fields, .help = "what the placement is planned for"},
    {.name = "bus_bandwidth", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_BYTES_PER_S,
     .offset = offsetof(struct kv_config, offload.bus_bytes_per_s), .min = DBL_MIN, .max = 0,
     .help = "that the host links of some GPUs share; none: each has its own"},
    {.name = "bus_gpus", .kind = CONFIG_INT, .offset = offsetof(struct kv_config, offload.bus_gpus), .value = "1",
     .min = 1, .max = 64, .help = "GPUs that share it"},
    {.name = "slo_ttft", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_TIME,
     .offset = offsetof(struct kv_config, offload.ttft_slo_s), .min = DBL_MIN, .max = 0,
     .help = "time to the first token that the placement must keep to"},
    {.name = "slo_tpot", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_TIME,
     .offset = offsetof(struct kv_config, offload.tpot_slo_s), .min = DBL_MIN, .max = 0,
     .help = "time per output token that the placement must keep to"},
    {0}};

#undef FIELD
#define FIELD(name) offsetof(struct pool_config, name)
static const char *const role_names[] = {"mixed", "prefill", "decode", NULL};

static const struct config_field pool_fields[] = {
    {.name = "role", .kind = CONFIG_CHOICE, .offset = FIELD(role), .value = "mixed", .choices = role_names,
     .help = "what its replicas do of a request: all, its prompt, or decoding after a prompt processed elsewhere"},
    {.name = "gpu", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL | CONFIG_NAME_OR_PATH, .offset = FIELD(gpu),
     .help = "type of its GPUs, of the cluster or one of its node_types; else the cluster's"},
    {.name = "replicas", .kind = CONFIG_INT, .flags = CONFIG_OPTIONAL, .offset = FIELD(replicas), .min = 1,
     .max = 1000000, .help = "instances of the LLM; like all that follows: else the service's"},
    {.name = "tensor_parallel", .kind = CONFIG_INT, .flags = CONFIG_OPTIONAL, .offset = FIELD(tensor_parallel),
     .min = 1, .max = 1024, .help = "GPUs that share each layer of a replica"},
    {.name = "pipeline_parallel", .kind = CONFIG_INT, .flags = CONFIG_OPTIONAL, .offset = FIELD(pipeline_parallel),
     .min = 1, .max = 256, .help = "stages that the layers of a replica are split into"},
    {.name = "batching", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT | CONFIG_OPTIONAL, .offset = FIELD(batching),
     .family = "batching", .tag = "policy", .help = "which requests an iteration serves"},
    {.name = "cost", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT | CONFIG_OPTIONAL, .offset = FIELD(cost),
     .family = "cost", .tag = "kind", .help = "how long an iteration takes"},
    {.name = "kv", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(kv), .fields = kv_fields,
     .help = "the paged KV cache"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct kv_transfer_config, name)
static const char *const transfer_modes[] = {"serial", "layer-wise", NULL};
static const char *const transfer_starts[] = {"pull", "push", NULL};

static const struct config_field kv_transfer_fields[] = {
    {.name = "mode", .kind = CONFIG_CHOICE, .offset = FIELD(mode), .value = "serial", .choices = transfer_modes,
     .help = "all after the prompt, or layer by layer while the next layers compute, which is pushed"},
    {.name = "start", .kind = CONFIG_CHOICE, .offset = FIELD(start), .value = "pull", .choices = transfer_starts,
     .help = "pull: when the decoding replica has room and takes the request; push: when the prompt is processed"},
    {.name = "layer_wise_from", .kind = CONFIG_INT, .offset = FIELD(layer_wise_from_tokens), .value = "0", .min = 0,
     .max = 1e9, .help = "prompts with fewer tokens go serially"},
    {.name = "bandwidth", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_BYTES_PER_S,
     .offset = FIELD(bytes_per_s), .min = DBL_MIN, .max = 0,
     .help = "of every transfer on its own, instead of the links of the site, which transfers share"},
    {.name = "latency", .kind = CONFIG_TIME, .offset = FIELD(latency_ns), .value = "0s", .min = 0, .max = 1000,
     .help = "before the first byte of a transfer moves"},
    {0}};
#undef FIELD

/* The default rate: a weight file (safetensors) read cold from NVMe on an H100 server takes 20.0 s for the 65.5 GB of
 * Qwen3-32B, 18.7 s for those of DeepSeek-R1-Distill-Qwen-32B (medians of 30 loads each; ServerlessLLM's benchmark/results). */
#define LOAD_BANDWIDTH "3.4GB/s" /* START_LOAD_BYTES_PER_S */

#define FIELD(name) offsetof(struct scaling_config, name)
static const struct config_field scaling_fields[] = {
    {.name = "policy", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT | CONFIG_REQUIRED, .offset = FIELD(policy),
     .family = "autoscaling", .tag = "policy", .help = "how many replicas there are to be"},
    {.name = "min", .kind = CONFIG_INT, .offset = FIELD(min), .value = "1", .min = 0, .max = 1e6,
     .help = "replicas that there are at least; with 0 the first request waits for one to start"},
    {.name = "max", .kind = CONFIG_INT, .flags = CONFIG_REQUIRED, .offset = FIELD(max), .min = 1, .max = 1e6,
     .help = "replicas that there are at most"},
    {.name = "interval", .kind = CONFIG_TIME, .offset = FIELD(interval_ns), .value = "15s", .min = 1e-3, .max = 9e9,
     .help = "time from one decision to the next"},
    {.name = "start_delay", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_TIME,
     .offset = FIELD(start.delay_s), .min = 0, .max = 1e6,
     .help = "from taking its GPUs to a replica's first request; else what loading its weights takes"},
    {.name = "load_bandwidth", .kind = CONFIG_QUANTITY, .dim = UNIT_BYTES_PER_S, .offset = FIELD(start.load_bytes_per_s),
     .value = LOAD_BANDWIDTH, .min = DBL_MIN, .max = 0,
     .help = "at which a replica loads its weights, all of its GPUs together"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct start_config, name)
static const struct config_field restart_fields[] = {
    {.name = "delay", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_TIME, .offset = FIELD(delay_s),
     .min = 0, .max = 1e6, .help = "from taking its GPUs to a replica's first request; else what loading its weights takes"},
    {.name = "load_bandwidth", .kind = CONFIG_QUANTITY, .dim = UNIT_BYTES_PER_S, .offset = FIELD(load_bytes_per_s),
     .value = LOAD_BANDWIDTH, .min = DBL_MIN, .max = 0,
     .help = "at which a replica loads its weights, all of its GPUs together"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct service_config, name)
static const char *const priority_names[] = {"high", "low", NULL};

const struct config_field service_config_fields[] = {
    {.name = "llm", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED | CONFIG_NAME_OR_PATH, .offset = FIELD(llm), .min = 1,
     .max = 4096,
     .help = "LLM of the catalog (orrery list llms), or path of a Hugging Face config.json"},
    {.name = "tensor_parallel", .kind = CONFIG_INT, .offset = FIELD(tensor_parallel), .value = "1", .min = 1,
     .max = 1024, .help = "GPUs that share each layer of a replica; all on one node"},
    {.name = "pipeline_parallel", .kind = CONFIG_INT, .offset = FIELD(pipeline_parallel), .value = "1", .min = 1,
     .max = 256, .help = "stages that the layers of a replica are split into, of tensor_parallel GPUs each"},
    {.name = "replicas", .kind = CONFIG_INT, .offset = FIELD(replicas), .value = "1", .min = 1, .max = 1000000,
     .help = "instances of the LLM; where scaling says how many, those that there are at the start"},
    {.name = "batching", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = FIELD(batching),
     .family = "batching", .tag = "policy", .value = "vllm-v0", .help = "which requests an iteration serves"},
    {.name = "routing", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = FIELD(routing), .family = "routing",
     .tag = "policy", .value = "round-robin", .help = "which replica a request goes to"},
    {.name = "information_delay", .kind = CONFIG_TIME, .flags = CONFIG_OPTIONAL, .offset = FIELD(information_delay_ns),
     .min = 0, .max = 9e9, .help = "routers see replicas as of the latest report, one every so often; 0s: as they are"},
    {.name = "cost", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = FIELD(cost), .family = "cost",
     .tag = "kind", .value = "operators", .help = "how long an iteration takes"},
    {.name = "kv", .kind = CONFIG_SECTION, .offset = FIELD(kv), .fields = kv_fields, .help = "the paged KV cache"},
    {.name = "pools", .kind = CONFIG_MAP, .flags = CONFIG_OPTIONAL, .offset = FIELD(pools), .fields = pool_fields,
     .elem_bytes = sizeof(struct pool_config), .help = "kinds of replicas, by name; else all are alike"},
    {.name = "slo", .kind = CONFIG_SECTION, .offset = FIELD(slo), .fields = slo_fields,
     .help = "limits that a request is to keep; without any, nothing is said of them"},
    {.name = "decode_routing", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT | CONFIG_OPTIONAL,
     .offset = FIELD(decode_routing), .family = "routing", .tag = "policy",
     .help = "which replica decodes when a prompt was processed in a pool with role prefill; else as routing"},
    {.name = "kv_transfer", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(kv_transfer),
     .fields = kv_transfer_fields, .help = "how KV gets from the replica of the prompt to the one that decodes"},
    {.name = "scaling", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(scaling),
     .fields = scaling_fields, .help = "how many replicas there are over time; else `replicas`, all the time"},
    {.name = "restart", .kind = CONFIG_SECTION, .offset = FIELD(restart), .fields = restart_fields,
     .help = "of a replica whose node has failed; where the service scales, as 'scaling' says"},
    {.name = "priority", .kind = CONFIG_CHOICE, .flags = CONFIG_OPTIONAL, .offset = FIELD(priority),
     .choices = priority_names, .help = "when power runs short: low is slowed down first; else high"},
    {.name = "clock_share", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(clock_share),
     .fields = clock_share_config_fields, .help = "how far its iterations wait for the SM clock; else cluster.power.clock_share"},
    {.name = "trace", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED, .offset = FIELD(trace),
     .family = "request-trace", .tag = "format", .help = "the requests that arrive"},
    {0}};
#undef FIELD

size_t service_n_pools(const struct service_config *config)
{
    return config->pools.n > 0 ? config->pools.n : 1;
}

struct pool_config service_pool(const struct service_config *config, size_t index)
{
    struct pool_config pool = {.role = POOL_MIXED};
    if (config->pools.n > 0) pool = ((const struct pool_config *)config->pools.items)[index];
    if (pool.replicas == 0) pool.replicas = config->scaling.policy.entry != NULL ? config->scaling.max : config->replicas;
    if (pool.tensor_parallel == 0) pool.tensor_parallel = config->tensor_parallel;
    if (pool.pipeline_parallel == 0) pool.pipeline_parallel = config->pipeline_parallel;
    if (pool.batching.entry == NULL) pool.batching = config->batching;
    if (pool.cost.entry == NULL) pool.cost = config->cost;
    if (pool.kv.block_tokens == 0) pool.kv = config->kv;
    return pool;
}

int64_t service_start_replicas(const struct service_config *config)
{
    const struct scaling_config *scaling = &config->scaling;
    if (scaling->policy.entry == NULL) return INT64_MAX;
    if (config->replicas < scaling->min) return scaling->min;
    return config->replicas < scaling->max ? config->replicas : scaling->max;
}

struct kv_capacity pool_kv_capacity(const struct pool_config *pool, const struct gpu_spec *gpu,
                                    const struct llm_spec *llm)
{
    const struct kv_params params = {.usable_frac = pool->kv.usable_frac,
                                     .reserve_bytes = pool->kv.reserve_bytes,
                                     .batch_tokens = pool->kv.activation_tokens,
                                     .batch_sequences = pool->kv.activation_sequences,
                                     .block_tokens = pool->kv.block_tokens};
    return kv_capacity(gpu, llm, pool->tensor_parallel, pool->pipeline_parallel, &params);
}

int64_t pool_kv_blocks(const struct pool_config *pool, const struct gpu_spec *gpu, const struct llm_spec *llm)
{
    return pool->kv.blocks > 0 ? pool->kv.blocks : pool_kv_capacity(pool, gpu, llm).blocks;
}
