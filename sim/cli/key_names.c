#include "sim/cli/key_names.h"

#include "sim/cli/plugins.h"
#include "sim/core/config/config_elsewhere.h"
#include "sim/world/scenario.h"
#include "traces/registry.h"

#include <stdio.h>
#include <string.h>

/* Names of other programs, and the key that each is here. */
static const char *const synonyms[][2] = {
    {"max_num_seqs", "max_sequences"},           /* vLLM */
    {"max_batch", "max_sequences"},
    {"batch_size", "max_sequences"},
    {"max_num_batched_tokens", "token_budget"},
    {"max_num_batched_tokens", "max_batched_tokens"},
    {"max_batched_tokens", "max_batched_tokens"},
    {"max_batched_tokens", "token_budget"},
    {"token_budget", "token_budget"},
    {"token_budget", "max_batched_tokens"},
    {"long_prefill_token_threshold", "long_prefill_tokens"},
    {"scheduler_reserve_full_isl", "reserve_full_prompt"},
    {"async_scheduling", "async"},
    {"gpu_memory_utilization", "usable_frac"},
    {"tensor_parallel_size", "tensor_parallel"},
    {"tp", "tensor_parallel"},
    {"pp", "pipeline_parallel"},
    {"dp", "replicas"},
    {"dp", "data_parallel"},
    {"pipeline_parallel_size", "pipeline_parallel"},
    {"data_parallel_size", "replicas"},
    {"data_parallel_size", "data_parallel"},
    {"block_size", "block_tokens"},
    {"quantization", "weights"},
    {"dtype", "weights"},
    {"preemption_mode", "preemption"},
    {"enable_prefix_caching", "prefix_cache"},
    {"prefix_caching", "prefix_cache"},
    {"chunk_size", "token_budget"},
    {"chunk_size", "max_batched_tokens"},
    {"chunk_size", "chunked_prefill_tokens"},
    {"prefill_chunk_size", "token_budget"},
    {"scheduling_policy", "batching"},
    {"model", "llm"},
    {"request_rate", "rate"},
    {"num_prompts", "count"},
    {"max_running_requests", "max_sequences"},   /* SGLang */
    {"chunked_prefill_size", "token_budget"},
    {"chunked_prefill_size", "max_batched_tokens"},
    {"chunked_prefill_size", "chunked_prefill_tokens"},
    {"max_new_tokens", "max_tokens"},
    {"schedule_conservativeness", "conservativeness"},
    {"enable_mixed_chunk", "mixed"},
    {"schedule_policy", "order"},
    {"mem_fraction_static", "usable_frac"},
    {"page_size", "block_tokens"},
    {"model_path", "llm"},
    {"tp_size", "tensor_parallel"},
    {"pp_size", "pipeline_parallel"},
    {"dp_size", "replicas"},
    {"dp_size", "data_parallel"},
    {"max_batch_size", "max_sequences"},         /* TensorRT-LLM */
    {"max_num_tokens", "token_budget"},
    {"max_num_tokens", "max_batched_tokens"},
    {"capacity_scheduler_policy", "capacity"},
    {"context_chunking_policy", "chunking"},
    {"enable_chunked_prefill", "chunked"},
    {"free_gpu_memory_fraction", "usable_frac"},
    {"num_replicas", "replicas"},                /* Vidur */
    {"batch_size_cap", "max_sequences"},
    {"qps", "rate"},
    {"gpu_type", "gpu"},
    {"mig_profile", "mig"},
    {"mig_partitions", "mig"},
    {"device", "gpu"},
    {"num_nodes", "nodes"},
    {"num_gpus", "gpus"},
    {"random_seed", "seed"},
    {"time_limit", "until"},
    {"max_time", "until"},
    {"simulation_time", "until"},
    {"end_time", "until"},
    {"duration", "until"},
    {"horizon", "until"},
    {"cp", "context_parallel"},                  /* training frameworks */
    {"ep", "expert_parallel"},
    {"expert_model_parallel_size", "expert_parallel"},
    {"tensor_model_parallel_size", "tensor_parallel"},
    {"pipeline_model_parallel_size", "pipeline_parallel"},
    {"micro_batch_size", "micro_batch"},
    {"global_batch_size", "global_batch"},
    {"gbs", "global_batch"},
    {"mbs", "micro_batch"},
    {"seq_length", "sequence_tokens"},
    {"seq_len", "sequence_tokens"},
    {"sequence_length", "sequence_tokens"},
    {"zero_stage", "zero"},
    {"activation_checkpointing", "recompute"},
    {"gradient_checkpointing", "recompute"},
    {"activation_recomputation", "recompute"},
    {"warmup_time", "warmup"},
    {"interconnect", "network"},
    {"infiniband", "network"},
    {"gpus_per_server", "gpus_per_node"},
    {"num_gpus_per_node", "gpus_per_node"},
    {"router", "routing"},
    {"load_balancer", "routing"},
    {"autoscaling", "scaling"},
    {"autoscaler", "scaling"},
    {"min_replicas", "min"},
    {"max_replicas", "max"},
    {"arrival_rate", "rate"},
    {"num_requests", "count"},
    {"policy", "scheduler"},
    {"policy", "batching"},
    {"policy", "capping"},
    {"checkpoint_interval", "checkpoint"},
    {"mtbf", "lifetime"},
    {"mttf", "lifetime"},
    {"mttr", "repair"},
    {"limit", "budget"},
    {"itl", "tpot"},
    {"tbt", "tpot"},
    {"latency", "e2e"},
    {"p99_ttft", "ttft"},
    {"ttft_p99", "ttft"},
    {"p99_tpot", "tpot"},
    {"tpot_p99", "tpot"},
    {"request_count", "count"},
};

