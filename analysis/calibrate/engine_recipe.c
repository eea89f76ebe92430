#include "analysis/calibrate/engine_fit.h"

#define SERVING "ai-dynamo/aiconfigurator @ 095f58a5, silicon_sample.csv"

static const struct engine_recipe recipes[] = {
    {"vllm-0.2", "vLLM 0.2 (late 2023): kernels launched one by one, Ray workers",
     "Mutinifni/splitwise-sim @ 8f99e7dc, data/perf_model.csv", "in-model", "in-model", false, false,
     ENGINE_ITERATION | ENGINE_COMMON_SEQUENCE | ENGINE_LAUNCH | ENGINE_PROMPT},
    {"vllm-2024", "vLLM of early 2024, as Vidur profiled it: host steps of decode iterations, launches left out",
     "microsoft/vidur @ 7f14d6ab, data/profiling/{a100,a40}/cpu_overheads.csv", "in-model", "in-model", false, false,
     ENGINE_ITERATION | ENGINE_SEQUENCE},
    {"vllm-0.12", "vLLM 0.12 (2025): CUDA graphs, prompts in chunks beside decoding", SERVING, "isolated", "isolated",
     true, false, ENGINE_ITERATION | ENGINE_SEQUENCE},
    {"vllm-0.19", "vLLM 0.19 (2026), as LLMServingSim profiled its kernels: host time not measured",
     "casys-kaist/LLMServingSim @ 5daddb21, profiler/perf", "in-model", "in-model", true, false, 0},
    {"trtllm-1.0", "TensorRT-LLM 1.0 (2025): CUDA graphs, whole prompts beside decoding", SERVING, "isolated",
     "isolated", true, true, ENGINE_ITERATION | ENGINE_SEQUENCE},
    {"sglang-0.5", "SGLang 0.5 (2025): CUDA graphs, prompts before decoding", SERVING, "isolated", "isolated", true,
     false, ENGINE_ITERATION | ENGINE_SEQUENCE},
    {"swifttransformer", "SwiftTransformer (DistServe, 2024): C++, kernels launched one by one",
     "LLMServe/DistServe @ 82831f16, profiler-a100-80g.distserve.json", "in-model", "in-model", false, false,
     ENGINE_ITERATION | ENGINE_SEQUENCE | ENGINE_PROMPT},
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
                                  .fused_narrowing = recipe->fused_narrowing};
}
