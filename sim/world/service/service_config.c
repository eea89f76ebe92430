/* The section of a service in a scenario, and what its pools of replicas come to. */
#include "sim/catalog/cost.h"
#include "sim/world/policy/routing.h"
#include "sim/world/policy/speculation.h"
#include "sim/world/replica/sequence_group.h"
#include "sim/world/service/engine_batching.h"
#include "sim/world/service/service.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char *const kv_windows[] = {"usual", "keep", "free", NULL};

#define ROW_OF struct kv_config
static const struct config_field kv_fields[] = {
    ROW_INT("block_tokens", block_tokens, DEFAULT("16"), WITHIN(1, 65536), "tokens per block of the paged KV cache"),
    ROW_INT("blocks", blocks, DEFAULT("0"), WITHIN(0, 1e12),
            "KV blocks per replica, of layers without a window alone where 'windows' is free; 0: as many as fit "
            "beside the "
            "weights in the GPU's memory"),
    ROW_REAL("usable_frac", usable_frac, DEFAULT("0.9"), WITHIN(0.01, 1),
             "share of the GPU's memory that the engine uses (vLLM: gpu_memory_utilization)"),
    ROW_QUANTITY("reserve", reserve_bytes, UNIT_BYTES, DEFAULT("512MiB"), WITHIN(0, 1e12),
                 "memory of the runtime on each GPU: context, buffers, graphs"),
    ROW_INT("activation_tokens", activation_tokens, DEFAULT("4096"), WITHIN(1, 1e9),
            "tokens of the largest iteration, for which activations are kept"),
    ROW_INT("activation_sequences", activation_sequences, DEFAULT("256"), WITHIN(1, 1e6),
            "sequences of the largest iteration, for which logits and states of linear attention are kept"),
    ROW_CHOICE("windows", windows, DEFAULT("usual"), kv_windows,
               "tokens behind the window of layers that have one: keep or free their blocks; usual: free with vllm-v1 "
               "where nothing else keeps them, but not behind chunks"),
    ROW_SHORT_VARIANT("prefix_cache", prefix_cache, OPTIONAL, "eviction", "policy",
                      "eviction of cached prompt blocks; default: no prefixes are cached"),
    ROW_SECTION("prefix_store", prefix_store, OPTIONAL, store_config_fields,
                "tiers below GPU memory that keep prompt blocks"),
    ROW_SECTION("chunk_store", chunk_store, OPTIONAL, chunk_store_fields,
                "reuse of prompt chunks at other places, with partial recomputing"),
    ROW_SHORT_VARIANT(
        "offload", offload.policy, DEFAULT("none"), "kv_offload", "policy",
        "placement of weights, KV cache and hidden states, and treatment of the cache of preempted sequences"),
    ROW_MAP("tiers", offload.tiers, FILLED, ANY, struct offload_tier_config, offload_tier_fields,
            "memory beyond the GPU: of the host, drives, drives that compute; at most one of each kind"),
    ROW_SECTION("workload", offload.workload, FILLED, offload_workload_fields, "workload that the placement is planned for"),
    ROW_QUANTITY("bus_bandwidth", offload.bus_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "bandwidth that the host links of `bus_gpus` GPUs share; default: each has its own"),
    ROW_INT("bus_gpus", offload.bus_gpus, DEFAULT("1"), WITHIN(1, 64), "GPUs that share the bus"),
    ROW_QUANTITY("slo_ttft", offload.ttft_slo_s, UNIT_TIME, OPTIONAL, POSITIVE,
                 "time to the first token that the placement must keep to"),
    ROW_QUANTITY("slo_tpot", offload.tpot_slo_s, UNIT_TIME, OPTIONAL, POSITIVE,
                 "time per output token that the placement must keep to"),
    {0}};
#undef ROW_OF

#define FORMAT_NAME(id, name, bytes) name,
static const char *const format_names[] = {"llm", NUMBER_FORMATS(FORMAT_NAME) NULL};
static const char *const part_formats[] = {"default", "llm", NUMBER_FORMATS(FORMAT_NAME) NULL};
#undef FORMAT_NAME

#define FORMAT(key, member, what)                                                                                      \
    ROW_CHOICE(key, member, DEFAULT("llm"), format_names, "number format " what "; llm: that of the LLM's file")
