/* LLMServingSim's first profiles of layers (casys-kaist/LLMServingSim, profiler/v0/perf_models): every module of a
 * Hugging Face LLM on one GPU of a tensor-parallel group, for prompts of 1 to 2048 tokens without context, in
 * nanoseconds.
 *
 * Projections are not fused: queries, keys and values, gate and up, and the matrices of one expert stand apart. Norms,
 * rotary embedding, activation and router run as several kernels each, which no operator here does: they are left out. */
#include "analysis/calibrate/profile/profile_llm.h"

/* How a module relates to an operator of models/layer.h. */
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

enum { MODULES = sizeof modules / sizeof *modules };

/* What the rows of a file share. */
struct layers_file {
    struct profile_llm llm;
    uint32_t group;
    int name, input, tensor, time_ns; /* columns */
};

static bool recognise(const struct profile_reader *reader)
{
    static const char *const columns[] = {"layer_name", "input", "tp_size", "latency(ns)", NULL};
    return profile_has_columns(reader, columns);
}

static const struct module *find_module(const struct profile_reader *reader, int column)
{
    for (int i = 0; i < MODULES; i++)
        if (profile_text_is(reader, column, modules[i].name)) return &modules[i];
    return NULL;
}

/* A product with one matrix of one expert: of the form of the output projection, in another shape. */
static bool expert_call(const struct profile_llm *llm, enum part part, int64_t tokens, struct kernel_call *call)
{
    const double hidden = (double)llm->spec.hidden, inner = llm->shard.expert_ffn;
    if (llm->spec.experts == 0 || !profile_llm_call(llm, OP_OUT, tokens, call)) return false;
    call->shape.gemm.n = part == EXPERT_IN ? inner : hidden;
    call->shape.gemm.k = part == EXPERT_IN ? hidden : inner;
    return true;
}

/* The call of a module: an operator of models/operators/layer.h or a part of one. False when the LLM has none. */
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

/* Why a row cannot stand for a kernel call, NULL when it can. */
static const char *reason_to_drop(const struct profile_llm *llm, const struct module *module, double tokens)
{
    const double window = (double)llm->spec.sliding_window;
    if (module == NULL) return "not an operator of the LLM";
    if (module->part == SEVERAL_KERNELS) return "several kernels";
    if (module->op == OP_PREFILL_ATTENTION && window > 0.0 && tokens > window) return "attention beyond the window";
    return NULL;
}

static int add_row(struct profile_reader *reader, const struct layers_file *file, struct profile_row *row)
{
    const struct module *module = find_module(reader, file->name);
    const char *reason = reason_to_drop(&file->llm, module, row->tokens);
    if (reason == NULL && !module_call(&file->llm, module, (int64_t)row->tokens, &row->call))
        reason = "not an operator of the LLM";
    if (reason != NULL) {
        profile_drop(reader->profile, reason, 1);
        return 0;
    }
    row->op = module->op;
    return profile_add(reader, row);
}

static int read_row(struct profile_reader *reader, struct layers_file *file)
{
    struct profile_row row = {.group = file->group};
    double tensor, nanoseconds;
    int status = profile_number(reader, file->input, 1.0, &row.tokens);
    if (status == 0) status = profile_number(reader, file->tensor, 1.0, &tensor);
    if (status == 0) status = profile_number(reader, file->time_ns, 0.0, &nanoseconds);
    if (status == 0 && (int64_t)tensor != file->llm.split.tensor)
        status = profile_llm_split(reader, &file->llm, (int64_t)tensor);
    if (status < 0) return status;
    row.measured_s = nanoseconds * 1e-9;
    return add_row(reader, file, &row);
}

static int read(struct profile_reader *reader)
{
    struct layers_file file = {.name = profile_column(reader, "layer_name"),
                               .input = profile_column(reader, "input"),
                               .tensor = profile_column(reader, "tp_size"),
                               .time_ns = profile_column(reader, "latency(ns)")};
    reader->profile->set = "in-model";
    reader->profile->grouped_by = "llm";
    int status = profile_llm_find(reader, &file.llm);
    if (status == 0) status = profile_group(reader, &file.group, "%s", file.llm.spec.name);
    while (status == 0 && (status = profile_next(reader)) > 0) status = read_row(reader, &file);
    return status;
}

const struct profile_format profile_llmservingsim_layers = {"llmservingsim-layers", recognise, read};
