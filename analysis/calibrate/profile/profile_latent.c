/* aiconfigurator's tables of attention with latent vectors (ai-dynamo/aiconfigurator, generation_mla_perf and
 * context_mla_perf), in milliseconds, on a GPU with num_heads of the heads. tp_size is a label. Collectors replay a
 * CUDA graph of the engine's attention (collector/trtllm/collect_mla.py @ 070f5afd, collector/sglang/collect_mla.py @
 * 046f0d64) of the widths of DeepSeek-V3. Queries and results are bfloat16. The products with weights before and after
 * are not in it; the engine's attention writes the new vectors into the cache, which is little.
 *
 * generation_mla_perf: sequences of `step` tokens each make one more, over a latent vector of 512 numbers and a rotary
 * key of 64, which all heads share.
 *
 * context_mla_perf: equal prompts of isl tokens. In TensorRT-LLM each head has keys of 192 numbers and values of 128,
 * which the graph finds expanded. Beside a cache in fp8 it narrows them and the queries first. SGLang's prompts are
 * left out, by the name of the file: on the B200 all heads share one key and value, on the H100 they work on latent
 * vectors. Neither is what the engine serves a new prompt with. Prompts of less than 16 tokens are left out.
 *
 * Tables of whole modules (mla_context_module_perf ...) are not read: they contain products. */
#include "analysis/calibrate/profile/profile_format.h"

#include "sim/core/path.h"

#include <string.h>

enum { LATENT_BATCH, LATENT_HEADS, LATENT_PLACE, LATENT_TENSOR, LATENT_LATENCY, LATENT_KV_TYPE, LATENT_COLUMNS };

/* The place of a row: `step` of a sequence that decodes, isl of a prompt. */
#define LATENT_SHEET(place, least)                                                                                     \
    {                                                                                                                  \
        [LATENT_BATCH] = {"batch_size", 1.0}, [LATENT_HEADS] = {"num_heads", 1.0}, [LATENT_PLACE] = {place, least},    \
        [LATENT_TENSOR] = {"tp_size", 1.0}, [LATENT_LATENCY] = {"latency", 0.0}, [LATENT_KV_TYPE] = {                  \
            "kv_cache_dtype",                                                                                          \
            0.0                                                                                                        \
        }                                                                                                              \
    }

static const struct sheet_column decode_columns[] = LATENT_SHEET("step", 0.0);
static const struct sheet_column prompt_columns[] = LATENT_SHEET("isl", 1.0);

static const double latent_width = 512.0, rotary_width = 64.0, head_width = 128.0, ms = 1e-3;
static const double min_prompt_tokens = 16.0;

static const char unread_type[] = "type of numbers not read";

/* Sets *format; false for a type that is not read. */
static bool read_cache(const struct sheet *sheet, enum number_format *format)
{
    const bool is_fp8 = sheet_text_is(sheet, LATENT_KV_TYPE, "fp8");
    *format = is_fp8 ? FORMAT_FP8 : FORMAT_BF16;
    return is_fp8 || sheet_text_is(sheet, LATENT_KV_TYPE, "bfloat16");
}

static int add_row(struct profile_reader *reader, struct profile_row *row, double heads)
{
    const int status = profile_group(reader, &row->group, "%g heads", heads);
    return status == 0 ? profile_add(reader, row) : status;
}

static int read_decode(struct profile_reader *reader)
{
    double values[LATENT_COLUMNS];
    enum number_format kv;
    const int status = sheet_numbers(&reader->sheet, LATENT_BATCH, LATENT_KV_TYPE, values);
    if (status < 0) return status;
    if (!read_cache(&reader->sheet, &kv)) return profile_drop(reader, unread_type);
    const struct decode_shape shape = {.sequences = values[LATENT_BATCH],
                                       .context = values[LATENT_PLACE] + 1.0,
                                       .q_heads = values[LATENT_HEADS],
                                       .kv_heads = 1.0,
                                       .key_dim = latent_width + rotary_width,
                                       .value_dim = latent_width,
                                       .kv = kv,
                                       .compute = FORMAT_BF16,
                                       .shared_kv = true};
    struct profile_row row = {.call = {.class = KERNEL_LATENT_DECODE, .shape.decode = shape},
                              .op = OP_DECODE_ATTENTION,
                              .measured_s = ms * values[LATENT_LATENCY],
                              .tokens = shape.sequences};
    const double bytes = shape.sequences * shape.context * shape.key_dim * number_format_bytes(shape.kv);
    if (row.measured_s > 0.0 && bytes > row.measured_s * reader->options->gpu->memory_bytes_per_s)
        return profile_drop(reader, profile_faster_than_memory);
    return add_row(reader, &row, shape.q_heads);
}

const struct profile_format profile_aiconfigurator_latent = {.name = "aiconfigurator-latent",
                                                             .set = "isolated",
                                                             .grouped_by = "heads",
                                                             .columns = decode_columns,
                                                             .n_columns = LATENT_COLUMNS,
                                                             .n_required = LATENT_COLUMNS,
                                                             .read_row = read_decode};

static int read_prompt(struct profile_reader *reader)
{
    double values[LATENT_COLUMNS];
    enum number_format kv;
    const int status = sheet_numbers(&reader->sheet, LATENT_BATCH, LATENT_KV_TYPE, values);
    if (status < 0) return status;
    if (strstr(path_name(reader->profile->path), "sglang"))
        return profile_drop(reader, "prompts by kernels that SGLang does not serve with");
    if (!read_cache(&reader->sheet, &kv)) return profile_drop(reader, unread_type);
    if (values[LATENT_PLACE] < min_prompt_tokens) return profile_drop(reader, "a prompt of less than 16 tokens");
    const double n = values[LATENT_BATCH], tokens = values[LATENT_PLACE], heads = values[LATENT_HEADS];
    const struct prefill_shape shape = {.sequences = n,
                                        .tokens = n * tokens,
                                        .pairs = n * tokens * tokens,
                                        .q_heads = heads,
                                        .kv_heads = heads,
                                        .key_dim = head_width + rotary_width,
                                        .value_dim = head_width,
                                        .kv = kv,
                                        .compute = FORMAT_BF16};
    struct profile_row row = {.call = {.class = KERNEL_LATENT_PREFILL, .shape.prefill = shape},
                              .op = OP_PREFILL_ATTENTION,
                              .measured_s = ms * values[LATENT_LATENCY],
                              .tokens = shape.tokens};
    return add_row(reader, &row, heads);
}

const struct profile_format profile_aiconfigurator_latent_prompts = {.name = "aiconfigurator-latent-prompts",
                                                                     .set = "isolated",
                                                                     .grouped_by = "heads",
                                                                     .columns = prompt_columns,
                                                                     .n_columns = LATENT_COLUMNS,
                                                                     .n_required = LATENT_COLUMNS,
                                                                     .read_row = read_prompt};
