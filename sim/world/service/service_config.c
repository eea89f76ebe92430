/* The section of a service in a scenario, and what its pools of replicas come to. */
#include "sim/world/policy/routing.h"
#include "sim/world/service/service.h"

#include <float.h>

#define ROW_OF struct kv_config
static const struct config_field kv_fields[] = {
    ROW_INT("block_tokens", block_tokens, DEFAULT("16"), WITHIN(1, 65536), "tokens per block of the paged KV cache"),
    ROW_INT("blocks", blocks, DEFAULT("0"), WITHIN(0, 1e12),
            "KV blocks per replica; 0: what the GPU's memory leaves beside the weights"),
    ROW_REAL("usable_frac", usable_frac, DEFAULT("0.9"), WITHIN(0.01, 1),
             "share of the GPU's memory that the engine uses (vLLM: gpu_memory_utilization)"),
    ROW_QUANTITY("reserve", reserve_bytes, UNIT_BYTES, DEFAULT("512MiB"), WITHIN(0, 1e12),
                 "memory of the runtime on each GPU: context, buffers, graphs"),
    ROW_INT("activation_tokens", activation_tokens, DEFAULT("4096"), WITHIN(1, 1e9),
            "tokens of the largest iteration, for which activations are kept"),
    ROW_INT("activation_sequences", activation_sequences, DEFAULT("256"), WITHIN(1, 1e6),
            "sequences of the largest iteration, for which logits are kept"),
    ROW_SHORT_VARIANT("prefix_cache", prefix_cache, OPTIONAL, "eviction", "policy",
                      "which cached prompt blocks are evicted first; without it no prefixes are cached"),
    ROW_SHORT_VARIANT(
        "offload", offload.policy, DEFAULT("none"), "kv_offload", "policy",
        "where weights, KV cache and hidden states lie, and what becomes of the cache of preempted sequences"),
    ROW_MAP("tiers", offload.tiers, FILLED, ANY, struct offload_tier_config, offload_tier_fields,
            "memory beyond the GPU: of the host, drives, drives that compute; at most one of each kind"),
    ROW_SECTION("workload", offload.workload, FILLED, offload_workload_fields, "what the placement is planned for"),
    ROW_QUANTITY("bus_bandwidth", offload.bus_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "that the host links of some GPUs share; none: each has its own"),
    ROW_INT("bus_gpus", offload.bus_gpus, DEFAULT("1"), WITHIN(1, 64), "GPUs that share it"),
    ROW_QUANTITY("slo_ttft", offload.ttft_slo_s, UNIT_TIME, OPTIONAL, POSITIVE,
                 "time to the first token that the placement must keep to"),
    ROW_QUANTITY("slo_tpot", offload.tpot_slo_s, UNIT_TIME, OPTIONAL, POSITIVE,
                 "time per output token that the placement must keep to"),
    {0}};
#undef ROW_OF

static const char *const role_names[] = {"mixed", "prefill", "decode", NULL};

#define ROW_OF struct pool_config
static const struct config_field pool_fields[] = {
    ROW_CHOICE("role", role, DEFAULT("mixed"), role_names,
               "what its replicas do of a request: all, its prompt, or decoding after a prompt processed elsewhere"),
    ROW_NAME_OR_PATH("gpu", gpu, OPTIONAL, ANY,
                     "type of its GPUs, of the cluster or one of its node_types; else the cluster's"),
    ROW_INT("replicas", replicas, OPTIONAL, WITHIN(1, 1000000),
            "instances of the LLM; this and all that follows default to the service's"),
    ROW_INT("tensor_parallel", tensor_parallel, OPTIONAL, WITHIN(1, 1024), "GPUs that share each layer of a replica"),
    ROW_INT("pipeline_parallel", pipeline_parallel, OPTIONAL, WITHIN(1, 256),
            "stages that the layers of a replica are split into"),
    ROW_SHORT_VARIANT("batching", batching, OPTIONAL, "batching", "policy", "which requests an iteration serves"),
    ROW_SHORT_VARIANT("cost", cost, OPTIONAL, "cost", "kind", "how long an iteration takes"),
    ROW_SECTION("kv", kv, OPTIONAL, kv_fields, "the paged KV cache"),
    {0}};
#undef ROW_OF

static const char *const transfer_modes[] = {"serial", "layer-wise", NULL};
static const char *const transfer_starts[] = {"pull", "push", NULL};

#define ROW_OF struct kv_transfer_config
static const struct config_field kv_transfer_fields[] = {
    ROW_CHOICE("mode", mode, DEFAULT("serial"), transfer_modes,
               "all after the prompt, or layer by layer while the next layers compute, which is pushed"),
    ROW_CHOICE("start", start, DEFAULT("pull"), transfer_starts,
               "pull: when the decoding replica has room and takes the request; push: when the prompt is processed"),
    ROW_INT("layer_wise_from", layer_wise_from_tokens, DEFAULT("0"), WITHIN(0, 1e9),
            "prompts with fewer tokens go serially"),
    ROW_QUANTITY("bandwidth", bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "of every transfer on its own, instead of the links of the site, which transfers share"),
    ROW_TIME("latency", latency_ns, DEFAULT("0s"), WITHIN(0, 1000), "before the first byte of a transfer moves"),
    {0}};
