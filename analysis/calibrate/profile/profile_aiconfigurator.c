/* aiconfigurator's tables of isolated kernels (ai-dynamo/aiconfigurator, systems/data), in milliseconds.
 *
 * gemm_perf: matrix products of one GPU by type and m, n, k. Of the types, bfloat16 and fp8 with a scale per row are
 * read; fp8 with a scale per block is another kernel, a third to two times slower.
 *
 * context_attention_perf, generation_attention_perf: calls of an engine's attention layer on one GPU, batches of equal
 * sequences. A row of one token (isl 1) after `step` others decodes; all others are prompts of isl tokens. The layer
 * also writes new keys and values into the cache. Prompts of less than 16 tokens take the decode kernels of some
 * engines and are left out.
 *
 * moe_perf: vLLM's fused kernels of a mixture-of-experts layer on the busiest GPU of those that share the experts.
 * Every GPU sees all tokens; their experts are chosen in turn (balanced) or by a power law (power_law_1.2). All layers
 * have a gate. Of the types, bfloat16, fp8 with a scale per tensor (fp8) or block (fp8_block) and int4 weights
 * (int4_wo) are read.
 *
 * nccl_perf: NCCL's operations by name, among the GPUs of one node. custom_allreduce_perf: vLLM's own all-reduce,
 * launched by a CUDA graph or by the host; rows launched by the host measure the host and are left out, as are messages
 * that vLLM hands to NCCL. In both, message_size counts numbers: rows of twice as many int8 as half take equally
 * long. */
#include "analysis/calibrate/profile/profile_format.h"

#include "sim/core/number.h"

#include <string.h>

static const double ms = 1e-3;

static const char unread_type[] = "type of numbers not read";

/* --- Products --- */

enum { GEMM_M, GEMM_N, GEMM_K, GEMM_LATENCY, GEMM_TYPE, GEMM_COLUMNS };

static const struct sheet_column gemm_columns[] = {
    [GEMM_M] = {"m", 1.0}, [GEMM_N] = {"n", 1.0}, [GEMM_K] = {"k", 1.0}, [GEMM_LATENCY] = {"latency", 0.0},
    [GEMM_TYPE] = {"gemm_dtype", 0.0}};

static int read_gemm(struct profile_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    const bool is_16_bit = sheet_text_is(sheet, GEMM_TYPE, "bfloat16") || sheet_text_is(sheet, GEMM_TYPE, "float16");
    if (!is_16_bit && !sheet_text_is(sheet, GEMM_TYPE, "fp8")) return profile_drop(reader, unread_type);
    const enum number_format format = is_16_bit ? FORMAT_BF16 : FORMAT_FP8;
    double values[GEMM_COLUMNS];
    int status = sheet_numbers(&reader->sheet, GEMM_M, GEMM_TYPE, values);
    if (status < 0) return status;
    struct profile_row row = {.call = {.class = is_16_bit ? KERNEL_GEMM : KERNEL_GEMM_FP8,
                                       .shape.gemm = {.m = values[GEMM_M], .n = values[GEMM_N], .k = values[GEMM_K],
                                                      .weights = format, .compute = format}},
                              .op = OP_UP,
                              .measured_s = ms * values[GEMM_LATENCY],
                              .tokens = values[GEMM_M]};
    status = profile_group(reader, &row.group, "n%g k%g", values[GEMM_N], values[GEMM_K]);
    return status == 0 ? profile_add(reader, &row) : status;
}

const struct profile_format profile_aiconfigurator_gemm = {
    .name = "aiconfigurator-gemm", .set = "isolated", .grouped_by = "shape", .columns = gemm_columns,
    .n_columns = GEMM_COLUMNS, .n_required = GEMM_COLUMNS, .read_row = read_gemm};

/* --- Attention --- */

enum {
    ATTENTION_BATCH, ATTENTION_TOKENS, ATTENTION_STEP, ATTENTION_HEADS, ATTENTION_KV_HEADS, ATTENTION_DIM,
    ATTENTION_LATENCY, ATTENTION_TYPE, ATTENTION_KV_TYPE, ATTENTION_COLUMNS
};

