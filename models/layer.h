/* The kernels that one iteration launches on one GPU: an LLM's shape, how it is split, and the work of a batch, turned
 * into kernel calls. Pure counting: what a call costs is kernel.h's business. */
#ifndef ORRERY_MODELS_LAYER_H
#define ORRERY_MODELS_LAYER_H

#include "models/iteration.h"
#include "models/kernel.h"
#include "models/transformer.h"

/* X(id, name as printed) */
#define LLM_OPERATORS(X)                                                                                               \
    X(OP_EMBEDDING, "embedding")                                                                                       \
    X(OP_NORM, "norm")                                                                                                 \
    X(OP_QKV, "qkv")                                                                                                   \
    X(OP_ROTARY, "rotary")                                                                                             \
    X(OP_KV_WRITE, "kv_write")                                                                                         \
    X(OP_PREFILL_ATTENTION, "prefill_attention")                                                                       \
    X(OP_DECODE_ATTENTION, "decode_attention")                                                                         \
    X(OP_OUT, "out")                                                                                                   \
    X(OP_UP, "up")                                                                                                     \
    X(OP_ACTIVATION, "activation")                                                                                     \
    X(OP_DOWN, "down")                                                                                                 \
    X(OP_RESIDUAL, "residual")                                                                                         \
    X(OP_ROUTER, "router")                                                                                             \
    X(OP_EXPERTS, "experts")                                                                                           \
    X(OP_ALL_REDUCE, "all_reduce")                                                                                     \
    X(OP_ALL_GATHER, "all_gather")                                                                                     \
    X(OP_REDUCE_SCATTER, "reduce_scatter")                                                                             \
    X(OP_ALL_TO_ALL, "all_to_all")                                                                                     \
    X(OP_SEND, "send")                                                                                                 \
    X(OP_HEAD, "head")

enum llm_operator {
#define LLM_OPERATOR_ENUM(id, name) id,
    LLM_OPERATORS(LLM_OPERATOR_ENUM)
#undef LLM_OPERATOR_ENUM
    LLM_OPERATOR_COUNT
};

const char *llm_operator_name(enum llm_operator op);

/* How one replica is split over GPUs. expert > 1: the experts lie whole on that many GPUs instead of each being cut;
 * it divides tensor. sequence: norms and residuals work on a share of the tokens, an all-reduce becomes a
 * reduce-scatter and an all-gather (Korthikanti et al. 2022). */
struct llm_split {
    int64_t tensor, pipeline, expert;
    bool sequence;
    int64_t gpus_per_node;      /* GPUs of a node; a group beyond it crosses the network */
    double network_bytes_per_s; /* per GPU and direction; unused inside a node */
};

/* What a call depends on, so that whoever repeats it knows when to compute it anew. */
enum kernel_driver { BY_TOKENS, BY_SEQUENCES, BY_PREFILL, BY_DECODE };

struct kernel_use {
    enum llm_operator op;
    enum kernel_driver driver;
    struct kernel_call call;
    double count; /* launches per iteration: once per layer of the stage, twice for most norms ... */
};

enum { LLM_MAX_USES = 40 };

/* Fills uses[LLM_MAX_USES] with what the fullest pipeline stage launches, in order of execution, and returns how many.
 * Calls without work (no prompt in the batch, ...) are left out. */
size_t llm_iteration_kernels(const struct llm_spec *llm, const struct llm_split *split, const struct gpu_spec *gpu,
                             const struct iteration_work *work, struct kernel_use uses[LLM_MAX_USES]);

#endif
