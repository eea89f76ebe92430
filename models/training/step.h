/* A step of training: forward and backward passes of all micro-batches through the pipeline, reduction of gradients,
 * update of the weights.
 *
 * With f, b, w the times of a micro-batch on the slowest of p stages (forward, gradients of inputs, gradients of
 * weights), m micro-batches and v chunks, and sums over the stages:
 *
 *     gpipe        (m - 1) (max f + max (b + w)) + sum (f + b + w)
 *     1f1b         (m - 1) max (f + b + w) + sum (f + b + w)
 *     interleaved  m max (f + b + w) + (sum - max) (f + b + w) / v
 *     zero-bubble  m max (f + b + w) + (sum - max) (f + b - w), at least the first term
 *
 * With equal stages the bubble of the first two is (p - 1)/m of the ideal time, that of the third 1/v of it (Narayanan
 * et al. 2021), and that of the last (p - 1) (f + b - w) (Qi et al. 2024, ZB-H1). Stages wait for what they send to
 * each other. An interleaved schedule sends v times as often.
 *
 * Gradients are reduced once per step over the context and data ranks: an all-reduce, or with ZeRO a reduce-scatter and
 * an all-gather of weights. Some programs all-reduce and then broadcast the weights (trainer.h). ZeRO 2 reduces after
 * each micro-batch, ZeRO 3 also gathers weights for each pass. What overlaps hides behind the last backward pass, or
 * behind computing; at least the part of one layer shows.
 *
 * Optimizer states in host memory: CPUs update n parameters of a node at their rate, and of every k groups the GPU one,
 * for which it moves 12 bytes of each parameter either way. Both overlap:
 *
 *     update = max((1 - 1/k) n / rate, 12 n / (k link))
 *     flush  = 4 n / min(rate of flushes, link), or beside the backward pass max(4 n / link - backward, 0)
 *     step   = rest + update, or with a delayed update max(rest, update)
 *
 * The link of a GPU so carries 4 n + 12 n / k bytes from the GPU, and 12 n / k to it. Weights that CPUs have updated
 * come beside that, and are left out.
 *
 * A delayed update of step i runs beside step i + 1, whose passes have the weights of step i - 1 (Ren et al. 2021,
 * ZeRO-Offload, one-step delayed parameter update). The rest is all but the CPUs' update.
 *
 * Model FLOP count scores of all pairs, masked ones too, as Megatron-LM does: 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) of
 * a GPT whose layers are recomputed, 3/4 of the first two terms without. */
#ifndef ORRERY_MODELS_TRAINING_STEP_H
#define ORRERY_MODELS_TRAINING_STEP_H

#include "models/training/memory.h"
#include "models/training/nics.h"

/* The parts of step_s; their sum is step_s. All but the bubble are of the slowest stage. */
struct training_step {
    double step_s;
    double forward_s, backward_s, recompute_s; /* computing of all micro-batches */
    double bubble_s;                           /* that stage waits for others to fill and drain the pipeline; with
                                                * sequences of unlike length, the mean rank waits for the last */
    double tensor_s, context_s, expert_s, pipeline_s, data_s; /* waiting for messages: exposed communication */
    double quantise_s; /* kernels that narrow and widen messages of weights and gradients (quantised.h) */
    double flush_s; /* gradients to host memory, as far as nothing hides them */
    double swap_s;  /* states and activations beyond the GPU, as far as nothing hides them (tiers.h) */
    double optimizer_s, host_s;
    double update_s; /* of optimizer_s: on the GPU */
    double passes_s; /* of all micro-batches, with messages */
    double bound_s, width; /* with sequences of unlike length: least passes_s + bubble_s of any split; mean ranks that
                            * share the sequence of a token. Else 0 */
    double static_frac;    /* of batches of unlike sequences: fell back on a static split (mix.h) */
    double flop, bytes, core_s; /* of a rank of that stage: its operations, its memory traffic, and the time in kernels
                                 * that the core bounds */
    double narrow_flop; /* of flop, in 8-bit units: those of products in fp8; attention, router and head keep 16 bits */
    int64_t slowest; /* stage, from 0 */
    double model_flop, hardware_flop; /* of all GPUs; hardware_flop with recomputation */
    double mfu, hfu;                  /* of the peak in the format of computing */
    double flop_per_s;                /* of a GPU, with recomputation */
    double tensor_bytes, context_bytes, expert_bytes, data_bytes; /* that a rank of that stage sends */
    int forward_parts, backward_parts; /* of the tokens of a layer of experts (expert_pipeline.h); 0: all at once */
    double outside_frac; /* share of computing and messages by kernels outside their fitted range */
    struct training_memory memory;
    bool fits;
    enum training_home lacks; /* the first tier without room; TRAINING_HOMES if it fits */
    double up_bytes, down_bytes;      /* that a rank of that stage moves to and from the GPU, of tiers.h */
    double read_bytes, written_bytes; /* drives of a node */
    double fetched_bytes, flushed_bytes; /* that such a rank moves to and from the GPU, of `offload` */
};

/* The plan is possible (training_plan_problem). Memory fits if it is within the GPU's, less `reserve_frac` of it for
 * fragments, the runtime and communication. */
struct training_step training_step_of(const struct training_parts *parts, double reserve_frac);

/* What the ranks of each stage exchange in a step; `stages` has room for all stages of the plan. Not for plans whose
 * sequences have unlike lengths. */
void training_exchanges_of(const struct training_parts *parts, struct training_exchanges *stages);

/* Of a layer on the stages of each cluster of the plan, the mean over the LLM's layers. */
void training_layer_costs_of(const struct training_parts *parts, struct training_layer_cost costs[TRAINING_CLUSTERS]);

/* FLOP of one step of the model alone: three times those of its forward pass. */
double training_model_flop(const struct training_parts *parts);

#endif
