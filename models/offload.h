/* Iteration cost when weights, KV cache and activations do not all lie in GPU memory: the transfers and computation of
 * each layer, by resource, and which of these a schedule overlaps.
 *
 * A placement states the shares of weights, KV cache and hidden states on each tier, and where attention over the cache
 * runs. Every layer then keeps each resource busy for some time,
 *
 *     to GPU    = (weights and hidden states beyond the GPU, and KV cache that the GPU attends to) / host link, down
 *     from GPU  = (new keys and values, hidden states) / host link, up
 *     disk      = (weights, KV cache and hidden states on disk) / disk, reading and writing
 *     host      = attention over KV cache in host memory or on disk, by the CPU
 *     device    = link + latency + max(flash, arithmetic units) of computational storage that computes attention;
 *                 prompts' keys and values go there, over its link and into its flash, beside everything else
 *     GPU       = the layer's share of the base cost model, without the attention that runs elsewhere
 *
 * all lines in the iteration index of a run. With the chain c = GPU + host + device of a layer, the schedules are
 *
 *     serial      c + everything else                                          nothing overlaps
 *     overlapped  max(c, to GPU, from GPU, disk read, disk write)              FlexGen, equation 1; ZeRO-Inference
 *     released    prefill max(to GPU + disk read, from GPU + disk write, c);   FlexGen as its cost_model.py adds up
 *                 decode to GPU + max(from GPU, disk read, disk write, c)
 *     grouped     of `interval` layers the last one streams in while its group computes (Select-N, arXiv 2502.08182):
 *                 floor(L/i) max(i c, layer's weights / host link) + (L - i floor(L/i)) c
 *
 * Sources: FlexGen (Sheng et al., ICML 2023, appendix A.3), InstInfer (arXiv 2409.04992), ZeRO-Inference (Aminabadi et
 * al., SC 2022), Select-N. Per GPU of a tensor-parallel group with a host link of its own; disks and computational
 * storage are shared by the group. An iteration that shares links with others lasts at least as long as what it moves
 * over them takes at its share: the least that any interleaving allows, reached where moving overlaps with computing;
 * of transfers that nothing overlaps with (serial) it is the bound from below. Leaves out the filling of the pipeline
 * in the first layer, quantised weights and caches. */
#ifndef ORRERY_MODELS_OFFLOAD_H
#define ORRERY_MODELS_OFFLOAD_H

#include "models/storage.h"
#include "models/iteration.h"
#include "models/piece.h"
#include "models/transformer.h"

#include <stdbool.h>

enum offload_tier { OFFLOAD_GPU_MEMORY, OFFLOAD_HOST, OFFLOAD_DISK, OFFLOAD_CSD, OFFLOAD_TIERS };

/* Resources that may limit an iteration. HBM: the GPU, if it reads longer than it computes at its peaks. */
enum offload_resource {
    OFFLOAD_GPU_COMPUTE,
    OFFLOAD_HBM,
    OFFLOAD_HOST_COMPUTE,
    OFFLOAD_CSD_LINK,
    OFFLOAD_FLASH,
    OFFLOAD_CSD_COMPUTE,
    OFFLOAD_TO_GPU,
    OFFLOAD_FROM_GPU,
    OFFLOAD_DISK_READ,
    OFFLOAD_DISK_WRITE,
    OFFLOAD_CSD_WRITE,
    OFFLOAD_CSD_FILL, /* prompts' keys and values on their way to computational storage */
    OFFLOAD_RESOURCES
};

/* Paths that iterations share; drives are read into host memory, computational storage directly. */
enum offload_lane {
    OFFLOAD_HOST_TO_GPU,
    OFFLOAD_GPU_TO_HOST,
    OFFLOAD_DISK_TO_HOST,
    OFFLOAD_HOST_TO_DISK,
    OFFLOAD_CSD_TO_GPU,
    OFFLOAD_GPU_TO_CSD,
    OFFLOAD_LANES
};

/* Bandwidth limits of an iteration on each shared lane, all GPUs together; INFINITY: none. */
struct offload_limits {
    double bytes_per_s[OFFLOAD_LANES];
};

enum offload_schedule { OFFLOAD_SERIAL, OFFLOAD_OVERLAPPED, OFFLOAD_RELEASED, OFFLOAD_GROUPED };

/* Where attention of decoding sequences runs over KV cache beyond the GPU and its computational storage. */
enum offload_attention { OFFLOAD_ATTEND_GPU, OFFLOAD_ATTEND_HOST };

/* Shares by enum offload_tier; each row adds up to 1. */
struct offload_shares {
    double weights[OFFLOAD_TIERS], cache[OFFLOAD_TIERS], hidden[OFFLOAD_TIERS];
};

/* One layer of an LLM on one of `gpus` GPUs. */
struct offload_layer {
    double layers, gpus;
    double weight_bytes;       /* of one layer */
    double other_bytes;        /* of everything outside the layers: embeddings */
    double kv_token_bytes;     /* keys and values of one token */
    double hidden_token_bytes; /* hidden state of one token */
    double token_flop;         /* matrix products of one token */
    double context_flop;       /* attention of one token, per token of context */
    double heads, ffn, hidden; /* query heads and widths, for activations */
    double number_bytes;
    struct csd_attention attention; /* of all GPUs together: heads and their width */
};