/* Keys of other programs that have no single counterpart. */
enum meaning {
    OF_ANSWERS,
    OF_CARBON,
    OF_CHUNKS,
    OF_CONTEXT,
    OF_DRAFTS,
    OF_EXPERTS,
    OF_GROUPS,
    OF_GRAPHS,
    OF_HANDOVER,
    OF_LENGTHS,
    OF_LORA,
    OF_MEDIA,
    OF_MEMORY,
    OF_OFFLOAD,
    OF_PREFIXES,
    OF_SERVER,
    OF_STEPS,
    N_MEANINGS
};

static const char *const meanings[N_MEANINGS] = {
    [OF_ANSWERS] = "answers are not simulated, only their lengths; leave it out",
    [OF_CARBON] = "carbon and cooling are not simulated",
    [OF_CHUNKS] = "it depends on the policy in 'batching': vllm-v1 and sglang divide prompts, vllm-v0 does not",
    [OF_CONTEXT] = "the LLM's file limits the context; 'max_total_tokens' of a 'trace' limits its requests",
    [OF_DRAFTS] = "set 'speculation', such as \"ngram\"; 'orrery list parameters speculation' has its keys",
    [OF_EXPERTS] = ("it is 'services.NAME.cost.expert_parallel'; vLLM's --enable-expert-parallel has all of "
                    "'tensor_parallel' there"),
    [OF_GROUPS] = "set 'data_parallel' within 'tensor_parallel': its groups share the experts",
    [OF_GRAPHS] = "CUDA graphs are switched off by 'cost.cuda_graphs'",
    [OF_HANDOVER] = "prompts and decoding are split by 'pools'; the example is 'orrery run disaggregated'",
    [OF_LENGTHS] = "lengths are those of the 'trace'; with format 'generate', its 'prompt' and 'output'",
    [OF_LORA] = "LoRA is not simulated",
    [OF_MEDIA] = "images and audio are not simulated",
    [OF_MEMORY] = "a GPU has the memory of its file; 'orrery list gpus' shows them",
    [OF_OFFLOAD] = "set 'kv.offload', such as \"vllm-cpu\"; 'orrery list parameters kv_offload' has its keys",
    [OF_PREFIXES] = "prefixes are cached only with 'kv.prefix_cache', and over host and drives with 'kv.prefix_store'",
    [OF_SERVER] = "it does not change times; leave it out",
    [OF_STEPS] = "several steps for each schedule are not simulated",
};

