#include "sim/cli/key_names.h"

#include <string.h>

const char *key_synonym(const char *key, size_t index)
{
    static const char *const names[][2] = {
        {"max_num_seqs", "max_sequences"},           /* vLLM */
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
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], key) == 0 && index-- == 0) return names[i][1];
    return NULL;
}

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
    static const char *const rates[] = {"rate", "qps", "request_rate", NULL};
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
    if (is_any(key, rates) && is_top)
        return "it is 'services.NAME.trace.arrival.rate' of a trace with format 'generate'";
    return NULL;
}

const char *policy_alias(const char *family, const char *word)
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
        {"batching", "continuous", "vllm-v0"},
        {"batching", "chunked-prefill", "vllm-v1"},
        {"batching", "radix", "sglang"},
        {"batching", "in-flight", "trtllm"},
        {"batching", "tensorrt-llm", "trtllm"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], family) == 0 && strcmp(names[i][1], word) == 0) return names[i][2];
    return NULL;
}
