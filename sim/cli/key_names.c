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
    {"max_concurrency", "max_sequences"},
    {"max_num_batched_tokens", "max_batched_tokens"},
    {"max_num_batched_tokens", "token_budget"},
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
    {"enable_prefix_caching", "prefix_cache"},
    {"scheduling_policy", "batching"},
    {"model", "llm"},
    {"request_rate", "rate"},
    {"num_prompts", "count"},
    {"max_running_requests", "max_sequences"},   /* SGLang */
    {"chunked_prefill_size", "max_batched_tokens"},
    {"chunked_prefill_size", "token_budget"},
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
    {"max_num_tokens", "max_batched_tokens"},
    {"max_num_tokens", "token_budget"},
    {"capacity_scheduler_policy", "capacity"},
    {"context_chunking_policy", "chunking"},
    {"enable_chunked_prefill", "chunked"},
    {"free_gpu_memory_fraction", "usable_frac"},
    {"num_replicas", "replicas"},                /* Vidur */
    {"batch_size_cap", "max_sequences"},
    {"qps", "rate"},
    {"gpu_type", "gpu"},
    {"device", "gpu"},
    {"num_nodes", "nodes"},
    {"num_gpus", "gpus"},
};

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

const char *key_advice(const char *section, const char *key)
{
    static const char *const counts[] = {"gpus", "num_gpus", "n_gpus", "gpu_count", NULL};
    static const char *const kinds[] = {"gpu", "gpu_type", "device", NULL};
    static const char *const kv_formats[] = {"kv_cache_dtype", "kv_dtype", NULL};
    static const char services[] = "services.";
    const size_t n = sizeof services - 1;
    const bool is_service = strncmp(section, services, n) == 0 && strchr(section + n, '.') == NULL;
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
    return NULL;
}

const char *key_advice_of_trace(const char *section, const char *key)
{
    if (section[0] != '\0' || !is_any(key, rates)) return NULL;
    return "write --set 'arrival={\"process\": \"poisson\", \"rate\": \"5/s\"}'";
}

bool key_explain_option(const char *name, char *hint, size_t hint_bytes)
{
    enum { MOST_CHARS = 64 };
    char key[MOST_CHARS], path[2 * MOST_CHARS];
    const struct config_families families = cli_families(NULL);
    const struct config_field *field = scenario_fields;
    snprintf(key, sizeof key, "%s", name);
    for (char *c = key; *c != 0; c++) *c = *c == '-' ? '_' : *c;
    const char *usual = key_synonym(key, 0), *advice = key_advice("", key);
    if (usual != NULL) snprintf(key, sizeof key, "%s", usual);
    while (field->name != NULL && strcmp(field->name, key) != 0) field++;
    if (field->name != NULL && field->kind == CONFIG_SECTION) return false; /* no value */
    if (field->name != NULL)
        snprintf(path, sizeof path, "%s", key);
    else if (advice == NULL && !config_find_elsewhere(scenario_fields, &families, key, path, sizeof path))
        return false;
    if (advice != NULL)
        snprintf(hint, hint_bytes, "keys are set with --set KEY=VALUE; %s", advice);
    else
        snprintf(hint, hint_bytes, "'--help' lists the options; for a key, use --set %s=VALUE", path);
    return true;
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
        {"scheduler", "fcfs", "fifo"},
        {"scheduler", "las", "tiresias"},
        {"scheduler", "gittins", "tiresias-gittins"},
        {"scheduler", "backfill", "easy"},
        {"batching", "vllm", "vllm-v1"},
        {"batching", "continuous", "vllm-v0"},
        {"batching", "chunked-prefill", "vllm-v1"},
        {"batching", "radix", "sglang"},
        {"batching", "in-flight", "trtllm"},
        {"batching", "tensorrt-llm", "trtllm"},
        {"weights", "awq", "int4"},
        {"weights", "gptq", "int4"},
        {"weights", "w4a16", "int4"},
        {"weights", "w8a8", "int8' or 'fp8"}, /* both are called so */
        {"weights", "smoothquant", "int8"},
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