static const struct {
    const char *key;
    enum meaning meaning;
} foreign[] = {
    {"temperature", OF_ANSWERS},
    {"top_p", OF_ANSWERS},
    {"top_k", OF_ANSWERS},
    {"guided_decoding", OF_ANSWERS},
    {"guided_decoding_backend", OF_ANSWERS},
    {"carbon", OF_CARBON},
    {"carbon_intensity", OF_CARBON},
    {"pue", OF_CARBON},
    {"cooling", OF_CARBON},
    {"enable_chunked_prefill", OF_CHUNKS},
    {"chunked_prefill", OF_CHUNKS},
    {"max_model_len", OF_CONTEXT},
    {"max_seq_len", OF_CONTEXT},
    {"context_length", OF_CONTEXT},
    {"max_context", OF_CONTEXT},
    {"max_context_len", OF_CONTEXT},
    {"speculative_config", OF_DRAFTS},
    {"speculative_model", OF_DRAFTS},
    {"num_speculative_tokens", OF_DRAFTS},
    {"speculative_algorithm", OF_DRAFTS},
    {"speculative_num_steps", OF_DRAFTS},
    {"speculative_num_draft_tokens", OF_DRAFTS},
    {"draft_model", OF_DRAFTS},
    {"spec_decoding", OF_DRAFTS},
    {"enable_expert_parallel", OF_EXPERTS},
    {"expert_parallel", OF_EXPERTS},
    {"expert_parallel_size", OF_EXPERTS},
    {"ep", OF_EXPERTS},
    {"ep_size", OF_EXPERTS},
    {"enable_dp_attention", OF_GROUPS},
    {"enforce_eager", OF_GRAPHS},
    {"disable_cuda_graph", OF_GRAPHS},
    {"cuda_graph_max_bs", OF_GRAPHS},
    {"max_seq_len_to_capture", OF_GRAPHS},
    {"compilation_config", OF_GRAPHS},
    {"kv_transfer_config", OF_HANDOVER},
    {"disaggregation_mode", OF_HANDOVER},
    {"disaggregated", OF_HANDOVER},
    {"prefill_replicas", OF_HANDOVER},
    {"decode_replicas", OF_HANDOVER},
    {"max_tokens", OF_LENGTHS},
    {"max_new_tokens", OF_LENGTHS},
    {"max_output_tokens", OF_LENGTHS},
    {"input_len", OF_LENGTHS},
    {"output_len", OF_LENGTHS},
    {"prompt_tokens", OF_LENGTHS},
    {"output_tokens", OF_LENGTHS},
    {"lora", OF_LORA},
    {"enable_lora", OF_LORA},
    {"max_loras", OF_LORA},
    {"max_lora_rank", OF_LORA},
    {"lora_modules", OF_LORA},
    {"lora_paths", OF_LORA},
    {"lora_rank", OF_LORA},
    {"adapters", OF_LORA},
    {"limit_mm_per_prompt", OF_MEDIA},
    {"images", OF_MEDIA},
    {"memory", OF_MEMORY},
    {"vram", OF_MEMORY},
    {"gpu_memory", OF_MEMORY},
    {"swap_space", OF_OFFLOAD},
    {"cpu_offload_gb", OF_OFFLOAD},
    {"kv_offloading_size", OF_OFFLOAD},
    {"disable_radix_cache", OF_PREFIXES},
    {"enable_hierarchical_cache", OF_PREFIXES},
    {"hicache_ratio", OF_PREFIXES},
    {"hicache_size", OF_PREFIXES},
    {"trust_remote_code", OF_SERVER},
    {"served_model_name", OF_SERVER},
    {"load_format", OF_SERVER},
    {"download_dir", OF_SERVER},
    {"tokenizer", OF_SERVER},
    {"host", OF_SERVER},
    {"port", OF_SERVER},
    {"api_key", OF_SERVER},
    {"log_level", OF_SERVER},
    {"num_scheduler_steps", OF_STEPS},
    {"multi_step_stream_outputs", OF_STEPS},
};

/* What another program's key stands for, in a service or a cluster; NULL: it is not known. In a cluster, a temperature
 * or a host is none of an engine's. */
static const char *advice_of_foreign(const char *key, bool is_cluster)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const bool is_of_requests = foreign[i].meaning == OF_ANSWERS || foreign[i].meaning == OF_SERVER;
        if (strcmp(foreign[i].key, key) == 0 && !(is_cluster && is_of_requests)) return meanings[foreign[i].meaning];
    }
    return NULL;
}

const char *key_synonym(const char *key, size_t index)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(synonyms[i][0], key) == 0 && index-- == 0) return synonyms[i][1];
    return NULL;
}

static const char *const rates[] = {"rate", "qps", "request_rate", NULL};

/* Whether the key is one of a list that NULL ends. */
static bool is_any(const char *key, const char *const *list)
{
    while (*list != NULL && strcmp(*list, key) != 0) list++;
    return *list != NULL;
}

/* Names of a table's columns, which other programs call as they like. */
static bool is_columns(const char *section)
{
    const char *last = strrchr(section, '.');
    return last != NULL && strcmp(last, ".columns") == 0;
}

