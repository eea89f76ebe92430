/* The kernels that one iteration launches on one GPU: turns an LLM's shape, its split and the work of a batch into
 * kernel calls. kernel.h gives their times.
 *
 * All tokens of a batch go through one matrix product per projection (gate and up merged, so are queries, keys and
 * values); prompts and decoding sequences attend apart; the head runs once per prompt, and once per token of a sequence
 * that decodes: its newest and its drafts (speculation). Each part's format decides its kernels (weight_kernels.h). The
 * router, gates, linear attention's decay and strength, and an indexer's weights of heads have that of computing.
 *
 * Latent attention: prompts expand the latent vectors into keys and values of every head (the earlier ones of a chunked
 * prompt again with each chunk); decoding sequences attend over the latent vectors as over one head of keys that are
 * values too, with the expansion's halves multiplied into queries and results (DeepSeek-V2, 2024).
 *
 * Sparse attention: every indexer scores all earlier tokens for each query, in 8 bits. The scores are written, and the
 * choice reads them again. Prompts and decoding sequences then attend over the latent vectors that each query chose,
 * with one head of keys, in rows of 64 query heads at least (FlashMLA). So nothing is expanded.
 *
 * Linear attention (Gated DeltaNet): one product makes queries, keys, values and gates, another the decay and strength
 * of each head. Then come a convolution with its activation, the gated delta rule, a norm with the gate, and the
 * output projection. Decoding reads and writes the states of its sequences, and writes those of each draft. Prompts go
 * in chunks of 64 tokens, with their products and the states between them (Yang et al., 2024, "Parallelizing Linear
 * Transformers with the Delta Rule").
 *
 * Numbers that an element-wise operator reads and writes per row: norm 2 hidden (of queries and keys twice the width of
 * their heads), rotary 2 (q_heads + kv_heads) head_dim, activation 3 ffn with a gate and 2 ffn without, residual 3
 * hidden, embedding 2 hidden, KV write twice what the cache keeps of a token in a layer. Norms and residual sums count
 * apart, although some engines fuse them. Left out: biases, quantising activations; sampling if the engine's CPU
 * overhead includes it. */
#ifndef ORRERY_MODELS_OPERATORS_LAYER_H
#define ORRERY_MODELS_OPERATORS_LAYER_H

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
    X(OP_MIXED_ATTENTION, "mixed_attention")                                                                           \
    X(OP_INDEX, "index")                                                                                               \
    X(OP_LINEAR_ATTENTION, "linear_attention")                                                                         \
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
    X(OP_DISPATCH, "dispatch")                                                                                         \
    X(OP_COMBINE, "combine")                                                                                           \
    X(OP_SEND, "send")                                                                                                 \
    X(OP_HEAD, "head")                                                                                                 \
    X(OP_SAMPLING, "sampling")

enum llm_operator {
#define LLM_OPERATOR_ENUM(id, name) id,
    LLM_OPERATORS(LLM_OPERATOR_ENUM)
#undef LLM_OPERATOR_ENUM
    LLM_OPERATOR_COUNT
};

const char *llm_operator_name(enum llm_operator op);

/* How one replica is split over GPUs. expert > 1: the experts are dealt to that many groups of GPUs instead of each
 * being cut over all; it divides tensor. sequence: norms and residuals work on a share of the tokens, an all-reduce
 * becomes a reduce-scatter and an all-gather (Korthikanti et al. 2022); with expert > 1 tokens then travel to their
 * experts and back, and every GPU holds all of the shared expert (DeepSeek-V3, 2024).
 *
 * data > 1: that many groups of tensor/data GPUs attend to sequences of their own. Each is split like a replica without
 * experts, and only the experts are common. A group's part of a batch is that of the fullest: llm_group_work.
 *
 * dispatch: how tokens of GPUs with sequences or tokens of their own come to common experts. All GPUs gather all
 * tokens, and the results are reduced and scattered: the default of vLLM (allgather_reducescatter) and SGLang
 * (moe-a2a-backend none). Or, with expert > 1, they travel to their experts in the format that these compute in, and
 * back in that of the hidden state: by NCCL's all-to-all, or by DeepEP's kernels (models/operators/exchange.h) to
 * whole experts on a GPU. redundant_experts are copies, between which the tokens of an expert are dealt. Of DeepEP's
 * kernels and of experts on GPUs of their own, the times are those of the busiest GPU. Its experts have `imbalance`
 * times the rows. It gets as many more copies, up to all tokens, and sends no more of its own
 * (models/operators/exchange.h).
 *
 * What engines differ in: an all-reduce of their own for short messages (models/operators/collective.h), where NVLink
 * connects all GPUs; norms that add the residual up in passing, so that it is no operator of its own. What calibrations
 * differ in: attention that was measured together with writing the cache, so that nothing else writes keys and values
 * of heads (latent vectors are still written by a kernel of their own).
 *
 * mixed_attention: in a batch of prompts and decoding sequences one launch of attention serves both (FlashAttention
 * over sequences of any length, as vLLM v1 calls it), which costs the decoding whole tiles of queries; else each has
 * its own. Over latent vectors each always has. It is the operator mixed_attention, of the kernel class of prompts.
 *
 * samples: choosing the next tokens is a kernel over the vocabulary, not part of the engine's CPU overhead. */
