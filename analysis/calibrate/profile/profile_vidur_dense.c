/* Vidur's dense operators (microsoft/vidur, data/profiling/compute/GPU/LLM/mlp.csv): one row per number of tokens and
 * tensor-parallel degree, with the time of each operator of one layer on one GPU, in milliseconds, resolved to 1 us.
 * The shape of the LLM stands in every row; numbers are 16 bits wide.
 *
 * The embedding reads a row of its table per token and writes it. Norms are not fused with the residual sum. An LLM with
 * one norm per layer has attention and feed-forward side by side: its `add` is two sums, of both results and of these
 * with the residual, each of which counts as half the time. */
#include "analysis/calibrate/profile/profile_format.h"

#include <stdio.h>
#include <string.h>

enum vidur_op { EMB, INPUT_NORM, QKV, ROPE, OUT, POST_NORM, UP, ACT, DOWN, ADD, VIDUR_OPS };

static const char *const op_columns[] = {
    [EMB] = "time_stats.emb.median",
    [INPUT_NORM] = "time_stats.input_layernorm.median",
    [QKV] = "time_stats.attn_pre_proj.median",
    [ROPE] = "time_stats.attn_rope.median",
    [OUT] = "time_stats.attn_post_proj.median",
    [POST_NORM] = "time_stats.post_attention_layernorm.median",
    [UP] = "time_stats.mlp_up_proj.median",
    [ACT] = "time_stats.mlp_act.median",
    [DOWN] = "time_stats.mlp_down_proj.median",
    [ADD] = "time_stats.add.median",
};

enum vidur_size { HEADS, KV_HEADS, HIDDEN, FFN, TOKENS, TENSOR, VIDUR_SIZES };

static const char *const size_columns[] = {
    [HEADS] = "n_head",        [KV_HEADS] = "n_kv_head", [HIDDEN] = "n_embd",
    [FFN] = "n_expanded_embd", [TOKENS] = "num_tokens",  [TENSOR] = "num_tensor_parallel_workers",
};

struct vidur_row {
    double sizes[VIDUR_SIZES];
    bool gated;
    bool parallel; /* attention and feed-forward side by side: no second norm */
};

static bool recognise(const struct profile_reader *reader)
{
    for (int i = 0; i < VIDUR_SIZES; i++)
        if (profile_column(reader, size_columns[i]) < 0) return false;
    return profile_column(reader, op_columns[QKV]) >= 0 && profile_column(reader, "use_gated_mlp") >= 0;
}

static struct kernel_call product(const struct vidur_row *row, double n, double k)
{
    return (struct kernel_call){
        .class = KERNEL_GEMM,
        .shape.gemm = {.m = row->sizes[TOKENS], .n = n, .k = k, .weights = FORMAT_FP16, .compute = FORMAT_FP16}};
}

static struct kernel_call pass(const struct vidur_row *row, enum kernel_class class, double width)
{
    return (struct kernel_call){
        .class = class, .shape.elementwise = {.tokens = row->sizes[TOKENS], .width = width, .number_bytes = 2.0}};
}

/* The call behind a column; *op is the operator of a layer that it is. */
static struct kernel_call call_of(const struct vidur_row *row, enum vidur_op column, enum llm_operator *op)
{
    static const enum llm_operator ops[] = {
        [EMB] = OP_EMBEDDING,  [INPUT_NORM] = OP_NORM, [QKV] = OP_QKV,        [ROPE] = OP_ROTARY, [OUT] = OP_OUT,
        [POST_NORM] = OP_NORM, [UP] = OP_UP,           [ACT] = OP_ACTIVATION, [DOWN] = OP_DOWN,   [ADD] = OP_RESIDUAL,
    };
    const double tensor = row->sizes[TENSOR], hidden = row->sizes[HIDDEN], ffn = row->sizes[FFN] / tensor;
    const double head_dim = hidden / row->sizes[HEADS], heads = row->sizes[HEADS], kv_heads = row->sizes[KV_HEADS];
    *op = ops[column];
    switch (column) {
    case EMB: return pass(row, KERNEL_EMBEDDING, 2.0 * hidden);
    case QKV: return product(row, (heads + 2.0 * kv_heads) * head_dim / tensor, hidden);
    case ROPE: return pass(row, KERNEL_ROTARY, 2.0 * (heads + kv_heads) * head_dim / tensor);
    case OUT: return product(row, hidden, hidden / tensor);
    case UP: return product(row, row->gated ? 2.0 * ffn : ffn, hidden);
    case ACT: return pass(row, KERNEL_ACTIVATION, row->gated ? 3.0 * ffn : 2.0 * ffn);
    case DOWN: return product(row, hidden, ffn);
    case ADD: return pass(row, KERNEL_RESIDUAL, 3.0 * hidden);
    case INPUT_NORM:
    case POST_NORM:
    case VIDUR_OPS: break;
    }
    return pass(row, KERNEL_NORM, 2.0 * hidden);
}

/* The LLM's name: from the options, the part between "__" in the file's name (a100__Llama-2-7b__dense_ops.csv), or else
 * its shape. */
static int find_llm(struct profile_reader *reader, const struct vidur_row *row, uint32_t *group)
{
    reader->profile->uses_llm = true;
    if (reader->options->llm != NULL) return profile_group(reader, group, "%s", reader->options->llm);
    const char *slash = strrchr(reader->profile->path, '/');
    const char *name = strstr(slash != NULL ? slash : reader->profile->path, "__");
    const char *end = name != NULL ? strstr(name + 2, "__") : NULL;
    if (end != NULL) return profile_group(reader, group, "%.*s", (int)(end - name - 2), name + 2);
    return profile_group(reader, group, "hidden %g, ffn %g, heads %g/%g", row->sizes[HIDDEN], row->sizes[FFN],
                         row->sizes[HEADS], row->sizes[KV_HEADS]);
}

static int read_sizes(struct profile_reader *reader, struct vidur_row *row)
{
    for (int i = 0; i < VIDUR_SIZES; i++) {
        const int status = profile_number(reader, profile_column(reader, size_columns[i]), 1.0, &row->sizes[i]);
        if (status < 0) return status;
    }
    const int gated = profile_column(reader, "use_gated_mlp");
    row->parallel = profile_text(reader, profile_column(reader, op_columns[POST_NORM])).n_chars == 0;
    row->gated = profile_text_is(reader, gated, "True") || profile_text_is(reader, gated, "true");
    return 0;
}

static int read_row(struct profile_reader *reader)
{
    struct vidur_row row;
    struct profile_row out = {0};
    int status = read_sizes(reader, &row);
    if (status == 0) status = find_llm(reader, &row, &out.group);
    out.tokens = row.sizes[TOKENS];
    for (int i = 0; status == 0 && i < VIDUR_OPS; i++) {
        double milliseconds;
        status = profile_number(reader, profile_column(reader, op_columns[i]), 0.0, &milliseconds);
        if (status < 0) break;
        const double kernels = i == ADD && row.parallel ? 2.0 : 1.0;
        out.measured_s = milliseconds * 1e-3 / kernels;
        out.call = call_of(&row, (enum vidur_op)i, &out.op);
        status = profile_add(reader, &out);
    }
    return status;
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "in-model";
    reader->profile->grouped_by = "llm";
    int status;
    while ((status = profile_next(reader)) > 0) {
        status = read_row(reader);
        if (status < 0) break;
    }
    return status;
}

const struct profile_format profile_vidur_dense = {"vidur-dense", recognise, read};