#define PART_FORMAT(key, part, what)                                                                                   \
    ROW_CHOICE(key, parts[LLM_PART_##part], DEFAULT("default"), part_formats,                                          \
               "number format " what "; llm: that of the LLM's file")
#define ROW_OF struct format_config
static const struct config_field format_fields[] = {
    FORMAT("weights", weights, "of the layers' matrices, where the next keys give no other"),
    PART_FORMAT("attention_weights", ATTENTION, "of the attention's projections; default: as `weights`"),
    PART_FORMAT("output_weights", OUT, "of the attention's output projection; default: that of its other projections"),
    PART_FORMAT("dense_weights", DENSE, "of feed-forward layers, the shared expert left out; default: as `weights`"),
    PART_FORMAT("shared_weights", SHARED, "of the shared expert; default: as `weights`"),
    PART_FORMAT("expert_weights", EXPERTS, "of the experts' matrices; default: as `weights`"),
    PART_FORMAT("head_weights", HEAD, "of the head; default: that of computing beside `weights`"),
    FORMAT("kv", kv, "of the KV cache"),
    {0}};
#undef ROW_OF
#undef FORMAT
#undef PART_FORMAT

/* The default rate: a weight file (safetensors) read cold from NVMe on an H100 server takes 20.0 s for the 65.5 GB of
 * Qwen3-32B, 18.7 s for those of DeepSeek-R1-Distill-Qwen-32B (medians of 30 loads each; ServerlessLLM's
 * benchmark/results). */
#define LOAD_BANDWIDTH "3.4GB/s" /* START_LOAD_BYTES_PER_S */
#define START_ROWS(delay_key, delay, load)                                                                             \
    ROW_QUANTITY(delay_key, delay, UNIT_TIME, OPTIONAL, WITHIN(0, 1e6),                                                \
                 "from taking GPUs to a replica's first request; default: the time to load its weights"),                  \
        ROW_QUANTITY("load_bandwidth", load, UNIT_BYTES_PER_S, DEFAULT(LOAD_BANDWIDTH), POSITIVE,                      \
                     "bandwidth at which a replica loads its weights, all GPUs together")

#define ROW_OF struct scaling_config
static const struct config_field scaling_fields[] = {
    ROW_SHORT_VARIANT("policy", policy, REQUIRED, "autoscaling", "policy", "number of replicas wanted"),
    ROW_INT("min", min, DEFAULT("1"), WITHIN(0, 1e6),
            "fewest replicas; with 0, the first request waits until a replica starts (not beside a pool of its role)"),
    ROW_INT("max", max, REQUIRED, WITHIN(1, 1e6), "most replicas"),
    ROW_TIME("interval", interval_ns, DEFAULT("15s"), WITHIN(1e-3, 9e9), "time from one decision to the next"),
    START_ROWS("start_delay", start.delay_s, start.load_bytes_per_s),
    {0}};
#undef ROW_OF

static const char *const role_names[] = {"mixed", "prefill", "decode", NULL};

#define ROW_OF struct pool_config
static const struct config_field pool_fields[] = {
    ROW_CHOICE("role", role, DEFAULT("mixed"), role_names,
               "work of its replicas: whole requests, prompts only, or decoding after another pool's prefill"),
    ROW_NAME_OR_PATH("gpu", gpu, OPTIONAL, ANY,
                     "GPU type, of the cluster or one of its node_types; default: the cluster's"),
    ROW_INT("replicas", replicas, OPTIONAL, WITHIN(1, 1000000),
            "instances of the LLM, with 'scaling': at the start; this key and the following default to the service's"),
    ROW_INT("tensor_parallel", tensor_parallel, OPTIONAL, WITHIN(1, 1024), "GPUs that share each layer of a replica"),
    ROW_INT("pipeline_parallel", pipeline_parallel, OPTIONAL, WITHIN(1, 256),
            "stages that the layers of a replica are split into"),
    ROW_INT("data_parallel", data_parallel, OPTIONAL, WITHIN(1, 1024),
            "groups of these GPUs with sequences of their own"),
    ROW_SHORT_VARIANT("batching", batching, OPTIONAL, "batching", "policy", "requests that an iteration serves"),
    ROW_SHORT_VARIANT("cost", cost, OPTIONAL, "cost", "kind", "duration of an iteration"),
    ROW_SECTION("kv", kv, OPTIONAL, kv_fields, "the paged KV cache"),
    ROW_SECTION("scaling", scaling, OPTIONAL, scaling_fields,
                "autoscaling of the pool: its replicas follow its load; default: always `replicas`"),
    {0}};
#undef ROW_OF

static const char *const transfer_modes[] = {"serial", "layer-wise", NULL};
static const char *const transfer_starts[] = {"pull", "push", NULL};

#define ROW_OF struct kv_transfer_config
static const struct config_field kv_transfer_fields[] = {
    ROW_CHOICE("mode", mode, DEFAULT("serial"), transfer_modes,
               "serial: all KV after the prompt; layer-wise: pushed layer by layer while the next layers compute"),
    ROW_CHOICE("start", start, DEFAULT("pull"), transfer_starts,
               "pull: when the decode replica has room and takes the request; push: when the prompt is processed"),
    ROW_INT("layer_wise_from", layer_wise_from_tokens, DEFAULT("0"), WITHIN(0, 1e9),
            "prompts with fewer tokens are transferred serially"),
    ROW_QUANTITY("bandwidth", bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "bandwidth of each transfer alone; default: transfers share the links of the site"),
    ROW_TIME("latency", latency_ns, DEFAULT("0s"), WITHIN(0, 1000), "time before the first byte of a transfer moves"),
    {0}};
#undef ROW_OF

#define ROW_OF struct start_config
static const struct config_field restart_fields[] = {START_ROWS("delay", delay_s, load_bytes_per_s), {0}};
#undef ROW_OF

static const struct config_field acceptance_rate[] = {{.kind = CONFIG_REAL, .min = 0, .max = 1}, {0}};

#define ROW_OF struct acceptance_config
static const struct config_field acceptance_fields[] = {
    {.name = "rates", .kind = CONFIG_LIST, .offset = offsetof(struct acceptance_config, rates), .min = 0,
     .max = SPECULATION_MAX_DEPTH, .fields = acceptance_rate, .elem_bytes = sizeof(double),
     .help = "probability that a draft at depth 1, 2 ... is right if those before it are; the last one holds for all "
             "further drafts, so a single one is a geometric law"},
    ROW_PATH("table", table, OPTIONAL, "in place of rates: a CSV file of tokens per step by the number of drafts"),
    ROW_TEXT("dataset", dataset, OPTIONAL, WITHIN(1, 256), "rows of the table with this value in its column dataset"),
    ROW_TEXT("method", method, OPTIONAL, WITHIN(1, 256), "rows of the table with this value in its column method"),
    ROW_PATH("request_rates", request_rates, OPTIONAL,
             "in place of rates: a CSV file with a rate for each request, in order of their ids"),
    ROW_PATH("ranks", ranks, OPTIONAL,
             "in place of rates: a CSV file of the rates of candidates by depth and rank, for trees of drafts"),
    ROW_REAL("rank_power", rank_power, OPTIONAL, WITHIN(RANK_POWER_LEAST, 2),
             "beside rates or a table, which then are of chains of the best candidates: none of the r best is right in a "
             "share of the cases that falls as r^-power; default: rates and tables are of all that is verified"),
    {0}};
#undef ROW_OF

#define ROW_OF struct draft_config
static const struct config_field draft_fields[] = {
    ROW_NAME_OR_PATH("llm", llm, OPTIONAL, WITHIN(1, 4096),
                     "LLM that makes the drafts, split like the LLM itself; default: they cost no GPU time"),
    ROW_SHORT_VARIANT("cost", cost, OPTIONAL, "cost", "kind",
                      "duration of one of its passes; default: as of the LLM, without CPU overhead"),
    ROW_QUANTITY("pass_overhead", pass_s, UNIT_TIME, DEFAULT("0s"), WITHIN(0, 10), "CPU time of every pass"),
    ROW_QUANTITY("sequence_overhead", sequence_s, UNIT_TIME, DEFAULT("0s"), WITHIN(0, 10),
                 "CPU time of each sequence in an iteration with drafts"),
    {0}};
#undef ROW_OF

static const char *const search_names[] = {"parallel", "beam", NULL};

#define ROW_OF struct sampling_config
static const struct config_field sampling_fields[] = {
    ROW_CHOICE("search", search, DEFAULT("parallel"), search_names,
               "parallel: samples that decode to lengths of their own; beam: beams that fork and end together"),
    ROW_INT("sequences", sequences, REQUIRED, WITHIN(1, SEQUENCES_MAX),
            "sequences of a request, which share the KV blocks of its prompt (OpenAI: best_of; vLLM: n, beam_width)"),
    ROW_INT("returned", returned, DEFAULT("0"), WITHIN(0, SEQUENCES_MAX),
            "of these, whose tokens are the request's output (OpenAI: n); 0: all samples, or one beam"),
    ROW_REAL("length_sigma", length_sigma, DEFAULT("0"), WITHIN(0, 3),
             "samples: standard deviation of the logarithm of their lengths; the first has that of the trace"),
    ROW_REAL("resampled_frac", resampled_frac, DEFAULT("1"), WITHIN(0, 1),
             "beams: probability that a beam continues one drawn from all at random, not itself; an assumption"),
    {0}};
#undef ROW_OF

static const char *const placement_names[] = {"packed", "spread", NULL};
static const char *const priority_names[] = {"high", "low", NULL};

#define ROW_OF struct service_config
const struct config_field service_config_fields[] = {
    ROW_NAME_OR_PATH("llm", llm, REQUIRED, WITHIN(1, 4096),
                     "name or alias of an LLM (orrery list llms), or path of a Hugging Face config.json"),
    ROW_INT("tensor_parallel", tensor_parallel, DEFAULT("1"), WITHIN(1, 1024),
            "GPUs that share each layer of a replica; more than a node has take whole nodes"),
    ROW_INT("pipeline_parallel", pipeline_parallel, DEFAULT("1"), WITHIN(1, 256),
            "stages that the layers of a replica are split into, of tensor_parallel GPUs each"),
    ROW_INT("data_parallel", data_parallel, DEFAULT("1"), WITHIN(1, 1024),
            "groups of these GPUs with sequences of their own, which share the experts; divides tensor_parallel"),
    ROW_INT("replicas", replicas, DEFAULT("1"), WITHIN(1, 1000000),
            "instances of the LLM; with 'scaling': instances at the start"),
    ROW_CHOICE("placement", placement, OPTIONAL, placement_names,
               "nodes of its replicas: as few as possible, or spread over nodes and racks; default: packed"),
    ROW_SHORT_VARIANT("batching", batching, DEFAULT(SERVICE_DEFAULT_BATCHING), "batching", "policy",
                      "requests that an iteration serves; or the engine's"),
    ROW_SHORT_VARIANT("routing", routing, DEFAULT("round-robin"), "routing", "policy", "replica that serves a request"),
    ROW_TIME("information_delay", information_delay_ns, OPTIONAL, WITHIN(0, 9e9),
             "period of the reports by which routers see replicas; 0s: routers see the present"),
    ROW_SHORT_VARIANT("cost", cost, DEFAULT("operators"), "cost", "kind", "duration of an iteration"),
    ROW_SHORT_VARIANT("speculation", speculation, OPTIONAL, "speculation", "policy",
                      "drafts that decoding sequences verify in an iteration; default: none"),
    ROW_SECTION("acceptance", acceptance, OPTIONAL, acceptance_fields,
                "how often drafts are right, a property of the requests; default: a rate of 0.7, an assumption"),
    ROW_SECTION("draft", draft, OPTIONAL, draft_fields, "what makes drafts: an LLM, or the CPU alone"),
    ROW_SECTION("sampling", sampling, OPTIONAL, sampling_fields,
                "several sequences of a request: parallel samples, best-of, beam search; default: one"),
    ROW_SECTION("formats", formats, FILLED, format_fields, "number formats in place of the LLM's own"),
    ROW_SECTION("kv", kv, FILLED, kv_fields, "the paged KV cache"),
    ROW_MAP("pools", pools, OPTIONAL, ANY, struct pool_config, pool_fields,
            "kinds of replicas, by name; without pools all replicas are equal"),
    ROW_SECTION("slo", slo, FILLED, slo_fields, "limits for each request; without limits there are no slo.* metrics"),
    ROW_SHORT_VARIANT("decode_routing", decode_routing, OPTIONAL, "routing", "policy",
                      "replica that decodes after prefill in a pool of role prefill; default: as routing"),
    ROW_SECTION("kv_transfer", kv_transfer, OPTIONAL, kv_transfer_fields,
                "transfer of KV from the prefill replica to the decode replica"),
    ROW_SECTION("scaling", scaling, OPTIONAL, scaling_fields,
                "autoscaling: the number of replicas follows the load; default: always `replicas`"),
    ROW_SECTION("restart", restart, FILLED, restart_fields,
                "restart of a replica whose node failed; a service with 'scaling' uses that instead"),
    ROW_CHOICE("priority", priority, OPTIONAL, priority_names,
               "priority when power runs short: low is slowed down first; default: high"),
    ROW_SECTION("clock_share", clock_share, OPTIONAL, clock_share_config_fields,
                "share of its iterations' time that scales with the SM clock; default: cluster.power.clock_share"),
    ROW_VARIANT("trace", trace, REQUIRED, "request-trace", "format", "source of the requests"),
    {0}};
#undef ROW_OF

int service_llm(const struct service_config *config, const struct catalog *catalog, const char *where,
                struct arena *arena, struct llm_spec *llm, struct diag *diag)
{
    const int code = catalog_llm(catalog, config->llm, where, arena, llm, diag);
    if (code != 0) return code;
    const struct llm_spec file = *llm;
    const struct format_config *formats = &config->formats;
    if (formats->weights > 0) llm_set_weights(llm, (enum number_format)(formats->weights - 1));
    if (formats->kv > 0) llm->kv = (enum number_format)(formats->kv - 1);
    for (enum llm_part part = 0; part < LLM_PART_COUNT; part++) {
        if (formats->parts[part] > 1) llm->part_formats[part] = formats->parts[part] - 1;
        if (formats->parts[part] == 1 && llm_has(llm, part)) llm->part_formats[part] = 1 + (int)llm_format(&file, part);
    }
    const char *problem = llm_problem(llm);
    if (problem == NULL) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "leave that key of 'formats' out, or take another LLM",
                      "%s cannot have the 'formats' of service '%s': %s", llm->name, config->name, problem);
}