/* Sustained bytes/s of each path, INFINITY if it does not exist; FLOP/s of computing. */
struct offload_rates {
    double host_read, host_write_cache, host_write_hidden;
    double disk_read, disk_read_weights; /* the second: weights while decoding, which share the disk with the cache */
    double disk_write_cache, disk_write_hidden, disk_write_token;
    double csd_write;                    /* by their flash, all devices together */
    double csd_port;                     /* between them and the GPUs: the ports of all GPUs together */
    double host_flop_per_s;              /* attention on the CPU */
    /* Measured rates of the GPU in place of the base model; NAN: the base model. */
    double prompt_product_flop_per_s, prompt_attention_flop_per_s;
    double token_product_flop_per_s, token_attention_flop_per_s;
};

/* Computational storage: `count` devices that share the heads between them. */
struct offload_csd {
    const struct csd_spec *csd;
    const struct storage_device *device;
    double count;
};

/* The decision of an offloader. */
struct offload_placement {
    struct offload_shares shares;
    enum offload_attention attention;
    enum offload_schedule schedule;
    int64_t interval;             /* grouped: layers of a group, of which one is not on the GPU */
    int64_t gpu_batch, batches;   /* sequences that the GPU processes at once; batches per block */
    double kept_frac;             /* sparse attention in storage: share of channels and of tokens kept; 1: dense */
};

/* Everything that determines the time of an iteration. */
struct offload {
    struct offload_layer layer;
    struct offload_rates rates;
    struct offload_csd csd;       /* csd NULL without */
    struct offload_placement placement;
    const struct iteration_model *base; /* the same LLM with all of it on the GPU */
    double peak_flop_per_s, memory_bytes_per_s; /* peaks of the GPU */
};

/* An iteration: its time, the resources on its critical path (critical_s sums to seconds), and the busy time and bytes
 * of each resource, on the critical path or not. Of the resources that compute, only HBM, flash and the device's
 * arithmetic units have bytes; the bytes of the last two are the same. */
struct offload_step {
    struct piece seconds;
    struct piece critical_s[OFFLOAD_RESOURCES], busy_s[OFFLOAD_RESOURCES], bytes[OFFLOAD_RESOURCES];
    struct piece lanes[OFFLOAD_LANES]; /* bytes, of all GPUs together */
    double extrapolated_frac;          /* of the base model */
};

/* The layer of an LLM that is split over `tensor_parallel` GPUs. */
struct offload_layer offload_layer(const struct llm_spec *llm, int64_t tensor_parallel);

/* Resources that a schedule overlaps, as sets of bits 1 << resource: `serial` without overlap, and branches of which
 * the longest counts. `chain` is the set that the layers use one after another. */
enum { OFFLOAD_BRANCHES = 7 };
struct offload_overlap {
    unsigned serial, branches[OFFLOAD_BRANCHES];
    int n;
};
struct offload_overlap offload_overlap(enum offload_schedule schedule, bool prompts, unsigned chain);

/* An iteration, all layers together, without other traffic on the lanes. */
void offload_step(const struct offload *offload, const struct iteration_work *work, struct offload_step *step);

/* Extends the iteration to the time of its slowest lane at these limits: transfers spread over all layers, so a delayed
 * iteration transfers at its limit throughout. The critical path is then that lane. */
void offload_limit(const struct offload_limits *limits, struct offload_step *step);

/* Converts a step to an iteration's cost. Iterations with prompts do not repeat. */
void offload_cost_of_step(const struct offload_step *step, const struct iteration_work *work,
                          struct iteration_cost *cost);

/* An iteration_model's cost function; `model` is a struct offload. */
void offload_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost);

/* A workload for computing capacity: a block of sequences of equal length. */
struct offload_block {
    double sequences;          /* of the whole block */
    double gpu_batch;          /* that the GPU works on at once */
    double prompt, output;     /* tokens per sequence */
};

/* Peak bytes of each tier, for one GPU and its share of common memory (FlexGen, appendix A.3, and its cost_model.py):
 * homes of weights, cache and hidden states, and working buffers. Affine in the shares. */
struct offload_memory {
    double prefill[OFFLOAD_TIERS], decode[OFFLOAD_TIERS];
};
struct offload_memory offload_memory(const struct offload_layer *layer, const struct offload_placement *placement,
                                     const struct offload_block *block, double cache_copies);

/* The part of it without the homes of the KV cache: bytes of each tier that do not depend on the number of sequences,
 * served one GPU batch after another, except for their hidden states. */
void offload_fixed_bytes(const struct offload_layer *layer, const struct offload_placement *placement,
                         const struct offload_block *block, double *bytes);

/* FlexGen's model of attention on a CPU: the share of its rate reached with this GPU batch and hidden width; small
 * products are slower (cost_model.py, constants c1 to c3). */
double offload_host_frac(double gpu_batch, double hidden);

/* Everything on the GPU. */
struct offload_placement offload_placement_none(void);

/* Name of a resource in breakdowns: "flash", "link" ...; several resources have the same name. */
const char *offload_resource_name(enum offload_resource resource);
const char *offload_tier_name(enum offload_tier tier);

#endif
