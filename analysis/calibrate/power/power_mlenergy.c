/* The ML.ENERGY leaderboard: vLLM in a steady state of as many requests as it may serve at once. Power is the sum over the
 * GPUs. The table has no lengths of prompts, so only tasks count whose prompts are short beside their output, and the prompts'
 * own FLOP are none of the load; a sequence's context is half its output. */
#include "analysis/calibrate/power/power_format.h"

#include <math.h>
#include <string.h>

enum { TASK, MODEL, GPU, GPUS, BATCH, OUTPUT, THROUGHPUT, POWER, REPLICAS, COLUMNS };

static const char *const columns[COLUMNS] = {"task",
                                             "model_id",
                                             "gpu_model",
                                             "num_gpus",
                                             "avg_batch_size",
                                             "avg_output_len",
                                             "output_throughput_tokens_per_sec",
                                             "avg_power_watts",
                                             "data_parallel"};

struct known {
    const char *theirs, *ours;
};

static const struct known gpus[] = {{"H100", "h100-sxm"}, {NULL, NULL}};
static const struct known llms[] = {
    {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
    {"Qwen/Qwen3-8B", "qwen3-8b"},
    {"Qwen/Qwen3-14B", "qwen3-14b"},
    {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
    {"Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3-30b-a3b"},
    {"Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b"},
    {"Qwen/Qwen3-235B-A22B-Thinking-2507", "qwen3-235b-a22b"},
    {"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-235b-a22b-fp8"},
    {"Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", "qwen3-235b-a22b-fp8"},
    {NULL, NULL},
};

static const char *find(const struct known *known, const char *theirs)
{
    while (known->theirs != NULL && strcmp(known->theirs, theirs) != 0) known++;
    return known->ours;
}

static int add_row(struct power_reader *reader, const char *name, const double *numbers)
{
    struct llm_spec llm;
    const double batch = numbers[BATCH];
    const struct iteration_work work = {.decode_sequences = llrint(batch),
                                        .decode_context_tokens = llrint(0.5 * batch * numbers[OUTPUT])};
    const int code = power_llm(reader, name, &llm);
    if (code != 0) return code;
    const struct power_load load =
        power_load_of(reader->gpu, &llm, (int64_t)numbers[GPUS], &work, batch / numbers[THROUGHPUT]);
    return power_add(reader, &(struct power_row){.group = name, .part = "serving", .n_phases = 1,
                                                 .measured_w = numbers[POWER] / numbers[GPUS],
                                                 .phases = {{1.0, load}}});
}

static int read_row(struct power_reader *reader)
{
    double numbers[COLUMNS] = {0};
    const char *task = power_text(reader, TASK), *model = power_text(reader, MODEL), *gpu = power_text(reader, GPU);
    if (task == NULL || model == NULL || gpu == NULL) return SIM_E_NOMEM;
    const char *name = find(gpus, gpu), *llm = find(llms, model);
    if (name == NULL || strcmp(name, reader->gpu->name) != 0) return power_drop(reader, "of another GPU");
    if (strcmp(task, "lm-arena-chat") != 0 && strcmp(task, "gpqa") != 0)
        return power_drop(reader, "long prompts, images or videos, of unknown length");
    if (llm == NULL) return power_drop(reader, "an LLM that the catalog lacks");
    for (size_t i = GPUS; i < COLUMNS; i++) {
        const int status = power_number(reader, i, i == REPLICAS ? 0.0 : 1e-9, &numbers[i]);
        if (status != 0) return status;
    }
    if (numbers[REPLICAS] > 1.0) return power_drop(reader, "several replicas together");
    return add_row(reader, llm, numbers);
}

const struct power_format power_mlenergy = {"mlenergy", columns, COLUMNS, read_row, NULL};
