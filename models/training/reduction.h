/* What the ranks with the same weights send to each other in a step: gradients, and weights that they share.
 *
 * Gradients are reduced once per step over the context and data ranks: an all-reduce, or with ZeRO a reduce-scatter and
 * an all-gather of weights. Some programs all-reduce and then broadcast the weights (trainer.h). ZeRO 2 reduces after
 * each micro-batch, ZeRO 3 also gathers weights for each pass. With a second copy of the weights, the backward pass
 * gathers them among the ranks that share this copy (ZeRO++ hpZ, Wang et al. 2023). Messages may have few bits
 * (quantised.h). */
#ifndef ORRERY_MODELS_TRAINING_REDUCTION_H
#define ORRERY_MODELS_TRAINING_REDUCTION_H

#include "models/training/memory.h"

/* Of the ranks of a stage; exposed_s: what does not hide behind computing. */
struct training_reduction {
    double seconds, exposed_s, sent_bytes, outside_s;
    double quantise_s, quantise_bytes; /* kernels that narrow and widen messages, which nothing hides; their traffic */
};

/* Parameters and layers of a stage. */
struct training_stage_size {
    struct training_parameters parameters;
    double layers;
};

struct training_stage_size training_stage_size_of(const struct training_parts *parts, int64_t stage);

/* Passes of a micro-batch through the stage, behind which messages hide; backward with recomputation. */
struct training_cover {
    double forward_s, backward_s;
    double network_s; /* of backward_s: other messages between nodes, hidden or not */
};

struct training_reduction training_reduction_of(const struct training_parts *parts, const struct training_cover *cover,
                                                const struct training_stage_size *size);

/* The bytes of all of it, by group. */
struct training_exchanges training_reduction_exchanges(const struct training_parts *parts,
                                                       const struct training_stage_size *size);

#endif