size_t service_n_pools(const struct service_config *config)
{
    return config->pools.n > 0 ? config->pools.n : 1;
}

const char *service_windows_problem(const struct service_config *config, const struct pool_config *pool)
{
    const struct kv_config *kv = &pool->kv;
    const struct policy *batcher = pool->batching.entry, *offload = kv->offload.policy.entry;
    const struct router *router = config->routing.entry;
    if (batcher == NULL || strcmp(batcher->name, "vllm-v1") != 0) return "the batcher is not vllm-v1";
    if (kv->prefix_cache.entry != NULL || kv->chunk_store.tiers.n > 0) return "prompts are cached";
    if (offload != NULL && strcmp(offload->name, "none") != 0 && strcmp(offload->name, "recompute") != 0)
        return "'kv.offload' places the cache";
    if (config->pools.n > 0) return "KV moves between pools";
    if (router != NULL && router->route_pair != NULL) return "KV moves between replicas";
    if (config->speculation.entry != NULL) return "drafts are verified";
    return config->sampling.sequences > 1 ? "requests have several sequences" : NULL;
}

/* By default as vLLM does, unless blocks are counted by the scenario. */
static bool frees_windows(const struct service_config *config, const struct pool_config *pool)
{
    if (pool->kv.windows != KV_WINDOWS_USUAL) return pool->kv.windows == KV_WINDOWS_FREE;
    return pool->kv.blocks == 0 && service_windows_problem(config, pool) == NULL;
}

