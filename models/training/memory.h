/* Memory of a rank in training: weights, gradients, the optimizer's states, what the forward pass keeps for the
 * backward pass, and what that needs while it works on one layer.
 *
 * A layer keeps, for each token and in bytes (h hidden state, a query heads, k key-value heads of width d, f
 * feed-forward width; a tensor group splits all but the norms, and with sequence parallelism these too):
 *
 *     norms        4 (inputs 2h, outputs 2h) = 8 h for two norms
 *     attention    2 (a + 2k) d + 2 a d, and 4 a of the softmax; without a fused kernel 5 a s of scores, with dropout;
 *                  linear attention in place of them 2 k d d of each sequence
 *     feed-forward 6 f with a gate, 4 f without
 *     dropout      2 h of masks
 *
 * For a GPT (k = a, a d = h, f = 4h) without fused attention this is s b h (34 + 5 a s/h) per layer (Korthikanti et al.
 * 2022, equation 1). A recomputed layer keeps its input alone, 2 h. Experts keep as much for each choice of a token,
 * and the choice's hidden state. */
#ifndef ORRERY_MODELS_TRAINING_MEMORY_H
#define ORRERY_MODELS_TRAINING_MEMORY_H

#include "models/training/block.h"

/* Bytes on the fullest rank. */
struct training_memory {
    double weight_bytes, gradient_bytes, optimizer_bytes; /* weight_bytes: with a second copy */
    double activation_bytes; /* kept for the backward pass, of all micro-batches in flight */
    double working_bytes;    /* beside it while the backward pass works on one layer, or on the loss */
    double buffer_bytes;     /* of libraries */
    double total_bytes;
    double host_bytes, disk_bytes; /* of a node, beyond its GPUs (tiers.h) */
    int64_t stage;           /* that the rank belongs to, from 0 */
};

/* Parameters of a part on one rank, in whole copies: experts apart, since another group shards them. */
struct training_parameters {
    double dense, expert;
};

/* Of a layer; of a stage with its embedding and head. `plan` splits them, its ZeRO stage not counted. */
struct training_parameters training_block_parameters(const struct training_parts *parts, enum training_block_kind kind);
struct training_parameters training_stage_parameters(const struct training_parts *parts, int64_t stage);

/* Layers of a stage without experts where others have some, and all others. */
struct training_stage_layers {
    double dense, sparse;
};

struct training_stage_layers training_stage_layers(const struct training_parts *parts, int64_t stage);

/* Parameters of which a rank of the stage holds weights, gradients and optimizer states. */
struct training_holdings {
    double weights, gradients, optimizer;
    double secondary; /* of the second copy of weights */
};

struct training_holdings training_holdings_of(const struct training_parts *parts, int64_t stage);

/* Bytes that a stage keeps for the backward pass, wherever they lie, of all micro-batches in flight. */
double training_kept_bytes(const struct training_parts *parts, int64_t stage);

/* Those of them that lie beyond the GPU: of the plan's swapped layers, first of those that keep everything. */
double training_swapped_bytes(const struct training_parts *parts, int64_t stage);

/* Bytes that one layer keeps for the backward pass of one micro-batch on one rank. */
double training_layer_bytes(const struct training_parts *parts, enum training_block_kind kind);

/* The most micro-batches whose activations a stage keeps at once: gpipe all, 1f1b the stages from this one on,
 * interleaved more by parts of a micro-batch (Narayanan et al. 2021, section 2.2). */
double training_in_flight(const struct training_plan *plan, int64_t stage);

struct training_memory training_memory_of(const struct training_parts *parts);

/* The first tier without room, of GPUs, host memory and drives; TRAINING_HOMES: all have room. `reserve_frac`: of the
 * GPU's memory, for fragments, the runtime and communication. */
enum training_home training_memory_lacks(const struct training_parts *parts, const struct training_memory *memory,
                                         double reserve_frac);

#endif