static const struct sheet_column attention_columns[] = {
    [ATTENTION_BATCH] = {"batch_size", 1.0}, [ATTENTION_TOKENS] = {"isl", 1.0}, [ATTENTION_STEP] = {"step", 0.0},
    [ATTENTION_HEADS] = {"num_heads", 1.0}, [ATTENTION_KV_HEADS] = {"num_key_value_heads", 1.0},
    [ATTENTION_DIM] = {"head_dim", 1.0}, [ATTENTION_LATENCY] = {"latency", 0.0}, [ATTENTION_TYPE] = {"attn_dtype", 0.0},
    [ATTENTION_KV_TYPE] = {"kv_cache_dtype", 0.0}};

static const double min_prompt_tokens = 16.0;

/* Sets *format; false for a type that is not read. */
static bool read_format(const struct sheet *sheet, int column, enum number_format *format)
{
    if (sheet_text_is(sheet, column, "bfloat16"))
        *format = FORMAT_BF16;
    else if (sheet_text_is(sheet, column, "float16"))
        *format = FORMAT_FP16;
    else if (sheet_text_is(sheet, column, "fp8"))
        *format = FORMAT_FP8;
    else
        return false;
    return true;
}

static int read_attention(struct profile_reader *reader)
{
    struct profile_heads heads = {.writes_kv = true};
    double values[ATTENTION_COLUMNS];
    const int status = sheet_numbers(&reader->sheet, ATTENTION_BATCH, ATTENTION_TYPE, values);
    if (status < 0) return status;
    if (!read_format(&reader->sheet, ATTENTION_TYPE, &heads.compute) ||
        !read_format(&reader->sheet, ATTENTION_KV_TYPE, &heads.kv_format))
        return profile_drop(reader, unread_type);
    heads.query = values[ATTENTION_HEADS];
    heads.kv = values[ATTENTION_KV_HEADS];
    heads.dim = values[ATTENTION_DIM];
    const double batch = values[ATTENTION_BATCH], tokens = values[ATTENTION_TOKENS], step = values[ATTENTION_STEP];
    const double seconds = ms * values[ATTENTION_LATENCY];
    if (tokens == 1.0 && step > 0.0)
        return profile_add_decode(reader, &heads, &(struct profile_decodes){batch, tokens + step, 0.0}, seconds);
    const struct profile_chunks chunks = {.n = batch, .tokens = tokens, .past = step};
    if (tokens >= min_prompt_tokens) return profile_add_prefill(reader, &heads, &chunks, seconds);
    return profile_drop(reader, "a prompt of less than 16 tokens");
}

const struct profile_format profile_aiconfigurator_attention = {
    .name = "aiconfigurator-attention", .set = "isolated", .grouped_by = "heads", .columns = attention_columns,
    .n_columns = ATTENTION_COLUMNS, .n_required = ATTENTION_COLUMNS, .read_row = read_attention};

/* --- Experts --- */

enum {
    MOE_TOKENS, MOE_HIDDEN, MOE_INNER, MOE_CHOSEN, MOE_EXPERTS, MOE_TENSOR, MOE_EXPERT, MOE_LATENCY, MOE_TYPE,
    MOE_DISTRIBUTION, MOE_COLUMNS
};

static const struct sheet_column moe_columns[] = {
    [MOE_TOKENS] = {"num_tokens", 1.0}, [MOE_HIDDEN] = {"hidden_size", 1.0}, [MOE_INNER] = {"inter_size", 1.0},
    [MOE_CHOSEN] = {"topk", 1.0}, [MOE_EXPERTS] = {"num_experts", 1.0}, [MOE_TENSOR] = {"moe_tp_size", 1.0},
    [MOE_EXPERT] = {"moe_ep_size", 1.0}, [MOE_LATENCY] = {"latency", 0.0}, [MOE_TYPE] = {"moe_dtype", 0.0},
    [MOE_DISTRIBUTION] = {"distribution", 0.0}};

