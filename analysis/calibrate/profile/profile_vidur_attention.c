/* Attention in Vidur's form: one row per batch of chunks or of decoding sequences, on one GPU of a tensor-parallel
 * group, time_stats.* in milliseconds.
 *
 * Vidur's own files (microsoft/vidur, data/profiling/.../attention.csv) time the reshaping of inputs beside, and their
 * kv_cache_size is what was processed before. The FlashAttention kernel of the early ones took the time of all keys,
 * those behind the mask too: the law is off by 8 % so, and by 17 % without them. LLMServingSim's first profiler
 * (casys-kaist/LLMServingSim, profiler/v0) kept the columns but counts the chunk of a prompt in: a chunk alone and the
 * same one in a layer without context take equally long. Many of its decode rows read faster than the memory can, as
 * their sequences shared blocks. */
#include "analysis/calibrate/profile/profile_attention.h"

#include <math.h>
#include <string.h>

struct vidur_columns {
    int prefill_ms, decode_ms, hidden, heads, kv_heads, tensor, batch, chunk, context, is_prefill, backend;
    bool chunk_counts; /* in the context */
};

static const char *const common_columns[] = {"time_stats.attn_prefill.median",
                                             "time_stats.attn_decode.median",
                                             "n_embd",
                                             "n_q_head",
                                             "n_kv_head",
                                             "num_tensor_parallel_workers",
                                             "batch_size",
                                             "prefill_chunk_size",
                                             "kv_cache_size",
                                             "is_prefill",
                                             NULL};

static bool times_reshaping(const struct profile_reader *reader)
{
    return profile_column(reader, "time_stats.attn_input_reshape.median") >= 0;
}

static bool recognise_vidur(const struct profile_reader *reader)
{
    return profile_has_columns(reader, common_columns) && times_reshaping(reader);
}

static bool recognise_llmservingsim(const struct profile_reader *reader)
{
    return profile_has_columns(reader, common_columns) && !times_reshaping(reader);
}

static int read_heads(struct profile_reader *reader, const struct vidur_columns *columns, struct profile_heads *heads)
{
    double hidden, query, kv, tensor;
    int status = profile_number(reader, columns->hidden, 1.0, &hidden);
    if (status == 0) status = profile_number(reader, columns->heads, 1.0, &query);
    if (status == 0) status = profile_number(reader, columns->kv_heads, 1.0, &kv);
    if (status == 0) status = profile_number(reader, columns->tensor, 1.0, &tensor);
    if (status < 0) return status;
    const double kv_here = fmax(kv / tensor, 1.0);
    *heads = (struct profile_heads){query / tensor, kv_here, hidden / query, FORMAT_FP16, FORMAT_FP16, false};
    return 0;
}

static int read_row(struct profile_reader *reader, const struct vidur_columns *columns)
{
    const bool is_prefill = profile_text_is(reader, columns->is_prefill, "True");
    struct profile_heads heads;
    double batch, chunk, context, milliseconds;
    int status = read_heads(reader, columns, &heads);
    if (status == 0) status = profile_number(reader, columns->batch, 1.0, &batch);
    if (status == 0) status = profile_number(reader, columns->chunk, is_prefill ? 1.0 : 0.0, &chunk);
    if (status == 0) status = profile_number(reader, columns->context, columns->chunk_counts ? chunk : 0.0, &context);
    if (status == 0)
        status = profile_number(reader, is_prefill ? columns->prefill_ms : columns->decode_ms, 0.0, &milliseconds);
    if (status < 0) return status;
    if (!is_prefill)
        return profile_add_decode(reader, &heads, &(struct profile_decodes){batch, context + 1.0, 0.0},
                                  milliseconds * 1e-3);
    const struct profile_chunks chunks = {
        .n = batch,
        .tokens = chunk,
        .past = columns->chunk_counts ? context - chunk : context,
        .full = profile_text_is(reader, columns->backend, "AttentionBackend.FLASH_ATTENTION"),
    };
    return profile_add_prefill(reader, &heads, &chunks, milliseconds * 1e-3);
}

/* Where most decode rows of a file cannot be, the others are no measurement of separate sequences either. */
static void distrust_decodes(struct profile *profile)
{
    int64_t decodes = 0, too_fast = 0;
    for (size_t i = 0; i < profile->n_dropped; i++)
        if (strcmp(profile->dropped[i].reason, profile_faster_than_memory) == 0) too_fast = profile->dropped[i].rows;
    for (size_t i = 0; i < profile->n; i++) decodes += profile->rows[i].call.class == KERNEL_DECODE_ATTENTION;
    if (too_fast <= decodes) return;
    size_t kept = 0;
    for (size_t i = 0; i < profile->n; i++)
        if (profile->rows[i].call.class != KERNEL_DECODE_ATTENTION) profile->rows[kept++] = profile->rows[i];
    profile->n = kept;
    profile_drop(profile, "decodes beside too many that are faster than the memory", decodes);
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "in-model";
    reader->profile->grouped_by = "heads";
    const struct vidur_columns columns = {
        .prefill_ms = profile_column(reader, "time_stats.attn_prefill.median"),
        .decode_ms = profile_column(reader, "time_stats.attn_decode.median"),
        .hidden = profile_column(reader, "n_embd"),
        .heads = profile_column(reader, "n_q_head"),
        .kv_heads = profile_column(reader, "n_kv_head"),
        .tensor = profile_column(reader, "num_tensor_parallel_workers"),
        .batch = profile_column(reader, "batch_size"),
        .chunk = profile_column(reader, "prefill_chunk_size"),
        .context = profile_column(reader, "kv_cache_size"),
        .is_prefill = profile_column(reader, "is_prefill"),
        .backend = profile_column(reader, "attention_backend"),
        .chunk_counts = !times_reshaping(reader),
    };
    int status;
    while ((status = profile_next(reader)) > 0) {
        status = read_row(reader, &columns);
        if (status < 0) break;
    }
    if (status == 0) distrust_decodes(reader->profile);
    return status;
}

const struct profile_format profile_vidur_attention = {"vidur-attention", recognise_vidur, read};
const struct profile_format profile_llmservingsim_attention_v0 = {"llmservingsim-attention-v0", recognise_llmservingsim,
                                                                  read};
