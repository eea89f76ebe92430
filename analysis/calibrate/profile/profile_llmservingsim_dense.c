/* LLMServingSim's current profiles of dense operators (casys-kaist/LLMServingSim, profiler/perf/GPU/LLM/bf16/tp1):
 * dense.csv by number of tokens, per_sequence.csv by number of sequences, of vLLM's layers on one GPU, in microseconds.
 *
 * The norm of a layer is fused with the residual sum before it and stands for both. */
#include "analysis/calibrate/profile/profile_llm.h"

static const struct {
    const char *layer;
    enum llm_operator op;
} layers[] = {
    {"embedding", OP_EMBEDDING}, {"layernorm", OP_NORM},   {"qkv_proj", OP_QKV},     {"rotary_emb", OP_ROTARY},
    {"o_proj", OP_OUT},          {"gate_up_proj", OP_UP},  {"act_fn", OP_ACTIVATION}, {"down_proj", OP_DOWN},
    {"final_layernorm", OP_NORM}, {"lm_head", OP_HEAD},    {"sampler", OP_SAMPLING},
};

enum { LAYERS = sizeof layers / sizeof *layers };

/* What the rows of a file share. */
struct dense_file {
    struct profile_llm llm;
    uint32_t group;
    int layer, tokens, time_us; /* columns */
};

/* Tokens in dense.csv, sequences in per_sequence.csv. */
static int size_column(const struct profile_reader *reader)
{
    const int tokens = profile_column(reader, "tokens");
    return tokens >= 0 ? tokens : profile_column(reader, "sequences");
}

static bool recognise(const struct profile_reader *reader)
{
    static const char *const columns[] = {"layer", "time_us", NULL};
    return profile_has_columns(reader, columns) && size_column(reader) >= 0;
}

/* The operator of the row read last; false when it is none. */
static bool find_op(const struct profile_reader *reader, const struct dense_file *file, enum llm_operator *op)
{
    for (int i = 0; i < LAYERS; i++) {
        if (!profile_text_is(reader, file->layer, layers[i].layer)) continue;
        *op = layers[i].op;
        return true;
    }
    return false;
}

static int read_row(struct profile_reader *reader, const struct dense_file *file)
{
    struct profile_row row = {.group = file->group};
    double microseconds;
    int status = profile_number(reader, file->tokens, 1.0, &row.tokens);
    if (status == 0) status = profile_number(reader, file->time_us, 0.0, &microseconds);
    if (status < 0) return status;
    row.measured_s = microseconds * 1e-6;
    if (find_op(reader, file, &row.op) && profile_llm_call(&file->llm, row.op, (int64_t)row.tokens, &row.call))
        return profile_add(reader, &row);
    profile_drop(reader->profile, "not an operator of the LLM", 1);
    return 0;
}

static int read(struct profile_reader *reader)
{
    struct dense_file file = {.layer = profile_column(reader, "layer"),
                              .tokens = size_column(reader),
                              .time_us = profile_column(reader, "time_us")};
    reader->profile->set = "in-model";
    reader->profile->grouped_by = "llm";
    int status = profile_llm_find(reader, &file.llm);
    if (status == 0) status = profile_group(reader, &file.group, "%s", file.llm.spec.name);
    while (status == 0 && (status = profile_next(reader)) > 0) status = read_row(reader, &file);
    return status;
}

const struct profile_format profile_llmservingsim_dense = {"llmservingsim-dense", recognise, read};