const char *key_advice(const char *section, const char *key)
{
    static const char *const counts[] = {"gpus", "num_gpus", "n_gpus", "gpu_count", NULL};
    static const char *const kinds[] = {"gpu", "gpu_type", "device", NULL};
    static const char *const kv_formats[] = {"kv_cache_dtype", "kv_dtype", NULL};
    static const char *const requests[] = {"num_prompts", "num_requests", "n_requests", "request_count", NULL};
    static const char services[] = "services.";
    const size_t n = sizeof services - 1;
    const bool is_below_service = strncmp(section, services, n) == 0;
    const bool is_service = is_below_service && strchr(section + n, '.') == NULL;
    const bool is_cluster = strncmp(section, "cluster", strlen("cluster")) == 0;
    const bool is_top = section[0] == '\0';
    if (is_any(key, counts) && is_service) return "a replica has 'tensor_parallel' times 'pipeline_parallel' GPUs";
    if (is_any(key, counts) && strcmp(section, "jobs") == 0) return "the trace has the GPUs of each job";
    if (is_any(key, counts) && (is_top || strcmp(section, "cluster") == 0))
        return "the cluster has 'cluster.nodes' times 'cluster.gpus_per_node' GPUs";
    if (is_any(key, kinds) && is_service)
        return "it is 'cluster.gpu'; of a part of the replicas, 'gpu' of one of its 'pools'";
    if (is_any(key, kv_formats) && is_service) return "it is 'kv' of the section 'formats'";
    if (is_any(key, rates) && is_top)
        return "it is 'services.NAME.trace.arrival.rate' of a trace with format 'generate'";
    if (is_service && strcmp(key, "scheduler") == 0) return "it is 'batching'; 'jobs' has a 'scheduler'";
    if (is_service && strcmp(key, "seed") == 0) return "it is 'seed' at the top of the scenario";
    if (is_top && strcmp(key, "trace") == 0) return "it is 'services.NAME.trace' or 'jobs.trace'";
    if (is_any(key, requests) && (is_top || is_below_service))
        return "'services.NAME.trace.count' of a trace with format 'generate'; another trace gives the requests "
               "itself: 'until', or 'window' of the trace, limits them";
    if (strcmp(key, "max_concurrency") == 0 && (is_top || is_below_service))
        return "vLLM's benchmark calls its clients so: 'users' of a trace's 'arrival' with process 'closed'; what the "
               "engine runs at once is 'max_sequences' of 'batching'";
    if (strcmp(key, "power_limit") == 0 && (is_top || is_cluster))
        return "a GPU's limit is 'cap' of 'cluster.power.capping' with policy 'static-cap'; 'cluster.power.budget' is "
               "that of a power domain";
    const bool may_be_foreign = (is_top || is_below_service || is_cluster) && !is_columns(section);
    return may_be_foreign ? advice_of_foreign(key, is_cluster) : NULL;
}

const char *key_advice_of_trace(const char *section, const char *key)
{
    if (section[0] != '\0' || !is_any(key, rates)) return NULL;
    return "write --set 'arrival={\"process\": \"poisson\", \"rate\": \"5/s\"}'";
}

enum { MOST_CHARS = 64 };

/* The name of an option as a key: "max-num-seqs" is "max_num_seqs". */
static void write_as_key(const char *name, char key[MOST_CHARS])
{
    snprintf(key, MOST_CHARS, "%s", name);
    for (char *c = key; *c != 0; c++) *c = *c == '-' ? '_' : *c;
}

static const struct config_field *find_field(const struct config_field *fields, const char *key)
{
    while (fields->name != NULL && strcmp(fields->name, key) != 0) fields++;
    return fields->name != NULL ? fields : NULL;
}

static const char set_hint[] = "'--help' lists the options; for a key, use --set %s=VALUE";

enum option_hint key_explain_option(const char *name, char *hint, size_t hint_bytes)
{
    char key[MOST_CHARS], path[2 * MOST_CHARS];
    const struct config_families families = cli_families(NULL);
    write_as_key(name, key);
    const char *usual = key_synonym(key, 0), *advice = key_advice("", key);
    if (usual != NULL) snprintf(key, sizeof key, "%s", usual);
    const struct config_field *field = find_field(scenario_fields, key);
    if (field != NULL && field->kind == CONFIG_SECTION) return OPTION_UNKNOWN; /* no value */
    if (field != NULL)
        snprintf(path, sizeof path, "%s", key);
    else if (advice == NULL && !config_find_elsewhere(scenario_fields, &families, key, path, sizeof path))
        return OPTION_UNKNOWN;
    if (advice != NULL)
        snprintf(hint, hint_bytes, "keys are set with --set KEY=VALUE; %s", advice);
    else
        snprintf(hint, hint_bytes, set_hint, path);
    return OPTION_IS_KEY;
}

