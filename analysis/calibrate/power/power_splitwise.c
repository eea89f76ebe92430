/* Splitwise's profile: power as a share of TDP, the mean over a request and its peak, on A100. A request is its prompt and then
 * its tokens, so a mean is of two loads, weighted by their times. The peaks are left out: they are of the kernels that run when
 * power is read, whose FLOP per second no row tells, and not of the mean rate over a prompt, a half or less of theirs. Times are in
 * milliseconds; a power of 0 was not measured. */
#include "analysis/calibrate/power/power_format.h"

#include <string.h>

enum { MODEL, HARDWARE, PROMPT, BATCH, TOKENS, PEAK, AVERAGE, PROMPT_MS, TOKEN_MS, TENSOR, COLUMNS };

static const char *const columns[COLUMNS] = {"model",      "hardware",       "prompt_size",   "batch_size",
                                             "token_size", "peak_power",     "average_power", "prompt_time",
                                             "token_time", "tensor_parallel"};

static const double ms = 1e-3;

static struct iteration_work prompts_of(const double *numbers)
{
    const double batch = numbers[BATCH], prompt = numbers[PROMPT];
    return (struct iteration_work){.prefill_sequences = (int64_t)batch,
                                   .prefill_tokens = (int64_t)(batch * prompt),
                                   .prefill_pairs = batch * prompt * prompt};
}

static struct iteration_work tokens_of(const double *numbers)
{
    const double context = numbers[PROMPT] + 0.5 * numbers[TOKENS];
    return (struct iteration_work){.decode_sequences = (int64_t)numbers[BATCH],
                                   .decode_context_tokens = (int64_t)(numbers[BATCH] * context)};
}

static int add_mean(struct power_reader *reader, const char *name, const double *numbers)
{
    struct llm_spec llm;
    const double prompt_s = ms * numbers[PROMPT_MS], token_s = ms * numbers[TOKEN_MS];
    const double all_s = prompt_s + (numbers[TOKENS] - 1.0) * token_s, tdp_w = reader->gpu->tdp_w;
    const int64_t gpus = (int64_t)numbers[TENSOR];
    const struct iteration_work prompts = prompts_of(numbers), tokens = tokens_of(numbers);
    int code = power_llm(reader, name, &llm);
    if (code != 0) return code;
    const struct power_load prompt = power_load_of(reader->gpu, &llm, gpus, &prompts, prompt_s);
    const struct power_load token = power_load_of(reader->gpu, &llm, gpus, &tokens, token_s);
    const struct power_row mean = {.group = name, .part = "mean", .measured_w = numbers[AVERAGE] * tdp_w, .n_phases = 2,
                                   .phases = {{prompt_s / all_s, prompt}, {1.0 - prompt_s / all_s, token}}};
    if (mean.measured_w < reader->gpu->context_w) return power_drop(reader, "a mean below what an idle GPU draws");
    return power_add(reader, &mean);
}

static int read_row(struct power_reader *reader)
{
    double numbers[COLUMNS] = {0};
    const char *model = power_text(reader, MODEL), *hardware = power_text(reader, HARDWARE);
    if (model == NULL || hardware == NULL) return SIM_E_NOMEM;
    if (strcmp(hardware, "a100-80gb") != 0 || strcmp(reader->gpu->name, "a100-80-sxm") != 0)
        return power_drop(reader, "of another GPU");
    for (size_t i = PROMPT; i < COLUMNS; i++) {
        const int status = power_number(reader, i, 0.0, &numbers[i]);
        if (status != 0) return status;
    }
    if (numbers[PEAK] == 0.0 || numbers[AVERAGE] == 0.0) return power_drop(reader, "power was not measured");
    if (strcmp(model, "llama2-70b") == 0) return add_mean(reader, "llama-2-70b", numbers);
    if (strcmp(model, "bloom-176b") == 0) return add_mean(reader, "bloom-176b", numbers);
    return power_drop(reader, "an LLM that the catalog lacks");
}

const struct power_format power_splitwise = {"splitwise", columns, COLUMNS, read_row, NULL};