#undef ROW_OF

/* The default rate: a weight file (safetensors) read cold from NVMe on an H100 server takes 20.0 s for the 65.5 GB of
 * Qwen3-32B, 18.7 s for those of DeepSeek-R1-Distill-Qwen-32B (medians of 30 loads each; ServerlessLLM's
 * benchmark/results). */
#define LOAD_BANDWIDTH "3.4GB/s" /* START_LOAD_BYTES_PER_S */
#define START_ROWS(delay_key, delay, load)                                                                             \
    ROW_QUANTITY(delay_key, delay, UNIT_TIME, OPTIONAL, WITHIN(0, 1e6),                                                \
                 "from taking GPUs to a replica's first request; else the time to load its weights"),                  \
        ROW_QUANTITY("load_bandwidth", load, UNIT_BYTES_PER_S, DEFAULT(LOAD_BANDWIDTH), POSITIVE,                      \
                     "at which a replica loads its weights, all of its GPUs together")

#define ROW_OF struct scaling_config
static const struct config_field scaling_fields[] = {
    ROW_SHORT_VARIANT("policy", policy, REQUIRED, "autoscaling", "policy", "how many replicas there are to be"),
    ROW_INT("min", min, DEFAULT("1"), WITHIN(0, 1e6),
            "fewest replicas; with 0 the first request waits for one to start"),
    ROW_INT("max", max, REQUIRED, WITHIN(1, 1e6), "most replicas"),
    ROW_TIME("interval", interval_ns, DEFAULT("15s"), WITHIN(1e-3, 9e9), "time from one decision to the next"),
    START_ROWS("start_delay", start.delay_s, start.load_bytes_per_s),
    {0}};
#undef ROW_OF

#define ROW_OF struct start_config
static const struct config_field restart_fields[] = {START_ROWS("delay", delay_s, load_bytes_per_s), {0}};
#undef ROW_OF

static const char *const priority_names[] = {"high", "low", NULL};

#define ROW_OF struct service_config
const struct config_field service_config_fields[] = {
    ROW_NAME_OR_PATH("llm", llm, REQUIRED, WITHIN(1, 4096),
                     "LLM of the catalog (orrery list llms), or path of a Hugging Face config.json"),
    ROW_INT("tensor_parallel", tensor_parallel, DEFAULT("1"), WITHIN(1, 1024),
            "GPUs that share each layer of a replica; all on one node"),
    ROW_INT("pipeline_parallel", pipeline_parallel, DEFAULT("1"), WITHIN(1, 256),
            "stages that the layers of a replica are split into, of tensor_parallel GPUs each"),
    ROW_INT("replicas", replicas, DEFAULT("1"), WITHIN(1, 1000000),
            "instances of the LLM; with 'scaling': how many the service starts with"),
    ROW_SHORT_VARIANT("batching", batching, DEFAULT("vllm-v0"), "batching", "policy",
                      "which requests an iteration serves"),
    ROW_SHORT_VARIANT("routing", routing, DEFAULT("round-robin"), "routing", "policy",
                      "which replica a request goes to"),
    ROW_TIME("information_delay", information_delay_ns, OPTIONAL, WITHIN(0, 9e9),
             "period of the reports by which routers see replicas; 0s: routers see the present"),
    ROW_SHORT_VARIANT("cost", cost, DEFAULT("operators"), "cost", "kind", "how long an iteration takes"),
    ROW_SECTION("kv", kv, FILLED, kv_fields, "the paged KV cache"),
    ROW_MAP("pools", pools, OPTIONAL, ANY, struct pool_config, pool_fields,
            "kinds of replicas, by name; without pools all replicas are equal"),
    ROW_SECTION("slo", slo, FILLED, slo_fields, "limits that a request is to keep; without any, no slo.* metrics"),
    ROW_SHORT_VARIANT("decode_routing", decode_routing, OPTIONAL, "routing", "policy",
                      "which replica decodes when a prompt was processed in a pool with role prefill; else as routing"),
    ROW_SECTION("kv_transfer", kv_transfer, OPTIONAL, kv_transfer_fields,
                "how KV gets from the replica of the prompt to the one that decodes"),
    ROW_SECTION("scaling", scaling, OPTIONAL, scaling_fields,
                "how the number of replicas follows the load; else `replicas`, all the time"),
    ROW_SECTION("restart", restart, FILLED, restart_fields,
                "of a replica whose node has failed; a service with 'scaling' uses that instead"),
    ROW_CHOICE("priority", priority, OPTIONAL, priority_names,
               "when power runs short: low is slowed down first; else high"),
    ROW_SECTION("clock_share", clock_share, OPTIONAL, clock_share_config_fields,
                "how far its iterations wait for the SM clock; else cluster.power.clock_share"),
    ROW_VARIANT("trace", trace, REQUIRED, "request-trace", "format", "the requests that arrive"),
    {0}};
#undef ROW_OF

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
