/* LLMServingSim's profiles of attention over sequences of two lengths (casys-kaist/LLMServingSim, profiler/perf/.../
 * skew.csv): n sequences that decode, nb of which have kv_big tokens before the new one and the others kvs, kv_mean on
 * average, alone or in one launch with a chunk of pc tokens of a prompt on top of kp; t_skew_us is the time of three
 * launches. */
#include "analysis/calibrate/profile/profile_attention.h"
#include "analysis/calibrate/profile/profile_llm.h"

static const double launches = 3.0; /* meta.yaml beside it: measurement_iterations; so are t_mean_us and attention.csv apart */

struct skew_columns {
    int sequences, chunk, past, mean, longest, time_us;
};

static bool recognise(const struct profile_reader *reader)
{
    static const char *const columns[] = {"n", "nb", "pc", "kp", "kvs", "kv_big", "kv_mean", "t_skew_us", NULL};
    return profile_has_columns(reader, columns);
}

static int read_row(struct profile_reader *reader, const struct skew_columns *columns,
                    const struct profile_heads *heads)
{
    double sequences, chunk, past, mean, longest, microseconds;
    int status = profile_number(reader, columns->sequences, 0.0, &sequences);
    if (status == 0) status = profile_number(reader, columns->chunk, 0.0, &chunk);
    if (status == 0) status = profile_number(reader, columns->past, 0.0, &past);
    if (status == 0) status = profile_number(reader, columns->mean, 0.0, &mean);
    if (status == 0) status = profile_number(reader, columns->longest, 0.0, &longest);
    if (status == 0) status = profile_number(reader, columns->time_us, 0.0, &microseconds);
    if (status < 0) return status;
    const struct profile_decodes decodes = {sequences, mean + 1.0, longest + 1.0};
    const struct profile_chunks chunks = {.n = 1.0, .tokens = chunk, .past = past, .decodes = decodes};
    const double seconds = microseconds * 1e-6 / launches;
    if (sequences > 0.0 && chunk > 0.0) return profile_add_prefill(reader, heads, &chunks, seconds);
    if (sequences > 0.0) return profile_add_decode(reader, heads, &decodes, seconds);
    profile_drop(reader->profile, "empty batch", 1);
    return 0;
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "in-model";
    reader->profile->grouped_by = "heads";
    const struct skew_columns columns = {
        .sequences = profile_column(reader, "n"),     .chunk = profile_column(reader, "pc"),
        .past = profile_column(reader, "kp"),         .mean = profile_column(reader, "kv_mean"),    .longest = profile_column(reader, "kv_big"),
        .time_us = profile_column(reader, "t_skew_us"),
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

const struct profile_format profile_llmservingsim_skew = {"llmservingsim-skew", recognise, read};
