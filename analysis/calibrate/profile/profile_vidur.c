/* Vidur's profiles (microsoft/vidur, data/profiling), in milliseconds.
 *
 * compute/GPU/LLM/mlp.csv: one row per number of tokens and tensor-parallel degree, with the time of each operator of
 * one layer on one GPU, resolved to 1 us. The shape of the LLM stands in every row; numbers are 16 bits wide. The
 * embedding reads a row of its table per token and writes it. Norms are not fused with the residual sum. An LLM with
 * one norm per layer has attention and feed-forward side by side: its `add` is two sums, of both results and of these
 * with the residual, each of which counts as half the time.
 *
 * compute/GPU/LLM/attention.csv: one row per batch of chunks or of decoding sequences, on one GPU of a tensor-parallel
 * group. Vidur's own files also time the reshaping of inputs, and their kv_cache_size is what was processed before. The
 * FlashAttention kernel of the early ones took the time of all keys, masked ones included: the error of the law is 8 %
 * with these keys and 17 % without them. LLMServingSim's first profiler (casys-kaist/LLMServingSim, profiler/v0) kept
 * the columns but counts the chunk of a prompt in: a chunk alone and the same one in a layer without context take
 * equally long. Many of its decode rows read faster than the memory can, as their sequences shared blocks.
 *
 * network/TOPOLOGY/{all_reduce,send_recv}.csv: one row per rank, size in bytes, GPUs and GPUs of a node, of few
 * repetitions started by the host. All ranks of an operation end together: rank 0 is read. The links of bridged pairs
 * (a100_pairwise_nvlink) and between the pairs are those of the GPU's data sheet. Of the network between nodes only its
 * speed is known: eight GPUs of two A100 machines with a switch reach 22 GB/s. So A100 machines are taken to have one
 * adapter of 200 Gb/s each, H100 machines one of 400 Gb/s, which their GPUs share. Rows of fewer than four GPUs of a
 * node, which do not fill it, and those between nodes of other machines are left out. The name of the file states the
 * topology ("network__a100_dgx__all_reduce.csv"), its folders do not. */
#include "analysis/calibrate/profile/profile_format.h"
#include "sim/core/path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ms = 1e-3;

/* --- Dense operators --- */

/* Sizes, then times. Times other than that of the projection to queries, keys and values may be missing. */
enum {
    HEADS, KV_HEADS, HIDDEN, FFN, TOKENS, TENSOR, N_SIZES, GATED = N_SIZES, QKV, DENSE_REQUIRED, EMB = DENSE_REQUIRED,
    INPUT_NORM, ROPE, OUT, POST_NORM, UP, ACT, DOWN, ADD, DENSE_COLUMNS
};

static const struct sheet_column dense_columns[] = {
    [HEADS] = {"n_head", 1.0}, [KV_HEADS] = {"n_kv_head", 1.0}, [HIDDEN] = {"n_embd", 1.0},
    [FFN] = {"n_expanded_embd", 1.0}, [TOKENS] = {"num_tokens", 1.0}, [TENSOR] = {"num_tensor_parallel_workers", 1.0},
    [GATED] = {"use_gated_mlp", 0.0}, [QKV] = {"time_stats.attn_pre_proj.median", 0.0},
    [EMB] = {"time_stats.emb.median", 0.0}, [INPUT_NORM] = {"time_stats.input_layernorm.median", 0.0},
    [ROPE] = {"time_stats.attn_rope.median", 0.0}, [OUT] = {"time_stats.attn_post_proj.median", 0.0},
    [POST_NORM] = {"time_stats.post_attention_layernorm.median", 0.0}, [UP] = {"time_stats.mlp_up_proj.median", 0.0},
    [ACT] = {"time_stats.mlp_act.median", 0.0}, [DOWN] = {"time_stats.mlp_down_proj.median", 0.0},
    [ADD] = {"time_stats.add.median", 0.0}};

/* Operators by column of times, in the order of the rows of the profile. */
static const struct {
    int column;
    enum llm_operator op;
} dense_ops[] = {
    {EMB, OP_EMBEDDING}, {INPUT_NORM, OP_NORM}, {QKV, OP_QKV},        {ROPE, OP_ROTARY}, {OUT, OP_OUT},
    {POST_NORM, OP_NORM}, {UP, OP_UP},          {ACT, OP_ACTIVATION}, {DOWN, OP_DOWN},   {ADD, OP_RESIDUAL},
};

