/* The number of KV-cache blocks that fit on a GPU beside the weights, the activations of the largest batch and the
 * memory of the runtime. This is how vLLM sizes its cache (Kwon et al., SOSP 2023), from the model's shape instead of a
 * trial run. */
#ifndef ORRERY_MODELS_KVCAPACITY_H
#define ORRERY_MODELS_KVCAPACITY_H

#include "models/hardware.h"
#include "models/transformer.h"

struct kv_params {
    double usable_frac;      /* share of the memory that the engine may use (vLLM: gpu_memory_utilization) */
    double reserve_bytes;    /* what the driver keeps, CUDA context, collectives' buffers, CUDA graphs */
    int64_t batch_tokens;    /* largest number of tokens in an iteration */
    int64_t batch_sequences; /* largest number of sequences in an iteration */
    int64_t block_tokens;
};

/* All per GPU: usable = weights + activations + reserve + blocks * block + rest, 0 <= rest < block. */
struct kv_capacity {
    double usable_bytes, weight_bytes, activation_bytes, reserve_bytes, block_bytes;
    int64_t blocks; /* 0 when the weights alone do not fit */
};

/* The activations are those of the widest point of a layer, over batch_tokens: two hidden states, and gate, up and
 * their product in the feed-forward layer, or queries, keys, values and results of attention; then the logits of
 * batch_sequences, kept once in the model's format and twice in fp32 for sampling. */
struct kv_capacity kv_capacity(const struct gpu_spec *gpu, const struct llm_spec *llm, int64_t tensor_parallel,
                               int64_t pipeline_parallel, const struct kv_params *params);

#endif
