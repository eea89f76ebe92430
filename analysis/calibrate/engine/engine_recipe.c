#include "analysis/calibrate/engine/engine_fit.h"

#define SERVING "ai-dynamo/aiconfigurator @ 095f58a5, silicon_sample.csv"

#define EAGER "; launches without CUDA graphs as vllm-0.2"

/* The batches that recent engines serve without being held up by launches, as far as they were measured. */
enum { GRAPH_TOKENS = 8192 };

static const struct engine_recipe recipes[] = {
    {.name = "vllm-0.2", .summary = "vLLM 0.2 (late 2023): kernels launched one by one, Ray workers",
     .source = "Mutinifni/splitwise-sim @ 8f99e7dc, data/perf_model.csv", .kernels = "in-model",
     .collectives = "in-model",
     .terms = ENGINE_ITERATION | ENGINE_COMMON_SEQUENCE | ENGINE_LAUNCH | ENGINE_PROMPT},
    {.name = "vllm-2024",
     .summary = "vLLM of early 2024, as Vidur profiled it: host steps of decode iterations, launches left out",
     .source = "microsoft/vidur @ 7f14d6ab, data/profiling/{a100,a40}/cpu_overheads.csv", .kernels = "in-model",
     .collectives = "in-model", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE},
    {.name = "vllm-0.12", .summary = "vLLM 0.12 (2025): CUDA graphs, prompts in chunks beside decoding",
     .source = SERVING EAGER, .kernels = "isolated", .collectives = "isolated", .is_recent = true,
     .launches_of = "vllm-0.2", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE},
    {.name = "vllm-0.19",
     .summary = "vLLM 0.19 (2026), as LLMServingSim profiled its kernels: host time not measured",
     .source = "casys-kaist/LLMServingSim @ 5daddb21, profiler/perf" EAGER, .kernels = "in-model",
     .collectives = "in-model", .is_recent = true, .samples = true, .launches_of = "vllm-0.2"},
    {.name = "trtllm-1.0", .summary = "TensorRT-LLM 1.0 (2025): CUDA graphs, whole prompts beside decoding",
     .source = SERVING EAGER, .kernels = "isolated", .collectives = "isolated", .is_recent = true,
     .fused_narrowing = true, .launches_of = "vllm-0.2", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE},
    {.name = "sglang-0.5", .summary = "SGLang 0.5 (2025): CUDA graphs, prompts before decoding",
     .source = SERVING EAGER, .kernels = "isolated", .collectives = "isolated", .is_recent = true,
     .launches_of = "vllm-0.2", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE},
    {.name = "swifttransformer", .summary = "SwiftTransformer (DistServe, 2024): C++, kernels launched one by one",
     .source = "LLMServe/DistServe @ 82831f16, profiler-a100-80g.distserve.json", .kernels = "in-model",
     .collectives = "in-model", .terms = ENGINE_ITERATION | ENGINE_SEQUENCE | ENGINE_PROMPT},
};

const struct engine_recipe *engine_recipe_at(size_t index)
{
    return index < sizeof recipes / sizeof *recipes ? &recipes[index] : NULL;
}

struct engine_preset engine_recipe_preset(const struct engine_recipe *recipe)
{
    return (struct engine_preset){.name = recipe->name,
                                  .summary = recipe->summary,
                                  .source = recipe->source,
                                  .kernels = recipe->kernels,
                                  .collectives = recipe->collectives,
                                  .direct_all_reduce = recipe->is_recent,
                                  .fused_residual = recipe->is_recent,
                                  .mixed_attention = recipe->is_recent,
                                  .samples = recipe->samples,
                                  .fused_narrowing = recipe->fused_narrowing,
                                  .graph_tokens = recipe->launches_of != NULL ? GRAPH_TOKENS : 0};
}