struct dense_row {
    double sizes[N_SIZES];
    bool gated;
    bool parallel; /* attention and feed-forward side by side: no second norm */
};

static struct kernel_call product(const struct dense_row *row, double n, double k)
{
    return (struct kernel_call){
        .class = KERNEL_GEMM,
        .shape.gemm = {.m = row->sizes[TOKENS], .n = n, .k = k, .weights = FORMAT_FP16, .compute = FORMAT_FP16}};
}

static struct kernel_call pass(const struct dense_row *row, enum kernel_class class, double width)
{
    return (struct kernel_call){
        .class = class, .shape.elementwise = {.tokens = row->sizes[TOKENS], .width = width, .number_bytes = 2.0}};
}

/* The call behind a column of times. */
static struct kernel_call call_of(const struct dense_row *row, int column)
{
    const double tensor = row->sizes[TENSOR], hidden = row->sizes[HIDDEN], ffn = row->sizes[FFN] / tensor;
    const double head_dim = hidden / row->sizes[HEADS], heads = row->sizes[HEADS], kv_heads = row->sizes[KV_HEADS];
    switch (column) {
    case EMB: return pass(row, KERNEL_EMBEDDING, 2.0 * hidden);
    case QKV: return product(row, (heads + 2.0 * kv_heads) * head_dim / tensor, hidden);
    case ROPE: return pass(row, KERNEL_ROTARY, 2.0 * (heads + kv_heads) * head_dim / tensor);
    case OUT: return product(row, hidden, hidden / tensor);
    case UP: return product(row, row->gated ? 2.0 * ffn : ffn, hidden);
    case ACT: return pass(row, KERNEL_ACTIVATION, row->gated ? 3.0 * ffn : 2.0 * ffn);
    case DOWN: return product(row, hidden, ffn);
    case ADD: return pass(row, KERNEL_RESIDUAL, 3.0 * hidden);
    default: return pass(row, KERNEL_NORM, 2.0 * hidden);
    }
}

/* Sets the group to the LLM's name: from the options, else the part between "__" in the file's name
 * (a100__Llama-2-7b__dense_ops.csv), else its shape. */
static int find_llm(struct profile_reader *reader, const struct dense_row *row, uint32_t *group)
{
    reader->profile->uses_llm = true;
    if (reader->options->llm != NULL) return profile_group(reader, group, "%s", reader->options->llm);
    const char *name = strstr(path_name(reader->profile->path), "__");
    const char *end = name != NULL ? strstr(name + 2, "__") : NULL;
    if (end != NULL) return profile_group(reader, group, "%.*s", (int)(end - name - 2), name + 2);
    return profile_group(reader, group, "hidden %g, ffn %g, heads %g/%g", row->sizes[HIDDEN], row->sizes[FFN],
                         row->sizes[HEADS], row->sizes[KV_HEADS]);
}

static int read_dense(struct profile_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    struct dense_row row;
    struct profile_row out = {0};
    int status = sheet_numbers(&reader->sheet, 0, N_SIZES, row.sizes);
    if (status < 0) return status;
    row.parallel = sheet_text(sheet, POST_NORM).n_chars == 0;
    row.gated = sheet_text_is(sheet, GATED, "True") || sheet_text_is(sheet, GATED, "true");
    status = find_llm(reader, &row, &out.group);
    out.tokens = row.sizes[TOKENS];
    for (size_t i = 0; status == 0 && i < sizeof dense_ops / sizeof *dense_ops; i++) {
        double milliseconds;
        const int column = dense_ops[i].column;
        status = sheet_number(&reader->sheet, column, 0.0, &milliseconds);
        if (status < 0) break;
        const double kernels = column == ADD && row.parallel ? 2.0 : 1.0;
        out.measured_s = milliseconds * ms / kernels;
        out.op = dense_ops[i].op;
        out.call = call_of(&row, column);
        status = profile_add(reader, &out);
    }
    return status;
}

const struct profile_format profile_vidur_dense = {
    .name = "vidur-dense", .set = "in-model", .grouped_by = "llm", .columns = dense_columns, .n_columns = DENSE_COLUMNS,
    .n_required = DENSE_REQUIRED, .read_row = read_dense};

/* --- Attention --- */

