/* A training plan as configurations write it, and what it is made of: LLM, GPU, calibration, constants of the program.
 *
 * Keys that are absent follow from the others: data parallelism from the number of GPUs, micro-batches from the batch.
 * The lengths of sequences may follow a law: batches of them are drawn once, from the stream "training.lengths" of a
 * seed of their own.
 *
 * A `micro_batch` of 0 stands for the fastest of 1, 2, 4, 8 ... 64 sequences that fits. */
#ifndef ORRERY_CATALOG_TRAINING_H
#define ORRERY_CATALOG_TRAINING_H

#include "models/training/step.h"
#include "sim/catalog/trainer.h"

/* Values of training_config.recompute beside those of enum training_recompute: as few whole layers as fit, and as many
 * of those that fit as make the step shortest. The others' activations stay, or move (models/training/tiers.h). */
enum { TRAINING_AS_NEEDED = RECOMPUTE_FULL + 1, TRAINING_FASTEST };

static inline bool training_chooses_layers(int recompute)
{
    return recompute == TRAINING_AS_NEEDED || recompute == TRAINING_FASTEST;
}

/* Changes of the LLM's shape; 0: as it is. */
struct training_shape {
    int64_t layers, hidden, heads, dense_layers, linear_layers;
};

/* NAN: as the GPU's PCIe link. */
struct training_offload_config {
    double optimizer_frac, cpu_update_per_s, flush_bytes_per_s, link_bytes_per_s;
    int flush, update; /* update 1: delayed */
    int64_t gpu_stride;
};

/* Absent: all zero. NAN: not limited; of the link as the GPU's PCIe link. */
struct training_tiers_config {
    int weights, gradients, optimizer, activations; /* enum training_home */
    int flow, gather, placement; /* placement 1: search */
    int64_t tiles, persistent, buffers, swapped;
    double host_bytes, disk_bytes, read_bytes_per_s, write_bytes_per_s, link_bytes_per_s, cpu_update_per_s;
    double others_disk_frac, others_link_frac;
};

struct training_cluster_config {
    int64_t stages;
    double network_bytes_per_s;
};

enum training_nic_groups { NIC_GROUPS_FASTEST, NIC_GROUPS_APART, NIC_GROUPS_MIXED };

/* Absent: all zero. */
struct training_nics_config {
    struct config_list clusters; /* struct training_cluster_config */
    double between_bytes_per_s;  /* NAN: not given */
    int groups, layers;          /* groups: enum training_nic_groups; layers 0: by speed, 1: even */
};

/* Lengths of sequences that are drawn; law 0: all have sequence_tokens. */
struct training_lengths_config {
    int law, split;
    int64_t median_tokens, batches, seed;
    double spread;
};

struct training_config {
    const char *llm, *trainer;
    struct training_shape shape;
    int64_t tensor_parallel, pipeline_parallel, pipeline_chunks, context_parallel, expert_parallel;
    bool sequence_parallel, scatter_gather, overlap_tensor, overlap_gradients, overlap_weights;
    int64_t expert_parts;   /* 0: the fastest number */
    int64_t gradient_parts; /* at most */
    int schedule, recompute, precision, context_form;
    int64_t micro_batch, micro_batches, global_batch, global_batch_tokens, sequence_tokens;
    int64_t recompute_layers, zero, shard_weights, shard_gradients, shard_optimizer, shard_secondary;
    int weight_message, gradient_message; /* enum training_message */
    double reserve_frac;
    struct training_offload_config offload;
    struct training_tiers_config tiers;
    struct training_nics_config nics;
    struct training_lengths_config lengths;
};

/* A plan within a job type: the plan, and the steps of each job. */
struct training_job_config {
    struct training_config plan; /* llm NULL: there is none */
    int64_t steps;               /* 0: not given */
};

/* Tables of a plan, of one within a job type, and of one that stands alone. */
extern const struct config_field training_config_fields[];
extern const struct config_field training_job_config_fields[];

struct training_request {
    const char *gpu;
    int64_t gpus, gpus_per_node;
    double network_bytes_per_s; /* NAN: no network */
    int64_t nodes_per_rack;     /* below one leaf switch; 0: all */
    bool nvlink;                /* the server has the links that the GPU may have */
    int64_t gpus_per_switch;    /* 0: as the GPU's file says */
    double bridge_share;        /* likewise, NAN */
    double link_share;          /* of the data sheet's bandwidth between GPUs of a node */
    struct training_config training;
};

extern const struct config_field training_request_fields[];

/* A plan that can be priced. Lives as long as its arena. */
struct training_setup {
    const struct training_config *config;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct calibration calibration;
    struct trainer_preset preset;
    struct training_trainer trainer;
    struct training_lengths *lengths; /* drawn; NULL: all are equal */
    struct training_plan plan; /* of the latest pricing */
    struct training_parts parts;
    int64_t gpus, gpus_per_node, nodes_per_rack;
    double network_bytes_per_s;
    bool trainer_measured; /* on this GPU */
};

/* Resolves names. `where`: path of the section, for findings. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int training_setup_make(const struct catalog *catalog, const struct training_request *request, const char *where,
                        struct arena *arena, struct training_setup *setup, struct diag *diag);

/* Fills setup->plan for `gpus` GPUs. With `rounds`, a batch that does not divide among the data ranks is rounded up;
 * else that is a problem. Returns NULL, or why this cannot be, as a static text. */
const char *training_setup_plan(struct training_setup *setup, int64_t gpus, bool rounds);

/* What to do about a problem that training_setup_plan returned: the numbers of stages that the layers allow, as "126
 * layers: pipeline_parallel times pipeline_chunks can be 1, 2, 3, ...". Empty if there is nothing to say. */
enum { TRAINING_HINT_CHARS = 240 };
void training_setup_hint(const struct training_setup *setup, const char *problem, char hint[TRAINING_HINT_CHARS]);

/* No step takes so long: 285 years. */
#define TRAINING_MOST_S 9e9
#define TRAINING_TEXT_OF(number) #number
#define TRAINING_NUMBER_TEXT(number) TRAINING_TEXT_OF(number)
#define TRAINING_TOO_LONG                                                                                              \
    "a step takes " TRAINING_NUMBER_TEXT(TRAINING_MOST_S) " s or longer: a bandwidth or rate is next to none"

/* Sequences of a step, of a global batch in sequences or, rounded, in tokens; 0: micro-batches are given. */
int64_t training_config_sequences(const struct training_config *config);

/* The same, and its price. *step is set if NULL is returned. With micro_batch 0 the fastest that fits; if none fits,
 * one sequence. */
const char *training_setup_price(struct training_setup *setup, int64_t gpus, bool rounds, struct training_step *step);

#endif