static struct pool_config inherit(const struct service_config *config, size_t index)
{
    struct pool_config pool = {.role = POOL_MIXED};
    if (config->pools.n > 0) pool = ((const struct pool_config *)config->pools.items)[index];
    if (config->pools.n == 0) pool.scaling = config->scaling;
    if (pool.replicas == 0) pool.replicas = config->replicas;
    pool.start_replicas = pool.replicas;
    if (pool.scaling.policy.entry != NULL) {
        pool.start_replicas = scaling_within(&pool.scaling, pool.replicas);
        pool.replicas = pool.scaling.max;
    }
    if (pool.tensor_parallel == 0) pool.tensor_parallel = config->tensor_parallel;
    if (pool.pipeline_parallel == 0) pool.pipeline_parallel = config->pipeline_parallel;
    if (pool.data_parallel == 0) pool.data_parallel = config->data_parallel;
    if (pool.batching.entry == NULL) pool.batching = config->batching;
    if (pool.cost.entry == NULL) pool.cost = config->cost;
    if (pool.kv.block_tokens != 0) return pool;
    pool.kv = config->kv;
    if (pool.role == POOL_DECODE) pool.kv.chunk_store = (struct chunk_store_config){0}; /* it processes no prompts */
    return pool;
}

struct pool_config service_pool(const struct service_config *config, size_t index)
{
    struct pool_config pool = inherit(config, index);
    pool.frees_windows = frees_windows(config, &pool);
    return pool;
}

