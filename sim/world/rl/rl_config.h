/* The section "rl" of a scenario: reinforcement learning of the LLM that a service generates with. */
#ifndef ORRERY_WORLD_RL_RL_CONFIG_H
#define ORRERY_WORLD_RL_RL_CONFIG_H

#include "sim/catalog/training.h"
#include "sim/core/config/config.h"

/* Training has GPUs of its own, or takes turns with the replicas on theirs. */
enum rl_layout { RL_APART, RL_TOGETHER };

/* What a replica does while it takes new weights: it has no requests, halts between two iterations, or goes on. */
enum rl_update { RL_DRAIN, RL_HALT, RL_BESIDE };

struct rl_config {
    const char *service; /* that generates; NULL: there is no section */
    struct training_config training;
    int layout;       /* enum rl_layout */
    int update;       /* enum rl_update */
    int64_t gpus;     /* of the training, apart; 0: not given */
    const char *gpu;  /* of the training, apart; NULL: the cluster's */
    int64_t prompts, samples; /* of a step; samples of each prompt */
    int64_t steps, staleness;
    int64_t updates, forward_passes; /* of a step */
};

extern const struct config_field rl_config_fields[];

#endif
