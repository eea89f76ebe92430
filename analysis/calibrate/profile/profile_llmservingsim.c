/* LLMServingSim's profiles of vLLM's layers on one GPU (casys-kaist/LLMServingSim).
 *
 * The current profiler (profiler/perf/GPU/LLM/bf16/tp1) writes microseconds:
 *   dense.csv, per_sequence.csv: dense operators by number of tokens, or of sequences. The norm of a layer is fused
 *     with the residual sum before it and stands for both.
 *   attention.csv: the attention of one layer over a chunk of a prompt on top of kv_prefill tokens, or over n_decode
 *     sequences with kv_decode tokens each before the new one. New keys and values are written into the cache within
 *     the call. In rows with both, one kernel serves prompt and sequences together.
 *   skew.csv: attention over sequences of two lengths: n sequences that decode, nb of which have kv_big tokens before
 *     the new one and the others kvs, kv_mean on average, alone or in one launch with a chunk of pc tokens of a prompt
 *     on top of kp. t_skew_us is the time of three launches.
 *
 * The first profiler (profiler/v0/perf_models) wrote nanoseconds: every module of a Hugging Face LLM on one GPU of a
 * tensor-parallel group, for prompts of 1 to 2048 tokens without context. Projections are not fused: queries, keys and
 * values, gate and up, and the matrices of one expert stand apart. Norms, rotary embedding, activation and router run
 * as several kernels each, which no operator here does: they are left out. Its attention is in Vidur's form. */
#include "analysis/calibrate/profile/profile_format.h"

static const char no_operator[] = "not an operator of the LLM";

/* Numbers that choose the call of a row must be there: an empty field is NaN, which no integer is. */
static bool is_count(double value)
{
    return value >= 1.0;
}

/* Common to the rows of a file. */
struct llm_file {
    struct profile_llm llm;
    uint32_t group;
};

static int begin_llm(struct profile_reader *reader)
{
    struct llm_file *file = arena_alloc(reader->sheet.arena, sizeof *file);
    reader->state = file;
    if (file == NULL) return diag_nomem(reader->sheet.diag);
    const int status = profile_llm_find(reader, &file->llm);
    return status == 0 ? profile_group(reader, &file->group, "%s", file->llm.spec.name) : status;
}

/* --- Dense operators --- */

enum { DENSE_TIME, DENSE_LAYER, DENSE_REQUIRED, DENSE_TOKENS = DENSE_REQUIRED, DENSE_SEQUENCES, DENSE_COLUMNS };

static const struct sheet_column dense_columns[] = {
    [DENSE_TIME] = {"time_us", 0.0},
    [DENSE_LAYER] = {"layer", 0.0},
    [DENSE_TOKENS] = {"tokens", 1.0},       /* dense.csv */
    [DENSE_SEQUENCES] = {"sequences", 1.0}, /* per_sequence.csv */
};

static const struct {
    const char *layer;
    enum llm_operator op;
} layers[] = {
    {"embedding", OP_EMBEDDING}, {"layernorm", OP_NORM},   {"qkv_proj", OP_QKV},     {"rotary_emb", OP_ROTARY},
    {"o_proj", OP_OUT},          {"gate_up_proj", OP_UP},  {"act_fn", OP_ACTIVATION}, {"down_proj", OP_DOWN},
    {"final_layernorm", OP_NORM}, {"lm_head", OP_HEAD},    {"sampler", OP_SAMPLING},
};

static bool recognise_dense(const struct profile_reader *reader)
{
    return sheet_has(&reader->sheet, DENSE_TOKENS) || sheet_has(&reader->sheet, DENSE_SEQUENCES);
}

/* Sets the operator of the current row; false for an unknown layer. */
static bool find_op(const struct sheet *sheet, enum llm_operator *op)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        if (!sheet_text_is(sheet, DENSE_LAYER, layers[i].layer)) continue;
        *op = layers[i].op;
        return true;
    }
    return false;
}

