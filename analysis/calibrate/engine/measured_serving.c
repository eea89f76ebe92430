/* aiconfigurator's table of TTFT and TPOT (ai-dynamo/aiconfigurator, silicon_sample.csv): closed loops of `batch_size`
 * users with prompts and answers of fixed length on H100 SXM, in milliseconds. Only the aggregated runs (prompts and
 * decoding on the same GPUs) of dense LLMs are a closed loop of one replica.
 *
 * How the engines take prompts (their defaults at these versions): vLLM cuts them and mixes them with decoding, 8192
 * tokens in a batch; TensorRT-LLM mixes whole prompts, 8192 tokens; SGLang processes prompts before it decodes on, cut
 * to 8192 tokens. In fp8 TensorRT-LLM also keeps keys and values in fp8: more requests are served at once than would
 * fit with 16 bits.
 *
 * Constants may be fitted on prompts of 1024 tokens; the longer ones are left for tests. */
#include "analysis/calibrate/engine/measured_format.h"

#include <string.h>

enum { BACKEND, VERSION, MODEL, SYSTEM, MODE, PROMPT, OUTPUT, QUANTISATION, USERS, TENSOR, PIPELINE, TPOT_MS, COLUMNS };

static const char *const columns[COLUMNS] = {
    "backend", "backend_version", "model_path", "system",  "mode",    "isl",
    "osl",     "gemm_quant_mode", "batch_size", "tp_size", "pp_size", "silicon_tpot_ms"};

enum { FIT_PROMPT_TOKENS = 1024, BATCH_TOKENS = 8192 };

struct backend {
    const char *name, *version, *engine;
    bool chunked, prompts_first;
};

static const struct backend backends[] = {
    {"vllm", "0.12.0", "vllm-0.12", true, false},
    {"trtllm", "1.0.0rc3", "trtllm-1.0", false, false},
    {"sglang", "0.5.1.post1", "sglang-0.5", true, true},
};

struct served_llm {
    const char *path, *name;
};

static const struct served_llm llms[] = {
    {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
    {"Qwen/Qwen3-32B", "qwen3-32b"},
};

static const struct backend *find_backend(const struct measured_reader *reader)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (measured_text_is(reader, BACKEND, backends[i].name) &&
            measured_text_is(reader, VERSION, backends[i].version))
            return &backends[i];
    return NULL;
}

static const struct served_llm *find_llm(const struct measured_reader *reader)
{
    for (size_t i = 0; i < sizeof llms / sizeof *llms; i++)
        if (measured_text_is(reader, MODEL, llms[i].path)) return &llms[i];
    return NULL;
}

/* Why the row is none of ours, or NULL. */
static const char *reason_against(const struct measured_reader *reader)
{
    const bool quantised = measured_text(reader, QUANTISATION).n_chars > 0;
    if (!measured_text_is(reader, SYSTEM, "h100_sxm")) return "another GPU";
    if (find_llm(reader) == NULL) return "another LLM than Llama-3.1-8B and Qwen3-32B";
    if (!measured_text_is(reader, MODE, "agg")) return "disaggregated: prompts on other GPUs";
    if (find_backend(reader) == NULL) return "a version with too few rows for constants of its own";
    if (!measured_text_is(reader, PIPELINE, "1.0")) return "pipeline parallel";
    if (quantised && !measured_text_is(reader, BACKEND, "trtllm")) return "fp8, format of keys and values not stated";
    if (quantised && !measured_text_is(reader, QUANTISATION, "fp8")) return "another quantisation than fp8";
    return NULL;
}

static int read_loop(struct measured_reader *reader, struct measured_row *row)
{
    double prompt, output, users, tensor, tpot_ms;
    int status = measured_number(reader, PROMPT, 1.0, &prompt);
    if (status == 0) status = measured_number(reader, OUTPUT, 2.0, &output);
    if (status == 0) status = measured_number(reader, USERS, 1.0, &users);
    if (status == 0) status = measured_number(reader, TENSOR, 1.0, &tensor);
    if (status == 0) status = measured_number(reader, TPOT_MS, 0.0, &tpot_ms);
    if (status < 0) return status;
    row->tensor_parallel = (int64_t)tensor;
    row->loop.prompt_tokens = (int64_t)prompt;
    row->loop.output_tokens = (int64_t)output;
    row->loop.users = (int64_t)users;
    row->measured_s = 1e-3 * tpot_ms;
    row->fit = prompt <= FIT_PROMPT_TOKENS;
    return 0;
}

static int read_row(struct measured_reader *reader)
{
    const char *reason = reason_against(reader);
    if (reason != NULL) return measured_drop(reader, reason);
    const struct backend *backend = find_backend(reader);
    const struct served_llm *llm = find_llm(reader);
    const enum number_format format = measured_text_is(reader, QUANTISATION, "fp8") ? FORMAT_FP8 : FORMAT_BF16;
    struct measured_row row = {.kind = MEASURED_TPOT,
                               .engine = backend->engine,
                               .gpu = "h100-sxm",
                               .llm = llm->name,
                               .weights = format,
                               .kv = format,
                               .loop = {.batch_tokens = BATCH_TOKENS,
                                        .chunked = backend->chunked,
                                        .prompts_first = backend->prompts_first},
                               .group = llm->name};
    const int status = read_loop(reader, &row);
    return status < 0 ? status : measured_add(reader, &row);
}

const struct measured_format measured_serving = {"aiconfigurator-serving", "prompts of 1024 tokens", columns, COLUMNS,
                                                 read_row};
