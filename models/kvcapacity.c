#include "models/kvcapacity.h"

#include <math.h>

/* Numbers per token, beside two hidden states, at the widest point of a layer. */
static double widest_numbers(const struct llm_spec *llm, const struct llm_shard *shard)
{
    const double passes = llm->gated_ffn ? 3.0 : 2.0;
    const double sparse = passes * (shard->ffn + (double)llm->experts_per_token * shard->expert_ffn);
    const double dense = passes * shard->dense_ffn;
    const double heads = (shard->q_heads + shard->kv_heads) * (double)(llm_key_dim(llm) + llm_value_dim(llm));
    return fmax(heads, fmax(sparse, dense));
}

static double activation_bytes(const struct llm_spec *llm, const struct llm_shard *shard,
                               const struct kv_params *params)
{
    const double number_bytes = number_format_bytes(llm->compute);
    const double token_numbers = 2.0 * (double)llm->hidden + widest_numbers(llm, shard);
    const double logit_bytes = (double)llm->vocab * (number_bytes + 2.0 * number_format_bytes(FORMAT_FP32));
    return (double)params->batch_tokens * token_numbers * number_bytes + (double)params->batch_sequences * logit_bytes;
}

struct kv_capacity kv_capacity(const struct gpu_spec *gpu, const struct llm_spec *llm, int64_t tensor_parallel,
                               int64_t pipeline_parallel, const struct kv_params *params)
{
    const struct llm_shard shard = llm_shard(llm, tensor_parallel, pipeline_parallel);
    struct kv_capacity capacity = {
        .usable_bytes = gpu->memory_bytes * params->usable_frac,
        .weight_bytes = shard.weight_bytes,
        .activation_bytes = activation_bytes(llm, &shard, params),
        .reserve_bytes = params->reserve_bytes,
        .block_bytes = shard.kv_bytes_per_token * (double)params->block_tokens,
    };
    const double left_bytes = capacity.usable_bytes - capacity.weight_bytes - capacity.activation_bytes -
                              capacity.reserve_bytes;
    if (left_bytes > 0.0) capacity.blocks = (int64_t)floor(left_bytes / capacity.block_bytes);
    return capacity;
}
