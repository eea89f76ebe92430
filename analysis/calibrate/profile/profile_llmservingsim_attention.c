/* LLMServingSim's current profiles of attention (casys-kaist/LLMServingSim, profiler/perf/.../attention.csv): vLLM's
 * attention of one layer on one GPU, over a chunk of a prompt on top of kv_prefill tokens, or over n_decode sequences
 * with kv_decode tokens each before the new one, in microseconds; the new keys and values are written into the cache
 * within the call. In rows with both, one kernel serves prompt and sequences together. */
#include "analysis/calibrate/profile/profile_attention.h"
#include "analysis/calibrate/profile/profile_llm.h"

struct chunk_columns {
    int chunk, past, sequences, context, time_us;
};

static bool recognise(const struct profile_reader *reader)
{
    static const char *const columns[] = {"prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us", NULL};
    return profile_has_columns(reader, columns);
}

static int read_row(struct profile_reader *reader, const struct chunk_columns *columns,
                    const struct profile_heads *heads)
{
    double chunk, past, sequences, context, microseconds;
    int status = profile_number(reader, columns->chunk, 0.0, &chunk);
    if (status == 0) status = profile_number(reader, columns->past, 0.0, &past);
    if (status == 0) status = profile_number(reader, columns->sequences, 0.0, &sequences);
    if (status == 0) status = profile_number(reader, columns->context, 0.0, &context);
    if (status == 0) status = profile_number(reader, columns->time_us, 0.0, &microseconds);
    if (status < 0) return status;
    const double seconds = microseconds * 1e-6;
    const struct profile_decodes decodes = {sequences, sequences > 0.0 ? context + 1.0 : 0.0, 0.0};
    const struct profile_chunks chunks = {.n = 1.0, .tokens = chunk, .past = past, .decodes = decodes};
    if (chunk > 0.0) return profile_add_prefill(reader, heads, &chunks, seconds);
    if (sequences > 0.0) return profile_add_decode(reader, heads, &decodes, seconds);
    profile_drop(reader->profile, "empty batch", 1);
    return 0;
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "in-model";
    reader->profile->grouped_by = "heads";
    const struct chunk_columns columns = {
        .chunk = profile_column(reader, "prefill_chunk"), .past = profile_column(reader, "kv_prefill"),
        .sequences = profile_column(reader, "n_decode"),  .context = profile_column(reader, "kv_decode"),
        .time_us = profile_column(reader, "time_us"),
    };
    struct profile_llm llm;
    int status = profile_llm_find(reader, &llm);
    if (status < 0) return status;
    const struct profile_heads heads = {llm.shard.q_heads, llm.shard.kv_heads, (double)llm.spec.head_dim, llm.spec.kv,
                                        llm.spec.compute, .writes_kv = true};
    while ((status = profile_next(reader)) > 0) {
        status = read_row(reader, &columns, &heads);
        if (status < 0) break;
    }
    return status;
}

const struct profile_format profile_llmservingsim_attention = {"llmservingsim-attention", recognise, read};