static int read_dense(struct profile_reader *reader)
{
    const struct llm_file *file = reader->state;
    const int size = sheet_has(&reader->sheet, DENSE_TOKENS) ? DENSE_TOKENS : DENSE_SEQUENCES;
    struct profile_row row = {.group = file->group};
    double microseconds = 0.0;
    int status = sheet_number(&reader->sheet, size, 1.0, &row.tokens);
    if (status == 0) status = sheet_number(&reader->sheet, DENSE_TIME, 0.0, &microseconds);
    if (status < 0) return status;
    row.measured_s = microseconds * 1e-6;
    if (!is_count(row.tokens)) return profile_drop(reader, profile_no_shape);
    if (find_op(&reader->sheet, &row.op) && profile_llm_call(&file->llm, row.op, (int64_t)row.tokens, &row.call))
        return profile_add(reader, &row);
    return profile_drop(reader, no_operator);
}

const struct profile_format profile_llmservingsim_dense = {
    .name = "llmservingsim-dense", .set = "in-model", .grouped_by = "llm", .columns = dense_columns,
    .n_columns = DENSE_COLUMNS, .n_required = DENSE_REQUIRED, .recognise = recognise_dense, .begin = begin_llm,
    .read_row = read_dense};

/* --- Attention --- */

enum { CHUNK_TOKENS, CHUNK_PAST, CHUNK_DECODES, CHUNK_CONTEXT, CHUNK_TIME, CHUNK_COLUMNS };

static const struct sheet_column chunk_columns[] = {
    [CHUNK_TOKENS] = {"prefill_chunk", 0.0}, [CHUNK_PAST] = {"kv_prefill", 0.0}, [CHUNK_DECODES] = {"n_decode", 0.0},
    [CHUNK_CONTEXT] = {"kv_decode", 0.0}, [CHUNK_TIME] = {"time_us", 0.0}};

enum { SKEW_TOKENS, SKEW_PAST, SKEW_DECODES, SKEW_MEAN, SKEW_LONGEST, SKEW_TIME, SKEW_LONG, SKEW_SHORT, SKEW_COLUMNS };

static const struct sheet_column skew_columns[] = {
    [SKEW_TOKENS] = {"pc", 0.0}, [SKEW_PAST] = {"kp", 0.0}, [SKEW_DECODES] = {"n", 0.0}, [SKEW_MEAN] = {"kv_mean", 0.0},
    [SKEW_LONGEST] = {"kv_big", 0.0}, [SKEW_TIME] = {"t_skew_us", 0.0}, [SKEW_LONG] = {"nb", 0.0},
    [SKEW_SHORT] = {"kvs", 0.0}};

/* measurement_iterations in meta.yaml beside skew.csv; t_mean_us and attention.csv differ by this factor */
static const double skew_launches = 3.0;

static int begin_heads(struct profile_reader *reader)
{
    struct profile_heads *heads = arena_alloc(reader->sheet.arena, sizeof *heads);
    struct profile_llm llm;
    reader->state = heads;
    if (heads == NULL) return diag_nomem(reader->sheet.diag);
    const int status = profile_llm_find(reader, &llm);
    if (status < 0) return status;
    *heads = (struct profile_heads){llm.shard.q_heads, llm.shard.kv_heads, (double)llm.spec.head_dim, llm.spec.kv,
                                    llm.spec.compute, .writes_kv = true};
    return 0;
}

/* Adds a launch over a chunk of a prompt, decoding sequences, or both. */
static int add_launch(struct profile_reader *reader, const struct profile_chunks *chunks, double seconds)
{
    if (chunks->tokens > 0.0) return profile_add_prefill(reader, reader->state, chunks, seconds);
    if (chunks->decodes.n > 0.0) return profile_add_decode(reader, reader->state, &chunks->decodes, seconds);
    return profile_drop(reader, "empty batch");
}

