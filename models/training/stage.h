/* The passes of one micro-batch through a stage of the pipeline: the sum of its layers, and what it sends to others. */
#ifndef ORRERY_MODELS_TRAINING_STAGE_H
#define ORRERY_MODELS_TRAINING_STAGE_H

#include "models/training/block.h"

/* Blocks of the model, and times of a pass of one micro-batch through a stage. */
struct training_blocks {
    struct training_block of[BLOCK_KINDS];
    double send_s[2]; /* of a hidden state to the next stage, exposed, once: on the same node, on another one */
    double send_bytes, gather_bytes; /* that a rank sends to the next stage, and then to its tensor group */
    bool send_outside[2];
};

struct training_stage {
    struct training_time forward, backward, weight, recompute; /* backward: without products of weight gradients */
    double send_s, send_outside_s; /* messages to other stages */
    double sum_s;  /* of all */
    double tensor_bytes, context_bytes, expert_bytes;
    double outside_s;
};

struct training_blocks training_blocks_of(const struct training_parts *parts);

struct training_stage training_stage_of(const struct training_parts *parts, const struct training_blocks *blocks,
                                        int64_t stage);

#endif
