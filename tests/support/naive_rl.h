/* Reinforcement learning once more, as plainly as it can be written. Every iteration of every replica is an event,
 * every request is touched in each, and the next event is found by looking at all of them. For comparison with the
 * section "rl" of a scenario, to the nanosecond.
 *
 * Replicas batch like vllm-v1 with enough KV blocks; requests go round robin. Each move has its links to itself. */
#ifndef ORRERY_TESTS_SUPPORT_NAIVE_RL_H
#define ORRERY_TESTS_SUPPORT_NAIVE_RL_H

#include "sim/core/units.h"

#include <stdbool.h>
#include <stdint.h>

enum { NAIVE_RL_REPLICAS = 4, NAIVE_RL_EVENTS = 256 };
enum naive_rl_update { NAIVE_RL_DRAIN, NAIVE_RL_HALT, NAIVE_RL_BESIDE };

struct naive_rl_request {
    int64_t prompt, output;
    sim_ns arrival_ns, end_ns;
    int64_t processed, generated; /* of the prompt; of the output */
};

/* Durations of an iteration: the larger of the fixed parts, and the sum of the others. */
struct naive_rl_cost {
    int64_t prefill_ns, prefill_token_ns, decode_ns, sequence_ns, context_token_ns;
};

enum naive_rl_action { NAIVE_RL_GENERATE, NAIVE_RL_TRAIN, NAIVE_RL_SEND };

struct naive_rl_event {
    enum naive_rl_action action;
    int64_t step;
    sim_ns at_ns;
};

struct naive_rl {
    bool together;
    enum naive_rl_update update;
    int replicas;
    int64_t prompts, samples, steps, staleness;
    int64_t max_sequences, budget;
    struct naive_rl_cost cost;
    struct naive_rl_request *requests; /* [steps * prompts * samples], in the order of the trace */
    sim_ns send_ns, swap_ns;           /* of a replica's weights; of its part of the training's states, either way */
    sim_ns (*training_ns)(void *context, int64_t tokens);
    void *context;
    /* What comes out. */
    struct naive_rl_event events[NAIVE_RL_EVENTS];
    int n_events;
    int64_t n_sends, trained_tokens;
    sim_ns end_ns, generating_ns, training_time_ns, sending_ns, swapping_ns;
    double stale_sum; /* of samples */
};

void naive_rl_run(struct naive_rl *rl);

#endif