/* Sets class and formats; false for a type that is not read. */
static bool find_moe_class(const struct sheet *sheet, struct kernel_call *call)
{
    static const struct {
        const char *name;
        enum kernel_class class;
        enum number_format weights, compute;
    } types[] = {
        {"bfloat16", KERNEL_MOE, FORMAT_BF16, FORMAT_BF16},
        {"fp8", KERNEL_MOE_FP8_TENSOR, FORMAT_FP8, FORMAT_FP8},
        {"fp8_block", KERNEL_MOE_FP8, FORMAT_FP8, FORMAT_FP8},
        {"int4_wo", KERNEL_MOE_INT4, FORMAT_INT4, FORMAT_BF16},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!sheet_text_is(sheet, MOE_TYPE, types[i].name)) continue;
        call->class = types[i].class;
        call->shape.moe.weights = types[i].weights;
        call->shape.moe.compute = types[i].compute;
        return true;
    }
    return false;
}

/* Sets the distribution of tokens over experts; false for an unknown one. */
static bool find_choice(const struct sheet *sheet, struct moe_shape *shape)
{
    static const char law[] = "power_law_";
    const size_t n_law = sizeof law - 1;
    const struct csv_field field = sheet_text(sheet, MOE_DISTRIBUTION);
    shape->in_turn = sheet_text_is(sheet, MOE_DISTRIBUTION, "balanced");
    if (shape->in_turn) return true;
    return field.n_chars > n_law && memcmp(field.chars, law, n_law) == 0 &&
           number_f64(field.chars + n_law, field.n_chars - n_law, &shape->skew) == NUMBER_OK && shape->skew > 0.0;
}

static int read_moe(struct profile_reader *reader)
{
    struct profile_row row = {.op = OP_EXPERTS};
    struct moe_shape *shape = &row.call.shape.moe;
    if (!find_moe_class(&reader->sheet, &row.call)) return profile_drop(reader, unread_type);
    if (!find_choice(&reader->sheet, shape)) return profile_drop(reader, "choice of experts not known");
    double values[MOE_COLUMNS];
    int status = sheet_numbers(&reader->sheet, MOE_TOKENS, MOE_TYPE, values);
    if (status < 0) return status;
    shape->tokens = values[MOE_TOKENS];
    shape->hidden = values[MOE_HIDDEN];
    shape->inner = values[MOE_INNER] / values[MOE_TENSOR];
    shape->chosen = values[MOE_CHOSEN];
    shape->experts = values[MOE_EXPERTS];
    shape->held = values[MOE_EXPERTS] / values[MOE_EXPERT];
    shape->matrices = 3.0;
    row.measured_s = values[MOE_LATENCY] * ms;
    row.tokens = shape->tokens;
    status = profile_group(reader, &row.group, "%g of %g experts of %g x %g, tp %g, ep %g", shape->chosen,
                           shape->experts, shape->hidden, values[MOE_INNER], values[MOE_TENSOR], values[MOE_EXPERT]);
    return status == 0 ? profile_add(reader, &row) : status;
}

const struct profile_format profile_aiconfigurator_moe = {
    .name = "aiconfigurator-moe", .set = "isolated", .grouped_by = "shape", .columns = moe_columns,
    .n_columns = MOE_COLUMNS, .n_required = MOE_COLUMNS, .read_row = read_moe};

/* --- Collectives --- */

enum {
    COLLECTIVE_SIZE,
    COLLECTIVE_GPUS,
    COLLECTIVE_LATENCY,
    COLLECTIVE_REQUIRED,
    COLLECTIVE_NAME = COLLECTIVE_REQUIRED, /* nccl_perf */
    COLLECTIVE_TYPE,
    COLLECTIVE_CUSTOM_TYPE, /* custom_allreduce_perf */
    COLLECTIVE_BACKEND,
    COLLECTIVE_COLUMNS
};

static const struct sheet_column collective_columns[] = {
    [COLLECTIVE_SIZE] = {"message_size", 1.0}, [COLLECTIVE_GPUS] = {"num_gpus", 1.0},
    [COLLECTIVE_LATENCY] = {"latency", 0.0}, [COLLECTIVE_NAME] = {"op_name", 0.0},
    [COLLECTIVE_TYPE] = {"nccl_dtype", 0.0}, [COLLECTIVE_CUSTOM_TYPE] = {"allreduce_dtype", 0.0},
    [COLLECTIVE_BACKEND] = {"backend", 0.0}};