static int read_chunk(struct profile_reader *reader)
{
    double values[CHUNK_COLUMNS];
    const int status = sheet_numbers(&reader->sheet, 0, CHUNK_COLUMNS, values);
    if (status < 0) return status;
    const double sequences = values[CHUNK_DECODES];
    const struct profile_decodes decodes = {sequences, sequences > 0.0 ? values[CHUNK_CONTEXT] + 1.0 : 0.0, 0.0, 0.0};
    const struct profile_chunks chunks = {
        .n = 1.0, .tokens = values[CHUNK_TOKENS], .past = values[CHUNK_PAST], .decodes = decodes};
    return add_launch(reader, &chunks, values[CHUNK_TIME] * 1e-6);
}

static int read_skew(struct profile_reader *reader)
{
    double values[SKEW_COLUMNS];
    const int status = sheet_numbers(&reader->sheet, SKEW_TOKENS, SKEW_LONG, values);
    if (status < 0) return status;
    if (!(values[SKEW_DECODES] > 0.0)) return profile_drop(reader, "empty batch");
    const struct profile_decodes decodes = {values[SKEW_DECODES], values[SKEW_MEAN] + 1.0, values[SKEW_LONGEST] + 1.0,
                                            0.0};
    const struct profile_chunks chunks = {
        .n = 1.0, .tokens = values[SKEW_TOKENS], .past = values[SKEW_PAST], .decodes = decodes};
    return add_launch(reader, &chunks, values[SKEW_TIME] * 1e-6 / skew_launches);
}

const struct profile_format profile_llmservingsim_attention = {
    .name = "llmservingsim-attention", .set = "in-model", .grouped_by = "heads", .columns = chunk_columns,
    .n_columns = CHUNK_COLUMNS, .n_required = CHUNK_COLUMNS, .begin = begin_heads, .read_row = read_chunk};

const struct profile_format profile_llmservingsim_skew = {
    .name = "llmservingsim-skew", .set = "in-model", .grouped_by = "heads", .columns = skew_columns,
    .n_columns = SKEW_COLUMNS, .n_required = SKEW_COLUMNS, .begin = begin_heads, .read_row = read_skew};

/* --- Modules, by the first profiler --- */

enum { MODULE_INPUT, MODULE_TENSOR, MODULE_TIME, MODULE_NAME, MODULE_COLUMNS };

static const struct sheet_column module_columns[] = {
    [MODULE_INPUT] = {"input", 1.0}, [MODULE_TENSOR] = {"tp_size", 1.0}, [MODULE_TIME] = {"latency(ns)", 0.0},
    [MODULE_NAME] = {"layer_name", 0.0}};

/* How a module relates to an operator of models/operators/layer.h. */
enum part { WHOLE, QUERIES, KEYS, HALF, EXPERT_IN, EXPERT_OUT, SEVERAL_KERNELS };

struct module {
    const char *name;
    enum llm_operator op;
    enum part part;
};

static const struct module modules[] = {
    {"embedding", OP_EMBEDDING, WHOLE},
    {"q_proj", OP_QKV, QUERIES},
    {"k_proj", OP_QKV, KEYS},
    {"v_proj", OP_QKV, KEYS},
    {"attn", OP_PREFILL_ATTENTION, WHOLE},
    {"o_proj", OP_OUT, WHOLE},
    {"gate_proj", OP_UP, HALF},
    {"up_proj", OP_UP, HALF},
    {"down_proj", OP_DOWN, WHOLE},
    {"expert.w1", OP_UP, EXPERT_IN},
    {"expert.w2", OP_DOWN, EXPERT_OUT},
    {"expert.w3", OP_UP, EXPERT_IN},
    {"lm_head", OP_HEAD, WHOLE},
    {"input_layernorm", OP_NORM, SEVERAL_KERNELS},
    {"post_layernorm", OP_NORM, SEVERAL_KERNELS},
    {"final_layernorm", OP_NORM, SEVERAL_KERNELS},
    {"rope", OP_ROTARY, SEVERAL_KERNELS},
    {"act_fn", OP_ACTIVATION, SEVERAL_KERNELS},
    {"gate", OP_ROUTER, SEVERAL_KERNELS},
};

