/* A layer of experts whose tokens are handled in parts, so that messages between nodes, messages inside nodes and
 * computing run side by side (Pan et al. 2025, FSMoE).
 *
 * Each of r equal parts is sent to its experts, gathered in the tensor group, computed, scattered and sent back:
 *
 *     dispatch -> gather -> compute -> scatter -> combine
 *
 * A lane does one of them at a time: the network, the links inside nodes, the cores of the GPU. A lane works in the
 * order of part + lag, where each kind of task has a lag; of equal ones the kind that comes first is first. Dispatch,
 * gather and compute have none. Of all lags with 0 <= scatter <= combine < r the fastest are taken.
 *
 * With one part the time is the sum of the five, whatever the lanes. Each part pays the latencies of its messages and
 * has smaller products: the parts of a task together take longer than the whole.
 *
 * Leaves out: messages that slow products down, and parts of unlike size. */
#ifndef ORRERY_MODELS_TRAINING_EXPERT_PIPELINE_H
#define ORRERY_MODELS_TRAINING_EXPERT_PIPELINE_H

#include <stdint.h>

enum { EXPERT_PARTS = 8 };

enum expert_task { EXPERT_DISPATCH, EXPERT_GATHER, EXPERT_COMPUTE, EXPERT_SCATTER, EXPERT_COMBINE, EXPERT_TASKS };
enum expert_lane { LANE_NETWORK, LANE_NODE, LANE_CORES, EXPERT_LANES };

/* Tasks of one part. */
struct expert_pipeline {
    int parts; /* 1 to EXPERT_PARTS */
    double seconds[EXPERT_TASKS];
    enum expert_lane lane[EXPERT_TASKS];
};

/* Seconds from the first task to the last, by the fastest order. */
double expert_pipeline_s(const struct expert_pipeline *pipeline);

/* The same with these lags, 0 <= scatter <= combine. */
double expert_pipeline_lagged_s(const struct expert_pipeline *pipeline, int scatter, int combine);

/* Seconds of gradients that are left when the backward pass ends. Each of `layers` layers adds `parts` messages of
 * part_s when it is done. The network has gap_s for those of layers before, and sends whole messages alone. */
double expert_gradients_s(int64_t layers, int64_t parts, double part_s, double gap_s);

#endif