struct gpu_nodes pool_nodes(const struct pool_config *pool, int64_t gpus_per_node, const struct network_config *network)
{
    const int64_t gpus = pool->tensor_parallel * pool->pipeline_parallel;
    const bool connected = network->bytes_per_s > 0;
    if (gpus_per_node == 0 || gpus <= gpus_per_node || !connected) return (struct gpu_nodes){0};
    const double adapters = network->per == NETWORK_PER_NODE ? (double)gpus_per_node : 1.0;
    const double adapter = network->bytes_per_s / adapters;
    const double fabric = network->fabric_bytes_per_s > 0 ? network->fabric_bytes_per_s : (double)INFINITY;
    return (struct gpu_nodes){gpus_per_node, fmin(adapter, fabric / (double)gpus)};
}

int pool_check_width(const struct pool_config *pool, int64_t gpus_per_node, const struct network_config *network,
                     const char *service, const char *where, struct diag *diag)
{
    const long long wide = pool->tensor_parallel, per_node = gpus_per_node;
    if (per_node == 0 || wide <= per_node) return 0;
    if (wide % per_node != 0)
        return diag_error(diag, SIM_E_UNFIT, where, "take a multiple of it, or a divisor",
                          "service '%s' splits each layer over %lld GPUs, no multiple of the %lld of a node", service,
                          wide, per_node);
    const long long group = wide / pool->data_parallel;
    if (group % per_node != 0 && per_node % group != 0)
        return diag_error(diag, SIM_E_UNFIT, where,
                          "take a data_parallel whose groups divide a node, or are several whole ones",
                          "service '%s' has attention groups of %lld GPUs, some of which straddle nodes of %lld",
                          service, group, per_node);
    if (network->bytes_per_s > 0) return 0;
    return diag_error(
        diag, SIM_E_UNFIT, where, "add cluster.network, such as {\"bandwidth\": \"50GB/s\"}; or lower tensor_parallel",
        "service '%s' splits each layer over %lld GPUs, of which a node has %lld, and no network connects "
        "nodes",
        service, wide, per_node);
}