static const struct module *find_module(const struct sheet *sheet)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (sheet_text_is(sheet, MODULE_NAME, modules[i].name)) return &modules[i];
    return NULL;
}

/* The product with one matrix of one expert: the output projection with another shape. */
static bool expert_call(const struct profile_llm *llm, enum part part, int64_t tokens, struct kernel_call *call)
{
    const double hidden = (double)llm->spec.hidden, inner = llm->shard.expert_ffn;
    if (llm->spec.experts == 0 || !profile_llm_call(llm, OP_OUT, tokens, call)) return false;
    call->shape.gemm.n = part == EXPERT_IN ? inner : hidden;
    call->shape.gemm.k = part == EXPERT_IN ? hidden : inner;
    return true;
}

/* The call of a module: an operator of models/operators/layer.h or a part of one. False when the LLM lacks it. */
static bool module_call(const struct profile_llm *llm, const struct module *module, int64_t tokens,
                        struct kernel_call *call)
{
    const double head_dim = (double)llm->spec.head_dim;
    if (module->part == EXPERT_IN || module->part == EXPERT_OUT) return expert_call(llm, module->part, tokens, call);
    if (!profile_llm_call(llm, module->op, tokens, call)) return false;
    if (module->part == QUERIES) call->shape.gemm.n = llm->shard.q_heads * head_dim;
    if (module->part == KEYS) call->shape.gemm.n = llm->shard.kv_heads * head_dim;
    if (module->part == HALF) call->shape.gemm.n *= 0.5;
    return module->part != HALF || llm->spec.gated_ffn;
}

/* Why a row is left out; NULL: it is not. */
static const char *reason_to_drop(const struct profile_llm *llm, const struct module *module, double tokens)
{
    const double window = (double)llm->spec.sliding_window;
    if (module == NULL) return no_operator;
    if (module->part == SEVERAL_KERNELS) return "several kernels";
    if (module->op == OP_PREFILL_ATTENTION && window > 0.0 && tokens > window) return "attention beyond the window";
    return NULL;
}

static int read_module(struct profile_reader *reader)
{
    struct llm_file *file = reader->state;
    struct profile_row row = {.group = file->group};
    double values[MODULE_COLUMNS];
    int status = sheet_numbers(&reader->sheet, MODULE_INPUT, MODULE_NAME, values);
    if (status == 0 && !(is_count(values[MODULE_TENSOR]) && is_count(values[MODULE_INPUT])))
        return profile_drop(reader, profile_no_shape);
    if (status == 0 && (int64_t)values[MODULE_TENSOR] != file->llm.split.tensor)
        status = profile_llm_split(reader, &file->llm, (int64_t)values[MODULE_TENSOR]);
    if (status < 0) return status;
    row.tokens = values[MODULE_INPUT];
    row.measured_s = values[MODULE_TIME] * 1e-9;
    const struct module *module = find_module(&reader->sheet);
    const char *reason = reason_to_drop(&file->llm, module, row.tokens);
    if (reason == NULL && !module_call(&file->llm, module, (int64_t)row.tokens, &row.call)) reason = no_operator;
    if (reason != NULL) return profile_drop(reader, reason);
    row.op = module->op;
    return profile_add(reader, &row);
}

const struct profile_format profile_llmservingsim_layers = {
    .name = "llmservingsim-layers", .set = "in-model", .grouped_by = "llm", .columns = module_columns,
    .n_columns = MODULE_COLUMNS, .n_required = MODULE_COLUMNS, .begin = begin_llm, .read_row = read_module};
