/* What the files of this room share. */
#ifndef ORRERY_WORLD_RL_RL_STATE_H
#define ORRERY_WORLD_RL_RL_STATE_H

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/rl/rl.h"
#include "sim/world/rows/metric.h"

/* What the training's GPUs do. FETCH and STASH: states from and to host memory, of layout `together` alone. */
enum rl_phase { RL_IDLE, RL_FETCH, RL_TRAIN, RL_STASH, RL_SEND };

/* The rollouts of a step. */
struct rl_batch {
    int64_t version;       /* of the weights that generate it: training steps that they have seen */
    sim_ns begin_ns;       /* its requests arrive */
    int64_t n_left;        /* requests in progress */
    int64_t samples;       /* finished */
    int64_t prompt_tokens, output_tokens; /* of these */
};

/* Data on their way to or from a replica's GPUs. */
struct rl_move {
    struct transfer transfer;
    struct rl *rl;
    int32_t replica;
    bool is_halted; /* the replica, for this move */
    struct tier *host;
};

struct rl {
    struct rl_env env;
    const struct rl_config *config;
    struct service_feeder feeder;
    struct owner owner; /* of the end of a training step */
    struct training_config training; /* with the batch of the latest price */
    struct training_setup *setup;
    int64_t gpus;                        /* of the training */
    double gpu_usd_per_h;                /* list price of one of these; NAN: not known */
    struct topology_placement placement; /* of the training, apart */
    double state_bytes;                  /* of a GPU: weights and optimizer states of the training */
    enum rl_phase phase;
    bool is_generating, is_dry; /* is_dry: the trace has ended */
    bool is_cut;                /* it has ended within the rollouts of a step, whose last sample has left */
    int64_t n_begun, n_generated, n_trained; /* steps by what they have passed */
    int64_t loaded;                          /* version of the weights at the replicas */
    int64_t sending;                         /* version being sent */
    sim_ns since_ns;                         /* start of the phase, or of the training as a whole */
    struct rl_batch *batches; /* [staleness + 2], by step: of steps that are not trained yet */
    struct rl_move *moves;    /* [n_replicas] */
    int32_t n_replicas, n_moving;
    struct rl_stats {
        int64_t generated_tokens, trained_tokens, dropped_tokens; /* output tokens */
        int64_t trained_prompt_tokens, trained_samples;
        int64_t n_sends, sent_bytes, swapped_bytes; /* bytes of ended moves */
        sim_ns generating_ns, training_ns, sending_ns, swapping_ns; /* of ended phases */
        sim_ns last_ns;    /* the latest end of a training step; -1: none has ended */
        sim_ns settled_ns; /* the latest change */
        struct distribution step_s, rollout_s, training_s, sending_s, staleness;
    } stats;
};

static inline struct rl_batch *rl_batch(const struct rl *rl, int64_t step)
{
    return &rl->batches[step % (rl->config->staleness + 2)];
}

/* rl_trainer.c: checks the plan, takes GPUs. Returns as rl_create. */
int rl_trainer_create(struct rl *rl);

/* Seconds of a training step on so many tokens. Returns 0, or SIM_E_UNFIT with a finding. */
int rl_training_s(struct rl *rl, int64_t tokens, double *seconds);

/* rl_weights.c: checks the ways, reserves host memory. Returns as rl_create. */
int rl_weights_create(struct rl *rl);

/* Moves of all replicas for the present phase. rl_moved is called when the last one has ended. */
int rl_begin_moves(struct rl *rl, sim_ns now);
int rl_halted(struct rl *rl, int32_t replica, sim_ns now);
int rl_moved(struct rl *rl, sim_ns now);

/* rl_stats.c */
int rl_stats_init(struct rl_stats *stats); /* 0 or SIM_E_NOMEM */
void rl_stats_fini(struct rl_stats *stats);
int rl_emit(const struct rl *rl, sim_ns now); /* metrics; 0 or the sink's code */

#endif
