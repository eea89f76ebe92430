/* How a training job is laid out over GPUs: the sizes of its groups, its pipeline schedule, its batch, what it
 * recomputes and what it shards.
 *
 * Ranks are numbered as in Megatron-LM: tensor parallelism varies fastest, then context, data and pipeline parallelism.
 * So a tensor group lies side by side, and the stages of a pipeline are as far apart as the job allows. Experts are
 * dealt to groups of `expert` ranks among the context and data ranks of a stage; the tensor group splits each of them.
 *
 * A micro-batch is the sequences that pass through the pipeline together. A step handles `micro_batches` of them on
 * each data rank, then reduces gradients and updates the weights. */
#ifndef ORRERY_MODELS_TRAINING_PLAN_H
#define ORRERY_MODELS_TRAINING_PLAN_H

#include "models/training/mix.h"
#include "models/transformer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct training_spread;
struct training_room;

/* Lengths of the sequences of batches that were drawn (mixed.h). */
struct training_lengths {
    int64_t batches, sequences;
    const int64_t *tokens;      /* [batches][sequences] of each batch the longest first, at most sequence_tokens */
    double step_tokens;         /* of a batch, on the mean */
    struct training_room *room; /* scratch memory */
};

/* gpipe: all forward passes, then all backward passes (Huang et al. 2019). 1f1b: one forward, one backward pass in turn
 * (Narayanan et al. 2019). interleaved: the same with `chunks` parts of the layers on each stage (Narayanan et al.
 * 2021). zero-bubble: ZB-H1, which puts the products of weight gradients where a stage would wait (Qi et al. 2024). */
enum training_schedule { SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_INTERLEAVED, SCHEDULE_ZERO_BUBBLE };

/* selective: the inside of attention alone (Korthikanti et al. 2022); full: whole layers from their input. */
enum training_recompute { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };

/* How a sequence split over the ranks of `context` meets itself. ring: keys and values circulate (Li et al. 2021);
 * all-to-all: heads are exchanged for tokens (DeepSpeed-Ulysses, Jacobs et al. 2023); token-ring: queries circulate one
 * way, partial results return the other way (Wang et al. 2024, context.h). */
enum context_form { CONTEXT_RING, CONTEXT_ALL_TO_ALL, CONTEXT_TOKEN_RING };

/* Optimizer states in host memory, where CPUs update them: ZeRO-Offload (Ren et al. 2021). Gradients go to the host
 * before the backward pass goes on, or beside it. With `gpu_stride` k, of every k groups of these states one is
 * updated by the GPU, which fetches it and puts it back meanwhile (Maurya et al. 2024, Deep Optimizer States). A
 * delayed update runs beside the next step (step.h). */
struct training_offload {
    double optimizer_frac; /* of the optimizer's states; 0: none is offloaded */
    bool blocks_flush, is_delayed;
    int64_t gpu_stride;           /* 0 and 1: CPUs update all groups */
    double cpu_update_per_s;      /* parameters that the CPUs of a node update */
    double flush_bytes_per_s;     /* of a flush that blocks, per GPU */
    double link_bytes_per_s;      /* pinned host memory to a GPU and back, each way */
};

/* Numbers in messages among ranks with the same weights (quantised.h). stored: as the trainer keeps them. */
enum training_message { MESSAGE_STORED, MESSAGE_INT8, MESSAGE_INT4 };

/* Where a kind of state lies when it is not used. */
enum training_home { HOME_GPU, HOME_HOST, HOME_DISK, TRAINING_HOMES };

/* How work and transfers of states beyond the GPU follow each other (tiers.h). */
enum training_flow { FLOW_SERIAL, FLOW_PREFETCHED, FLOW_PIPELINED };