bool service_config_scales(const struct service_config *config)
{
    const struct pool_config *pools = config->pools.items;
    if (config->scaling.policy.entry != NULL) return true;
    for (size_t i = 0; i < config->pools.n; i++)
        if (pools[i].scaling.policy.entry != NULL) return true;
    return false;
}

struct kv_capacity pool_kv_capacity(const struct pool_config *pool, const struct gpu_spec *gpu,
                                    const struct llm_spec *llm)
{
    const struct kv_params params = {.usable_frac = pool->kv.usable_frac,
                                     .reserve_bytes = pool->kv.reserve_bytes,
                                     .batch_tokens = pool->kv.activation_tokens,
                                     .batch_sequences = pool->kv.activation_sequences,
                                     .block_tokens = pool->kv.block_tokens,
                                     .data_parallel = pool->data_parallel,
                                     .frees_windows = pool_frees_windows(pool, llm),
                                     .redundant_experts = cost_redundant_experts(&pool->cost)};
    return kv_capacity(gpu, llm, pool->tensor_parallel, pool->pipeline_parallel, &params);
}

double pool_weight_bytes(const struct pool_config *pool, const struct llm_spec *llm)
{
    return llm_weight_bytes(llm) + llm_copies_bytes(llm, cost_redundant_experts(&pool->cost));
}

int64_t pool_kv_blocks(const struct pool_config *pool, const struct gpu_spec *gpu, const struct llm_spec *llm)
{
    return pool->kv.blocks > 0 ? pool->kv.blocks : pool->data_parallel * pool_kv_capacity(pool, gpu, llm).blocks;
}
