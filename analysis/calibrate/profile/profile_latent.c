/* aiconfigurator's tables of decoding over latent vectors (ai-dynamo/aiconfigurator, generation_mla_perf), in
 * milliseconds: sequences of `step` tokens each make one more, on a GPU with num_heads of the heads. tp_size is a
 * label. Collectors replay a CUDA graph of the engine's attention (collector/trtllm/collect_mla.py @ 070f5afd,
 * collector/sglang/collect_mla.py @ 046f0d64) of the widths of DeepSeek-V3: 512 numbers of a latent vector and 64 of a
 * rotary key, which all heads share. Queries and results are bfloat16. The products with weights before and after are
 * not in it; the engine's attention writes the new vector into the cache, which is little.
 *
 * Tables of prompts (context_mla_perf) are not read: which widths and heads they have depends on the engine and GPU,
 * and no column says it. Nor are those of whole modules, which contain products. */
#include "analysis/calibrate/profile/profile_format.h"

enum { LATENT_BATCH, LATENT_HEADS, LATENT_STEP, LATENT_TENSOR, LATENT_LATENCY, LATENT_KV_TYPE, LATENT_COLUMNS };

static const struct sheet_column latent_columns[] = {
    [LATENT_BATCH] = {"batch_size", 1.0},  [LATENT_HEADS] = {"num_heads", 1.0},
    [LATENT_STEP] = {"step", 0.0},         [LATENT_TENSOR] = {"tp_size", 1.0},
    [LATENT_LATENCY] = {"latency", 0.0},   [LATENT_KV_TYPE] = {"kv_cache_dtype", 0.0}};

static const double latent_width = 512.0, rotary_width = 64.0, ms = 1e-3;

static int read_latent(struct profile_reader *reader)
{
    double values[LATENT_COLUMNS];
    int status = sheet_numbers(&reader->sheet, LATENT_BATCH, LATENT_KV_TYPE, values);
    if (status < 0) return status;
    const bool is_fp8 = sheet_text_is(&reader->sheet, LATENT_KV_TYPE, "fp8");
    if (!is_fp8 && !sheet_text_is(&reader->sheet, LATENT_KV_TYPE, "bfloat16"))
        return profile_drop(reader, "type of numbers not read");
    const struct decode_shape shape = {
        .sequences = values[LATENT_BATCH], .context = values[LATENT_STEP] + 1.0, .q_heads = values[LATENT_HEADS],
        .kv_heads = 1.0, .key_dim = latent_width + rotary_width, .value_dim = latent_width,
        .kv = is_fp8 ? FORMAT_FP8 : FORMAT_BF16, .compute = FORMAT_BF16, .shared_kv = true};
    struct profile_row row = {.call = {.class = KERNEL_LATENT_DECODE, .shape.decode = shape},
                              .op = OP_DECODE_ATTENTION,
                              .measured_s = ms * values[LATENT_LATENCY],
                              .tokens = shape.sequences};
    const double bytes = shape.sequences * shape.context * shape.key_dim * number_format_bytes(shape.kv);
    if (row.measured_s > 0.0 && bytes > row.measured_s * reader->options->gpu->memory_bytes_per_s)
        return profile_drop(reader, profile_faster_than_memory);
    status = profile_group(reader, &row.group, "%g heads", shape.q_heads);
    return status == 0 ? profile_add(reader, &row) : status;
}

const struct profile_format profile_aiconfigurator_latent = {
    .name = "aiconfigurator-latent", .set = "isolated", .grouped_by = "heads", .columns = latent_columns,
    .n_columns = LATENT_COLUMNS, .n_required = LATENT_COLUMNS, .read_row = read_latent};