/* States beyond the GPU; all zero: none. */
struct training_tiers {
    enum training_home weights, gradients, optimizer;
    enum training_home activations; /* that the forward pass keeps; disk: what host memory has no room for */
    enum training_flow flow;
    bool by_owner;                 /* a layer's weights lie on one rank, which broadcasts them */
    int64_t tiles;                 /* of a layer's weights and gradients; 0 and 1: they are whole */
    int64_t persistent;            /* layers whose states stay on the GPU, wherever those of others lie */
    int64_t buffers; /* layers of weights from beyond the GPU for which it has room; 0: two, which later passes bring
                      * again */
    int64_t swapped; /* layers whose activations lie beyond the GPU, if `activations` do; 0: all */
    double host_bytes, disk_bytes; /* of a node; 0: not limited */
    double read_bytes_per_s, write_bytes_per_s; /* of the drives of a node, together */
    double link_bytes_per_s;       /* host memory to a GPU and back, each way */
    double cpu_update_per_s;       /* parameters that the CPUs of a node update */
    double others_disk_frac, others_link_frac; /* of these bandwidths, taken by others: checkpoints, reading data */
};

/* What others leave of the bandwidths that `tiers` and `offload` state: of the link of each rank, to and from the GPU,
 * and of the drives. */
struct training_link_shares {
    double up, down, read, write; /* above 0, at most 1 */
};

enum { TRAINING_CLUSTERS = 4, TRAINING_NICS_STAGES = 64 };

/* Clusters with NICs of their own, whose stages follow each other in order (nics.h); n 0: one network. */
struct training_nics {
    int64_t n, stages[TRAINING_CLUSTERS];
    double network_bytes_per_s[TRAINING_CLUSTERS]; /* between nodes of a cluster, per GPU and direction */
    double between_bytes_per_s;                    /* clusters */
    bool is_mixed;                                 /* each stage lies in all clusters */
    bool is_uneven;                                /* stages may differ in layers */
    int64_t layers[TRAINING_NICS_STAGES];           /* of each stage; the first 0: as many on each */
};

struct training_plan {
    int64_t tensor, pipeline, chunks, context, data, expert; /* >= 1; chunks: of the layers, on each stage */
    bool sequence;       /* norms and residuals split by tokens among the tensor group (Korthikanti et al. 2022) */
    bool scatter_gather; /* stages send each rank's share of the hidden state (Narayanan et al. 2021, 4.1) */
    enum training_schedule schedule;
    int64_t micro_batch, micro_batches, sequence_tokens;
    enum training_recompute recompute;
    int64_t recompute_layers; /* full: layers of a stage that are recomputed; 0: all of them */
    /* ZeRO (Rajbhandari et al. 2020) over the context and data ranks. 0: nothing is sharded; 1: the optimizer's states;
     * 2: gradients; 3: weights. */
    int64_t zero;
    /* Neighbouring ranks that share weights, gradients and optimizer states, each at least as many as the one before
     * (Chen et al. 2023, AMSP). All 0: as `zero` says. */
    int64_t shard_weights, shard_gradients, shard_optimizer;
    /* Neighbouring ranks that share a second copy of the weights, of which the backward pass gathers them (Wang et al.
     * 2023, ZeRO++ hpZ); it divides the ranks that share weights. 0: there is none. */
    int64_t shard_secondary;
    enum training_message weight_message, gradient_message; /* of gathers, and of what replaces reduce-scatters */
    enum number_format compute; /* of products and of activations that they read: bf16, fp16 or fp8 */
    bool overlap_tensor;        /* backward: collectives of inputs and their gradients beside products */
    bool overlap_gradients;     /* data-parallel reduction beside the last backward pass */
    bool overlap_weights;       /* gathering of weights beside computing */
    enum context_form context_form; /* of layers with softmax attention */
    int64_t linear_layers;      /* layers of the LLM whose attention is linear (context.h) */
    /* Parts of a micro-batch's tokens that experts get in turn, while messages of others are on their way; -1: the
     * fastest number. 0 and 1: all tokens at once (Pan et al. 2025, FSMoE). */
    int64_t expert_parts;
    /* Most messages that a layer's gradients go in, in gaps of the network; 0: as overlap_gradients says. No effect on
     * rings inside a node, with lengths, or where gradients are sharded: those are reduced with each micro-batch. */
    int64_t gradient_parts;
    struct training_offload offload;
    struct training_tiers tiers;
    struct training_nics nics;
    const struct training_lengths *lengths; /* NULL: all sequences have sequence_tokens; else no longer ones */
    enum training_split split;              /* of sequences of unlike length; static: `context` ranks share each */
    int64_t gpus_per_node;
    double network_bytes_per_s; /* between nodes, per GPU and direction; 0: one node */
    const struct training_link_shares *link_shares; /* NULL: all is left */
    const struct training_spread *spread; /* where the ranks are (exchange.h); NULL: they fill nodes in order */
};

