/* Time of the parts of an LLM in training: a layer, the embedding, the head with the loss. All for one micro-batch on
 * one rank, from the kernels and laws that price serving (models/kernel.h).
 *
 * The forward pass of a product of m tokens, n outputs and k inputs is that product. Its backward pass has two of as
 * many FLOP: the gradient of the input (m, k, n) and that of the weights (n, k, m), which is added to gradients in
 * memory. Attention's backward pass has 2.5 times the FLOP of its forward pass (Dao et al. 2022). Element-wise
 * operators move more bytes backward: the gradient and what the forward pass kept.
 *
 * Tensor parallelism has four collectives of b s h numbers per layer: two forward and two backward all-reduces, or with
 * sequence parallelism pairs of an all-gather and a reduce-scatter (Korthikanti et al. 2022). Backward, sequence
 * parallelism gathers the inputs of the first product of each half again. Where the plan overlaps, that gather runs
 * beside the gradient of the input, and the sum of this gradient beside the gradient of the weights.
 *
 * Experts have equal loads. Each choice of a token travels by an all-to-all, there and back, forward and backward. With
 * `expert_parts`, tokens go in parts, and messages run beside experts (expert_pipeline.h). */
#ifndef ORRERY_MODELS_TRAINING_BLOCK_H
#define ORRERY_MODELS_TRAINING_BLOCK_H

#include "models/kernel.h"
#include "models/training/exchange.h"
#include "models/training/trainer.h"

/* What a step is made of; the pointers outlive it. */
struct training_parts {
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    const struct kernel_set *kernels;
    const struct training_plan *plan;
    const struct training_trainer *trainer;
};

/* Seconds of a pass that are spent computing, and waiting for collectives of each kind. */
struct training_time {
    double compute_s, tensor_s, context_s, expert_s;
    double outside_s; /* of all of them, by kernels outside their fitted range */
    double tensor_sent, context_sent, expert_sent; /* bytes that a rank sends to its group (exchange.h) */
    double returned_sent, state_sent; /* to its context group, too: partial outputs, states of linear attention */
    /* Of the kernels of compute_s: operations, bytes of memory traffic, and time in kernels that the core bounds. */
    double flop, bytes, core_s;
    double narrow_flop; /* of flop, in 8-bit units */
    double network_s;   /* of messages of tensor, context and expert groups between nodes, hidden or not */
};

struct training_block {
    struct training_time forward;
    struct training_time input;  /* backward: gradients of inputs, with everything but products of weight gradients */
    struct training_time weight; /* backward: gradients of weights */
    struct training_time attention; /* of the forward pass: the inside of attention, which computes only */
    double tensor_bytes;         /* that a rank sends to its tensor group, without recomputation */
    double context_bytes, expert_bytes; /* likewise */
    int forward_parts, backward_parts;  /* of the tokens of a layer of experts, in turn; 0: all at once */
};

enum training_block_kind { BLOCK_DENSE, BLOCK_SPARSE, BLOCK_EMBEDDING, BLOCK_HEAD, BLOCK_KINDS };

/* The part on one rank. The plan is possible (training_plan_problem). */
struct training_block training_block_of(const struct training_parts *parts, enum training_block_kind kind);

static inline void training_time_add(struct training_time *sum, double count, const struct training_time *time)
{
    sum->compute_s += count * time->compute_s;
    sum->tensor_s += count * time->tensor_s;
    sum->context_s += count * time->context_s;
    sum->expert_s += count * time->expert_s;
    sum->outside_s += count * time->outside_s;
    sum->tensor_sent += count * time->tensor_sent;
    sum->context_sent += count * time->context_sent;
    sum->expert_sent += count * time->expert_sent;
    sum->returned_sent += count * time->returned_sent;
    sum->state_sent += count * time->state_sent;
    sum->flop += count * time->flop;
    sum->narrow_flop += count * time->narrow_flop;
    sum->bytes += count * time->bytes;
    sum->core_s += count * time->core_s;
    sum->network_s += count * time->network_s;
}

/* Seconds of all kinds together. */
static inline double training_time_s(const struct training_time *time)
{
    return time->compute_s + time->tensor_s + time->context_s + time->expert_s;
}

/* Time of a collective of a group of the plan, and whether it lies outside the fitted range. `bytes` as in struct
 * collective_shape. Zero with one member. */
struct training_collective {
    double seconds, sent_bytes; /* sent_bytes: over the link of a GPU, by the algorithm that is used */
    double exchanged_bytes;     /* as an exchange counts them */
    bool outside;
};

struct training_collective training_collective_of(const struct training_parts *parts, enum kernel_class class,
                                                  struct training_group group, double bytes);

/* Whether a group that meets so lies on several nodes. */
bool training_collective_is_far(const struct training_parts *parts, enum kernel_class class,
                                struct training_group group);

/* training_collective_of for a message of `bytes` from a rank to the same one of the next stage, maybe on another
 * node. */
struct training_collective training_stage_send_of(const struct training_parts *parts, bool is_far, double bytes);

/* The same of partial outputs that a context rank returns to the rank whose queries it had. */
struct training_collective training_return_of(const struct training_parts *parts, double bytes);

#endif