enum llm_dispatch { DISPATCH_ALL_GATHER, DISPATCH_ALL_TO_ALL, DISPATCH_NORMAL, DISPATCH_LOW_LATENCY };

struct llm_split {
    int64_t tensor, pipeline, expert;
    int64_t redundant_experts; /* copies of experts beside the LLM's own, so that all GPUs hold equally many */
    double imbalance; /* load of the busiest GPU's experts over the mean, >= 1; 0: as 1 */
    enum llm_dispatch dispatch; /* how tokens come to common experts and back */
    int64_t dispatch_sms, dispatch_nodes; /* of normal kernels: SMs; most nodes with experts of one token, 0: all */
    int64_t data; /* groups with sequences of their own; 0 and 1: all GPUs are one */
    bool sequence;
    bool direct_all_reduce, fused_residual, mixed_attention, samples;
    bool attention_writes_kv;
    int64_t gpus_per_node;      /* >= 1; a group beyond it crosses the network */
    double network_bytes_per_s; /* per GPU and direction; unused inside a node */
};

static inline bool llm_split_has_deepep(const struct llm_split *split)
{
    return split->dispatch == DISPATCH_NORMAL || split->dispatch == DISPATCH_LOW_LATENCY;
}

/* The part of the work that a call depends on, so that a caller knows when to recompute it, where d is
 * iteration_decode_tokens: prefill_tokens + d, of all groups, or of one (apart those that only send);
 * prefill_sequences + d; all
 * that describes its prompts, or where `mixes` the whole batch; all that describes its decoding sequences, whose
 * attention is left out where that of prompts mixes. Nothing else of the work matters. */
enum kernel_driver { BY_ALL_TOKENS, BY_TOKENS, BY_SENT_TOKENS, BY_SEQUENCES, BY_PREFILL, BY_DECODE };

struct kernel_use {
    enum llm_operator op;
    enum kernel_driver driver;
    struct kernel_call call;
    bool mixes;   /* attention of prompts that also serves decoding sequences of the batch */
    double count; /* launches per iteration: once per layer of the stage, twice for most norms ... */
};

/* The part of a batch that the fullest group has: sequences are dealt out one by one, each as long as the mean. The
 * lead of the longest one stays. It is the batch itself if there is one group. */
struct iteration_work llm_group_work(const struct llm_split *split, const struct iteration_work *work);

/* Gives a BY_PREFILL or BY_DECODE call, attention or a product for it, the prompts or the decoding sequences of
 * another batch, of one group, which must have some. Leaves other calls as they are. */
void kernel_use_rebatch(struct kernel_use *use, const struct iteration_work *work);

/* The same for the shape of attention over prompts; mixes: with the decoding sequences of the batch. */
void prefill_shape_rebatch(struct prefill_shape *shape, const struct iteration_work *work, bool mixes);

enum { LLM_MAX_USES = 64 };

/* Why the model cannot be split so, as a static text, or NULL if it can. */
const char *llm_split_problem(const struct llm_spec *llm, const struct llm_split *split);

/* Fills uses[LLM_MAX_USES] with what the fullest pipeline stage launches, and returns how many: alike calls once,
 * with their count, by the order of the first. Of several stages the fullest one is the last: it has the head, and
 * waits for what the stage before sends. Calls without work (no prompt in the batch, ...) are left out. The split is
 * possible. */
size_t llm_iteration_kernels(const struct llm_spec *llm, const struct llm_split *split, const struct gpu_spec *gpu,
                             const struct iteration_work *work, struct kernel_use uses[LLM_MAX_USES]);

#endif