static const double direct_max_bytes = 8 * 1024 * 1024;

static bool is_custom(const struct sheet *sheet)
{
    return !sheet_has(sheet, COLLECTIVE_NAME);
}

static bool recognise_collectives(const struct profile_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    return (sheet_has(sheet, COLLECTIVE_NAME) && sheet_has(sheet, COLLECTIVE_TYPE)) ||
           (sheet_has(sheet, COLLECTIVE_BACKEND) && sheet_has(sheet, COLLECTIVE_CUSTOM_TYPE));
}

/* Sets class and operator; false for an unknown operation. */
static bool find_operation(const struct sheet *sheet, struct profile_row *row)
{
    static const struct {
        const char *name;
        enum kernel_class class;
        enum llm_operator op;
    } operations[] = {
        {"all_reduce", KERNEL_ALL_REDUCE, OP_ALL_REDUCE},
        {"all_gather", KERNEL_ALL_GATHER, OP_ALL_GATHER},
        {"reduce_scatter", KERNEL_REDUCE_SCATTER, OP_REDUCE_SCATTER},
        {"alltoall", KERNEL_ALL_TO_ALL, OP_ALL_TO_ALL},
    };
    row->call.class = KERNEL_DIRECT_ALL_REDUCE;
    row->op = OP_ALL_REDUCE;
    if (is_custom(sheet)) return true;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!sheet_text_is(sheet, COLLECTIVE_NAME, operations[i].name)) continue;
        row->call.class = operations[i].class;
        row->op = operations[i].op;
        return true;
    }
    return false;
}

/* Why the row is left out; NULL: it is not. */
static const char *reason_to_drop(const struct sheet *sheet, double bytes)
{
    if (!is_custom(sheet)) return NULL;
    if (!sheet_text_is(sheet, COLLECTIVE_BACKEND, "vllm_graph")) return "launched by the host";
    return bytes >= direct_max_bytes ? "not done by the custom kernel" : NULL;
}

static int read_collective(struct profile_reader *reader)
{
    const struct gpu_spec *gpu = reader->options->gpu;
    struct profile_row row = {.tokens = 0.0};
    if (!find_operation(&reader->sheet, &row)) return profile_drop(reader, "operation not read");
    double values[COLLECTIVE_COLUMNS];
    int status = sheet_numbers(&reader->sheet, COLLECTIVE_SIZE, COLLECTIVE_REQUIRED, values);
    if (status < 0) return status;
    if (!(values[COLLECTIVE_GPUS] >= 1.0)) return profile_drop(reader, "no number of GPUs");
    const int64_t gpus = (int64_t)values[COLLECTIVE_GPUS];
    const bool is_int8 = sheet_text_is(&reader->sheet, COLLECTIVE_TYPE, "int8");
    const double bytes = values[COLLECTIVE_SIZE] * number_format_bytes(is_int8 ? FORMAT_INT8 : FORMAT_FP16);
    struct collective_shape *shape = &row.call.shape.collective;
    shape->bytes = bytes;
    shape->gpus = values[COLLECTIVE_GPUS];
    shape->nodes = 1.0;
    collective_set_link(shape, gpu, gpus);
    shape->switch_adds &= !is_int8;
    row.measured_s = values[COLLECTIVE_LATENCY] * ms;
    const char *reason = reason_to_drop(&reader->sheet, bytes);
    if (reason != NULL) return profile_drop(reader, reason);
    status = profile_group(reader, &row.group, "%.0f bytes", bytes);
    return status == 0 ? profile_add(reader, &row) : status;
}

const struct profile_format profile_nccl = {
    .name = "aiconfigurator-collectives", .set = "isolated", .grouped_by = "size", .columns = collective_columns,
    .n_columns = COLLECTIVE_COLUMNS, .n_required = COLLECTIVE_REQUIRED, .recognise = recognise_collectives,
    .read_row = read_collective};