enum option_hint key_explain_field(const struct config_field *fields, const char *name, char *hint, size_t hint_bytes)
{
    char key[MOST_CHARS];
    write_as_key(name, key);
    const char *found = find_field(fields, key) != NULL ? key : NULL, *usual;
    for (size_t i = 0; found == NULL && (usual = key_synonym(key, i)) != NULL; i++)
        if (find_field(fields, usual) != NULL) found = usual;
    if (found == NULL) return OPTION_UNKNOWN;
    snprintf(hint, hint_bytes, set_hint, found);
    return OPTION_IS_KEY;
}

const char *value_stray(const char *family, const char *word)
{
    const struct trace_format *format = trace_format_find(word);
    if (format == NULL) return NULL;
    if (strcmp(family, "job-trace") == 0 && format->open_requests != NULL)
        return "it is a format of requests, for the \"trace\" of a service; 'orrery list formats' has those of jobs";
    if (strcmp(family, "request-trace") == 0 && format->open_jobs != NULL)
        return "it is a format of jobs, for the \"trace\" of \"jobs\"; 'orrery list formats' has those of requests";
    return NULL;
}

const char *value_listing(const char *what)
{
    static const char *const listings[][2] = {{"key", "orrery list keys"}, {" policy", "orrery list policies"},
                                              {"metric", "orrery list metrics"},
                                              {"-trace format", "orrery list formats"}};
    for (size_t i = 0; i < sizeof listings / sizeof *listings; i++) {
        const size_t n = strlen(listings[i][0]);
        if (strlen(what) >= n && strcmp(what + strlen(what) - n, listings[i][0]) == 0) return listings[i][1];
    }
    return NULL;
}

const char *value_alias(const char *family_or_key, const char *word)
{
    static const char *const names[][3] = {
        {"routing", "p2c", "power-of-two"},
        {"routing", "power-of-two-choices", "power-of-two"},
        {"routing", "rr", "round-robin"},
        {"routing", "lor", "least-outstanding"},
        {"routing", "least-requests", "least-outstanding"},
        {"routing", "cache-aware", "prefix-aware"},
        {"routing", "sticky", "session-affinity"},
        {"routing", "least-connections", "least-outstanding"},
        {"routing", "least-loaded", "least-outstanding"},
        {"scheduler", "fcfs", "fifo"},
        {"scheduler", "las", "tiresias"},
        {"scheduler", "gittins", "tiresias-gittins"},
        {"scheduler", "backfill", "easy"},
        {"scheduler", "backfilling", "easy"},
        {"scheduler", "slurm", "easy"},
        {"scheduler", "fair", "themis"},
        {"scheduler", "sjn", "sjf"},
        {"placement", "spread", "worst-fit"},
        {"placement", "bin-packing", "best-fit"},
        {"placement", "binpack", "best-fit"},
        {"autoscaling", "reactive", "target-outstanding"},
        {"autoscaling", "hpa", "target-utilisation"},
        {"speculation", "draft-model", "fixed"},
        {"speculation", "draft", "fixed"},
        {"speculation", "prompt-lookup", "ngram"},
        {"batching", "vllm", "vllm-v1"},
        {"batching", "continuous", "vllm-v1', 'sglang' or 'trtllm"}, /* all are */
        {"batching", "dynamic", "vllm-v1"},
        {"batching", "static", "fastertransformer"},
        {"batching", "chunked-prefill", "vllm-v1"},
        {"batching", "radix", "sglang"},
        {"batching", "in-flight", "trtllm"},
        {"batching", "tensorrt-llm", "trtllm"},
        {"arrival", "exponential", "poisson"},
        {"arrival", "bursty", "gamma"},
        {"arrival", "constant", "fixed"},
        {"arrival", "uniform", "fixed"},
        {"arrival", "deterministic", "fixed"},
        {"length", "constant", "fixed"},
        {"length", "normal", "lognormal"},
        {"eviction", "arc", "s3-fifo"},
        {"weights", "awq", "int4"},
        {"weights", "gptq", "int4"},
        {"weights", "w4a16", "int4"},
        {"weights", "w8a8", "int8' or 'fp8"}, /* both are called so */
        {"weights", "smoothquant", "int8"},
        {"weights", "fp4", "nvfp4' or 'mxfp4"}, /* one scale for 16 numbers, or for 32 */
        {"weights", "fp8_e4m3", "fp8"},
        {"weights", "auto", "llm"},
        {"weights", "bfloat16", "bf16"},
        {"weights", "float16", "fp16"},
        {"weights", "half", "fp16"},
        {"kv", "auto", "llm"},
        {"kv", "fp8_e4m3", "fp8"},
        {"kv", "fp8_e5m2", "fp8"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], family_or_key) == 0 && strcmp(names[i][1], word) == 0) return names[i][2];
    return NULL;
}
