/* How much memory an offloaded LLM takes at its peak, tier by tier. */
#include "models/offload.h"

/* Activations of the widest moments of a layer for prompts, all at once (FlexGen, cost_model.py: queries, keys and
 * values, scores, both results of attention, its output, both feed-forward products). */
static double prefill_activations(const struct offload_layer *layer, double sequences, double prompt)
{
    const double row = layer->number_bytes * prompt;
    return sequences * (9.0 * row * layer->hidden + row * layer->heads * prompt + row * layer->ffn);
}

/* The same for one token each; attention only over cache that the GPU attends to. */
static double decode_activations(const struct offload_layer *layer, double sequences, double context, double attended)
{
    const double row = layer->number_bytes;
    const double attention = 2.0 * row * layer->hidden * (context + 1.0) + row * layer->heads * context;
    return sequences * (7.0 * row * layer->hidden + row * layer->ffn + attended * attention);
}

static void add_homes(const struct offload_layer *layer, const struct offload_shares *shares,
                      const struct offload_block *block, double tokens, double hidden_tokens, double *bytes)
{
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        const double gpus = tier == OFFLOAD_GPU_MEMORY ? 1.0 : layer->gpus;
        bytes[tier] += gpus * (layer->layers * layer->weight_bytes * shares->weights[tier] +
                               layer->layers * layer->kv_token_bytes * block->sequences * tokens * shares->cache[tier] +
                               layer->hidden_token_bytes * block->sequences * hidden_tokens * shares->hidden[tier]);
    }
    bytes[OFFLOAD_GPU_MEMORY] += layer->other_bytes;
}

struct offload_memory offload_memory(const struct offload_layer *layer, const struct offload_placement *placement,
                                     const struct offload_block *block, double cache_copies)
{
    const struct offload_shares *shares = &placement->shares;
    const double batch = block->gpu_batch, context = block->prompt + block->output;
    const double streamed = 1.0 - shares->weights[OFFLOAD_GPU_MEMORY], moved = 1.0 - shares->hidden[OFFLOAD_GPU_MEMORY];
    const double attended = shares->cache[OFFLOAD_GPU_MEMORY];
    struct offload_memory memory = {{0}, {0}};
    add_homes(layer, shares, block, block->prompt, block->prompt, memory.prefill);
    add_homes(layer, shares, block, context, 1.0, memory.decode);
    memory.prefill[OFFLOAD_GPU_MEMORY] += 2.0 * layer->weight_bytes * streamed +
                                          layer->hidden_token_bytes * block->prompt * batch * moved +
                                          prefill_activations(layer, batch, block->prompt);
    memory.decode[OFFLOAD_GPU_MEMORY] += 2.0 * layer->weight_bytes * streamed +
                                         layer->hidden_token_bytes * batch * moved +
                                         layer->kv_token_bytes * batch * context * attended +
                                         decode_activations(layer, batch, context, attended);
    const double through_host = 1.0 - shares->weights[OFFLOAD_GPU_MEMORY];
    memory.prefill[OFFLOAD_HOST] += layer->gpus * (layer->weight_bytes * through_host +
                                                   layer->hidden_token_bytes * block->prompt * batch * moved);
    memory.decode[OFFLOAD_HOST] += layer->gpus *
                                   (layer->weight_bytes * shares->weights[OFFLOAD_DISK] +
                                    2.0 * layer->hidden_token_bytes * batch * shares->hidden[OFFLOAD_DISK] +
                                    2.0 * layer->kv_token_bytes * batch * context * shares->cache[OFFLOAD_DISK]);
    memory.prefill[OFFLOAD_CSD] *= cache_copies;
    memory.decode[OFFLOAD_CSD] *= cache_copies;
    return memory;
}

static double cache_bytes(const struct offload_layer *layer, const struct offload_placement *placement,
                          const struct offload_block *block, int tier, double tokens)
{
    const double gpus = tier == OFFLOAD_GPU_MEMORY ? 1.0 : layer->gpus;
    return gpus * layer->layers * layer->kv_token_bytes * block->sequences * tokens * placement->shares.cache[tier];
}

void offload_fixed_bytes(const struct offload_layer *layer, const struct offload_placement *placement,
                         const struct offload_block *block, double *bytes)
{
    const struct offload_memory memory = offload_memory(layer, placement, block, 1.0);
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        const double prefill = memory.prefill[tier] - cache_bytes(layer, placement, block, tier, block->prompt);
        const double decode = memory.decode[tier] -
                              cache_bytes(layer, placement, block, tier, block->prompt + block->output);
        bytes[tier] = prefill > decode ? prefill : decode;
    }
}