enum {
    ATTENTION_HIDDEN,
    ATTENTION_HEADS,
    ATTENTION_KV_HEADS,
    ATTENTION_TENSOR,
    ATTENTION_BATCH,
    ATTENTION_N_SIZES,
    ATTENTION_CHUNK = ATTENTION_N_SIZES,
    ATTENTION_CONTEXT,
    ATTENTION_PREFILL,
    ATTENTION_DECODE,
    ATTENTION_IS_PREFILL,
    ATTENTION_REQUIRED,
    ATTENTION_BACKEND = ATTENTION_REQUIRED,
    ATTENTION_RESHAPE, /* Vidur's own files */
    ATTENTION_COLUMNS
};

static const struct sheet_column attention_columns[] = {
    [ATTENTION_HIDDEN] = {"n_embd", 1.0}, [ATTENTION_HEADS] = {"n_q_head", 1.0},
    [ATTENTION_KV_HEADS] = {"n_kv_head", 1.0}, [ATTENTION_TENSOR] = {"num_tensor_parallel_workers", 1.0},
    [ATTENTION_BATCH] = {"batch_size", 1.0}, [ATTENTION_CHUNK] = {"prefill_chunk_size", 0.0},
    [ATTENTION_CONTEXT] = {"kv_cache_size", 0.0}, [ATTENTION_PREFILL] = {"time_stats.attn_prefill.median", 0.0},
    [ATTENTION_DECODE] = {"time_stats.attn_decode.median", 0.0}, [ATTENTION_IS_PREFILL] = {"is_prefill", 0.0},
    [ATTENTION_BACKEND] = {"attention_backend", 0.0},
    [ATTENTION_RESHAPE] = {"time_stats.attn_input_reshape.median", 0.0}};

static bool recognise_vidur(const struct profile_reader *reader)
{
    return sheet_has(&reader->sheet, ATTENTION_RESHAPE);
}

static int read_attention(struct profile_reader *reader)
{
    struct sheet *sheet = &reader->sheet;
    const bool is_prefill = sheet_text_is(sheet, ATTENTION_IS_PREFILL, "True");
    const bool chunk_counts = !sheet_has(sheet, ATTENTION_RESHAPE); /* in the context */
    double sizes[ATTENTION_N_SIZES], chunk, context, milliseconds;
    int status = sheet_numbers(sheet, 0, ATTENTION_N_SIZES, sizes);
    if (status == 0) status = sheet_number(sheet, ATTENTION_CHUNK, is_prefill ? 1.0 : 0.0, &chunk);
    if (status == 0) status = sheet_number(sheet, ATTENTION_CONTEXT, chunk_counts ? chunk : 0.0, &context);
    if (status == 0)
        status = sheet_number(sheet, is_prefill ? ATTENTION_PREFILL : ATTENTION_DECODE, 0.0, &milliseconds);
    if (status != 0) return status;
    const double query = sizes[ATTENTION_HEADS], tensor = sizes[ATTENTION_TENSOR], batch = sizes[ATTENTION_BATCH];
    const struct profile_heads heads = {
        .query = query / tensor, .kv = fmax(sizes[ATTENTION_KV_HEADS] / tensor, 1.0),
        .dim = sizes[ATTENTION_HIDDEN] / query, .kv_format = FORMAT_FP16, .compute = FORMAT_FP16};
    if (!is_prefill)
        return profile_add_decode(reader, &heads, &(struct profile_decodes){batch, context + 1.0, 0.0, 0.0},
                                  milliseconds * ms);
    const struct profile_chunks chunks = {
        .n = batch, .tokens = chunk, .past = chunk_counts ? context - chunk : context,
        .full = sheet_text_is(sheet, ATTENTION_BACKEND, "AttentionBackend.FLASH_ATTENTION")};
    return profile_add_prefill(reader, &heads, &chunks, milliseconds * ms);
}

/* Drops all decode rows of a file when most of them are faster than the memory: its sequences shared blocks. */
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
    dropped_add(profile->dropped, &profile->n_dropped, "decodes beside too many that are faster than the memory",
                decodes);
}

const struct profile_format profile_vidur_attention = {
    .name = "vidur-attention", .set = "in-model", .grouped_by = "heads", .columns = attention_columns,
    .n_columns = ATTENTION_COLUMNS, .n_required = ATTENTION_REQUIRED, .recognise = recognise_vidur,
    .read_row = read_attention, .finish = distrust_decodes};

const struct profile_format profile_llmservingsim_attention_v0 = {
    .name = "llmservingsim-attention-v0", .set = "in-model", .grouped_by = "heads", .columns = attention_columns,
    .n_columns = ATTENTION_COLUMNS, .n_required = ATTENTION_REQUIRED, .read_row = read_attention,
    .finish = distrust_decodes};

/* --- Collectives --- */

