/* aiconfigurator's attention tables (ai-dynamo/aiconfigurator, systems/data/.../{context,generation}_attention_perf):
 * isolated calls of an engine's attention layer on one GPU, batches of equal sequences, in milliseconds.
 *
 * Both tables have the same columns: a row of one token (isl 1) after `step` others decodes, all others are prompts of
 * isl tokens. The layer also writes new keys and values into the cache. Prompts of less than 16 tokens take the decode
 * kernels of some engines and are left out. */
#include "analysis/calibrate/profile/profile_attention.h"

#include <math.h>

static const double min_prompt_tokens = 16.0;

struct attention_columns {
    int batch, tokens, heads, kv_heads, dim, dtype, kv_dtype, step, latency;
};

static bool recognise(const struct profile_reader *reader)
{
    static const char *const columns[] = {"batch_size", "isl",        "num_heads",      "num_key_value_heads",
                                          "head_dim",   "attn_dtype", "kv_cache_dtype", "step",
                                          "latency",    NULL};
    return profile_has_columns(reader, columns);
}

/* False for a type that is not read. */
static bool read_format(const struct profile_reader *reader, int column, enum number_format *format)
{
    if (profile_text_is(reader, column, "bfloat16"))
        *format = FORMAT_BF16;
    else if (profile_text_is(reader, column, "float16"))
        *format = FORMAT_FP16;
    else if (profile_text_is(reader, column, "fp8"))
        *format = FORMAT_FP8;
    else
        return false;
    return true;
}

static int add_row(struct profile_reader *reader, const struct profile_heads *heads, double batch, double tokens,
                   double step, double seconds)
{
    if (tokens == 1.0 && step > 0.0)
        return profile_add_decode(reader, heads, &(struct profile_decodes){batch, tokens + step, 0.0}, seconds);
    const struct profile_chunks chunks = {.n = batch, .tokens = tokens, .past = step};
    if (tokens >= min_prompt_tokens) return profile_add_prefill(reader, heads, &chunks, seconds);
    profile_drop(reader->profile, "a prompt of less than 16 tokens", 1);
    return 0;
}

static int read_row(struct profile_reader *reader, const struct attention_columns *columns)
{
    struct profile_heads heads = {.writes_kv = true};
    double batch, tokens, step, milliseconds;
    int status = profile_number(reader, columns->batch, 1.0, &batch);
    if (status == 0) status = profile_number(reader, columns->tokens, 1.0, &tokens);
    if (status == 0) status = profile_number(reader, columns->step, 0.0, &step);
    if (status == 0) status = profile_number(reader, columns->heads, 1.0, &heads.query);
    if (status == 0) status = profile_number(reader, columns->kv_heads, 1.0, &heads.kv);
    if (status == 0) status = profile_number(reader, columns->dim, 1.0, &heads.dim);
    if (status == 0) status = profile_number(reader, columns->latency, 0.0, &milliseconds);
    if (status < 0) return status;
    if (read_format(reader, columns->dtype, &heads.compute) && read_format(reader, columns->kv_dtype, &heads.kv_format))
        return add_row(reader, &heads, batch, tokens, step, milliseconds * 1e-3);
    profile_drop(reader->profile, "type of numbers not read", 1);
    return 0;
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "isolated";
    reader->profile->grouped_by = "heads";
    const struct attention_columns columns = {
        .batch = profile_column(reader, "batch_size"),   .tokens = profile_column(reader, "isl"),
        .heads = profile_column(reader, "num_heads"),    .kv_heads = profile_column(reader, "num_key_value_heads"),
        .dim = profile_column(reader, "head_dim"),       .dtype = profile_column(reader, "attn_dtype"),
        .kv_dtype = profile_column(reader, "kv_cache_dtype"), .step = profile_column(reader, "step"),
        .latency = profile_column(reader, "latency"),
    };
    int status;
    while ((status = profile_next(reader)) > 0) {
        status = read_row(reader, &columns);
        if (status < 0) break;
    }
    return status;
}

const struct profile_format profile_aiconfigurator_attention = {"aiconfigurator-attention", recognise, read};
