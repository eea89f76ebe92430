/* Splitwise's profile (Mutinifni/splitwise-sim, data/perf_model.csv): prompt and token times of vLLM of late 2023 on DGX
 * A100 and DGX H100, in milliseconds, several repetitions of each shape. A row is two measurements: the iteration that
 * processes all prompts, and the mean iteration that decodes, whose context is that of half the tokens.
 *
 * Batches of more than 2048 prompt tokens are a group of their own: that vLLM had sized its memory pools for fewer, and
 * took up to twice as long from there on, which no law here describes.
 *
 * Constants may be fitted on batches of at most 2048 prompt tokens of Llama-2-70B; larger ones and BLOOM-176B are left for
 * tests. */
#include "analysis/calibrate/engine/measured_format.h"

#include <math.h>

enum { MODEL, HARDWARE, PROMPT, BATCH, TOKENS, PROMPT_MS, TOKEN_MS, TENSOR, COLUMNS };

static const char *const columns[COLUMNS] = {"model",      "hardware",    "prompt_size", "batch_size",
                                             "token_size", "prompt_time", "token_time",  "tensor_parallel"};

enum { FIT_PROMPT_TOKENS = 2048 };

struct shape {
    double prompt, batch, tokens, tensor;
};

static int read_shape(struct measured_reader *reader, struct shape *shape)
{
    int status = measured_number(reader, PROMPT, 1.0, &shape->prompt);
    if (status == 0) status = measured_number(reader, BATCH, 1.0, &shape->batch);
    if (status == 0) status = measured_number(reader, TOKENS, 2.0, &shape->tokens);
    return status == 0 ? measured_number(reader, TENSOR, 1.0, &shape->tensor) : status;
}

static struct iteration_work prompts_of(const struct shape *shape)
{
    return (struct iteration_work){.prefill_sequences = (int64_t)shape->batch,
                                   .prefill_tokens = (int64_t)(shape->batch * shape->prompt),
                                   .prefill_pairs = shape->batch * shape->prompt * shape->prompt};
}

static struct iteration_work tokens_of(const struct shape *shape)
{
    const double context = shape->prompt + floor(0.5 * shape->tokens);
    return (struct iteration_work){.decode_sequences = (int64_t)shape->batch,
                                   .decode_context_tokens = (int64_t)(shape->batch * context)};
}

static int read_row(struct measured_reader *reader)
{
    const bool llama = measured_text_is(reader, MODEL, "llama2-70b"),
               bloom = measured_text_is(reader, MODEL, "bloom-176b");
    const bool a100 = measured_text_is(reader, HARDWARE, "a100-80gb"),
               h100 = measured_text_is(reader, HARDWARE, "h100-80gb");
    struct shape shape;
    double prompt_ms, token_ms;
    if (measured_text_is(reader, HARDWARE, "h100-80gb-pcap"))
        return measured_drop(reader, "computed from other rows, not measured (h100-80gb-pcap)");
    if (!(llama || bloom) || !(a100 || h100)) return measured_drop(reader, "an LLM or GPU that the catalog lacks");
    int status = read_shape(reader, &shape);
    if (status == 0) status = measured_number(reader, PROMPT_MS, 0.0, &prompt_ms);
    if (status == 0) status = measured_number(reader, TOKEN_MS, 0.0, &token_ms);
    if (status < 0) return status;
    if (shape.tensor < 3.0 && shape.batch > 32.0)
        return measured_drop(reader, "more requests than fit into memory at once (tensor-parallel 2, batch 64)");
    struct measured_row row = {.kind = MEASURED_ITERATION,
                               .engine = "vllm-0.2",
                               .gpu = a100 ? "a100-80-sxm" : "h100-sxm",
                               .llm = llama ? "llama-2-70b" : "bloom-176b",
                               .weights = llama ? FORMAT_FP16 : FORMAT_BF16,
                               .kv = llama ? FORMAT_FP16 : FORMAT_BF16,
                               .tensor_parallel = (int64_t)shape.tensor,
                               .work = prompts_of(&shape),
                               .measured_s = 1e-3 * prompt_ms,
                               .group = shape.batch * shape.prompt > FIT_PROMPT_TOKENS ? "long-prompts" : "prompts",
                               .fit = llama && shape.batch * shape.prompt <= FIT_PROMPT_TOKENS};
    status = measured_add(reader, &row);
    if (status < 0) return status;
    row.work = tokens_of(&shape);
    row.measured_s = 1e-3 * token_ms;
    row.group = "tokens";
    return measured_add(reader, &row);
}

const struct measured_format measured_splitwise = {
    "splitwise", "Llama-2-70B, batches of at most 2048 prompt tokens", columns, COLUMNS, read_row};