static inline int64_t training_plan_gpus(const struct training_plan *plan)
{
    return plan->tensor * plan->context * plan->data * plan->pipeline;
}

static inline struct training_link_shares training_shares_of(const struct training_plan *plan)
{
    return plan->link_shares != NULL ? *plan->link_shares : (struct training_link_shares){1.0, 1.0, 1.0, 1.0};
}

/* Ranks that hold the same weights of attention and dense layers. */
static inline int64_t training_plan_replicas(const struct training_plan *plan)
{
    return plan->context * plan->data;
}

/* Sequences of a step, over all data ranks. */
static inline int64_t training_plan_sequences(const struct training_plan *plan)
{
    return plan->lengths != NULL ? plan->lengths->sequences : plan->micro_batch * plan->micro_batches * plan->data;
}

static inline double training_plan_tokens(const struct training_plan *plan)
{
    if (plan->lengths != NULL) return plan->lengths->step_tokens;
    return (double)training_plan_sequences(plan) * (double)plan->sequence_tokens;
}

/* Tokens of the longest sequence. */
static inline int64_t training_plan_longest(const struct training_plan *plan)
{
    int64_t most = plan->lengths != NULL ? 0 : plan->sequence_tokens;
    for (int64_t i = 0; plan->lengths != NULL && i < plan->lengths->batches; i++) {
        const int64_t longest = plan->lengths->tokens[i * plan->lengths->sequences];
        most = longest > most ? longest : most;
    }
    return most;
}

/* Tokens of a micro-batch on one rank. */
static inline double training_plan_rank_tokens(const struct training_plan *plan)
{
    return (double)plan->micro_batch * (double)plan->sequence_tokens / (double)plan->context;
}

/* Ranks that share each kind of state among `replicas` with the same weights; at least 1. */
struct training_shards {
    int64_t weights, gradients, optimizer;
    int64_t secondary; /* of the second copy of the weights; 0: there is none */
};

struct training_shards training_plan_shards(const struct training_plan *plan, int64_t replicas);

/* Layers of a stage. */
static inline int64_t training_plan_layers(const struct training_plan *plan, const struct llm_spec *llm, int64_t stage)
{
    const bool is_even = plan->nics.n == 0 || plan->nics.layers[0] == 0;
    return is_even ? llm->layers / plan->pipeline : plan->nics.layers[stage];
}

/* Layers of a stage that are recomputed as a whole. */
int64_t training_plan_recomputed(const struct training_plan *plan, const struct llm_spec *llm, int64_t stage);

/* Why the LLM cannot be trained so, as a static text, or NULL if it can. Memory is not looked at. */
const char *training_plan_problem(const struct training_plan *plan, const struct llm_spec *llm);

/* A group of ranks: `gpus` of them, `stride` ranks apart. */
struct training_group {
    int64_t gpus, stride;
};

struct training_group training_tensor_group(const struct training_plan *plan);
struct training_group training_context_group(const struct training_plan *plan);
struct training_group training_expert_group(const struct training_plan *plan);
struct training_group training_replica_group(const struct training_plan *plan); /* context and data ranks */
struct training_group training_stages_group(const struct training_plan *plan); /* ranks of two neighbouring stages */

/* Nodes that a group lies on, equally many members on each. */
int64_t training_group_nodes(const struct training_plan *plan, struct training_group group);

/* Whether some rank of a stage is on another node than the same rank of the next stage, of the last stage than that of
 * the first: as the plan's spread says, else where ranks fill nodes in order. */
bool training_stage_is_far(const struct training_plan *plan, int64_t stage);

#endif