enum {
    NETWORK_SIZE, NETWORK_GPUS, NETWORK_PER_NODE, NETWORK_NAME, NETWORK_REQUIRED, NETWORK_RANK = NETWORK_REQUIRED,
    NETWORK_ALL_REDUCE, NETWORK_SEND, NETWORK_COLUMNS
};

static const struct sheet_column network_columns[] = {
    [NETWORK_SIZE] = {"size", 1.0}, [NETWORK_GPUS] = {"num_workers", 1.0},
    [NETWORK_PER_NODE] = {"devices_per_node", 1.0}, [NETWORK_NAME] = {"collective", 0.0},
    [NETWORK_RANK] = {"rank", 0.0}, [NETWORK_ALL_REDUCE] = {"time_stats.all_reduce.median", 0.0},
    [NETWORK_SEND] = {"time_stats.send_recv.median", 0.0}};

static const double min_gpus_at_adapter = 4.0;

static bool recognise_network(const struct profile_reader *reader)
{
    return sheet_has(&reader->sheet, NETWORK_ALL_REDUCE) || sheet_has(&reader->sheet, NETWORK_SEND);
}

/* Bandwidth of the adapter of a node, by the topology in the file's name; 0 when it is unknown. */
static double adapter_bytes_per_s(const char *path)
{
    const char *name = path_name(path);
    if (strstr(name, "a100_dgx") != NULL) return 25e9;
    return strstr(name, "h100_dgx") != NULL ? 50e9 : 0.0;
}

static const char *reason_to_drop(const struct sheet *sheet, const struct profile_row *row)
{
    const struct collective_shape *shape = &row->call.shape.collective;
    if (sheet_has(sheet, NETWORK_RANK) && !sheet_text_is(sheet, NETWORK_RANK, "0"))
        return "another rank of the same operation";
    if (!(shape->nodes > 1.0)) return NULL;
    if (!(shape->network_bytes_per_s > 0.0))
        return "between nodes, whose network the file's name (a100_dgx, h100_dgx) does not tell";
    if (row->call.class == KERNEL_SEND || shape->gpus / shape->nodes >= min_gpus_at_adapter) return NULL;
    return "too few GPUs of a node to fill its adapter";
}

static void set_links(const struct profile_reader *reader, double per_node, struct collective_shape *shape)
{
    const struct gpu_spec *gpu = reader->options->gpu;
    const int64_t gpus = (int64_t)(shape->gpus < per_node ? shape->gpus : per_node);
    shape->nodes = ceil(shape->gpus / per_node);
    collective_set_link(shape, gpu, gpus);
    shape->network_bytes_per_s = adapter_bytes_per_s(reader->profile->path) / per_node;
}

static int read_network(struct profile_reader *reader)
{
    struct sheet *sheet = &reader->sheet;
    const bool send = sheet_text_is(sheet, NETWORK_NAME, "send_recv");
    struct profile_row row = {.call.class = send ? KERNEL_SEND : KERNEL_ALL_REDUCE,
                              .op = send ? OP_SEND : OP_ALL_REDUCE};
    struct collective_shape *shape = &row.call.shape.collective;
    double values[NETWORK_COLUMNS], milliseconds = 0.0;
    int status = sheet_numbers(sheet, NETWORK_SIZE, NETWORK_NAME, values);
    if (status == 0)
        status = sheet_number(sheet, sheet_has(sheet, NETWORK_ALL_REDUCE) ? NETWORK_ALL_REDUCE : NETWORK_SEND, 0.0,
                              &milliseconds);
    if (status == 0) status = profile_group(reader, &row.group, "%.0f bytes", values[NETWORK_SIZE]);
    if (status < 0) return status;
    shape->bytes = values[NETWORK_SIZE];
    shape->gpus = values[NETWORK_GPUS];
    shape->nodes = (double)NAN;
    if (shape->gpus >= 1.0 && values[NETWORK_PER_NODE] >= 1.0) set_links(reader, values[NETWORK_PER_NODE], shape);
    row.measured_s = milliseconds * ms;
    const char *reason = reason_to_drop(sheet, &row);
    return reason != NULL ? profile_drop(reader, reason) : profile_add(reader, &row);
}

const struct profile_format profile_vidur_network = {
    .name = "vidur-network", .set = "in-model", .grouped_by = "size", .columns = network_columns,
    .n_columns = NETWORK_COLUMNS, .n_required = NETWORK_REQUIRED, .recognise = recognise_network,
    .read_row = read_network};
