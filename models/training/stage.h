/* The passes of one micro-batch through a stage of the pipeline: the sum of its layers, and what it sends to others.
 *
 * Clusters with NICs of their own (nics.h) price the same blocks with other networks: a stage has those of its cluster,
 * and sends to a stage of another cluster over what lies between them. */
#ifndef ORRERY_MODELS_TRAINING_STAGE_H
#define ORRERY_MODELS_TRAINING_STAGE_H

#include "models/training/block.h"

/* Blocks of the model in a cluster. */
struct training_blocks {
    struct training_block of[BLOCK_KINDS];
    double send_s[2]; /* of a hidden state to the next stage, exposed, once: on the same node, on another one */
    double gather_s;  /* by the tensor group that gets it */
    double send_bytes, gather_bytes; /* that a rank sends to the next stage, and then to its tensor group */
    bool send_outside[2];
};

/* Blocks in each cluster; without clusters in[0] alone. `between` has only what one cluster sends to the next. */
struct training_priced {
    struct training_blocks in[TRAINING_CLUSTERS], between;
};

/* Times of a pass of one micro-batch through a stage. */
struct training_stage {
    struct training_time forward, backward, weight, recompute; /* backward: without products of weight gradients */
    double send_s, send_outside_s; /* messages to other stages */
    double sum_s;  /* of all */
    double tensor_bytes, context_bytes, expert_bytes;
    double outside_s;
};

/* Fills *priced for all clusters of the plan. */
void training_blocks_of(const struct training_parts *parts, struct training_priced *priced);

struct training_stage training_stage_of(const struct training_parts *parts, const struct training_priced *priced,
                                        int64_t stage);

/* The mean layer of the LLM, with its share of recomputation, in a cluster. */
struct training_stage training_mean_layer(const struct training_parts *parts, const struct training_blocks *blocks);

/* The plan of clusters on another network. */
struct training_elsewhere {
    struct training_plan plan;
    struct training_parts parts;
};

/* The parts with this bandwidth between nodes; the same parts if the plan has no clusters. *elsewhere outlives what is
 * returned. */
const struct training_parts *training_parts_on(const struct training_parts *parts, double network_bytes_per_s,
                                               struct training_elsewhere *elsewhere);

#endif
