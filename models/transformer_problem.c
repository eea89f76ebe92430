/* Why an LLM cannot have a shape, or be split so. */
#include "models/transformer.h"

#include <stddef.h>

static const char *size_problem(const struct llm_spec *llm)
{
    if (llm->layers < 1 || llm->layers > LLM_MAX_LAYERS) return "the number of layers must be from 1 to 1024";
    if (llm->hidden < 1 || llm->hidden > LLM_MAX_HIDDEN) return "the hidden state must be from 1 to 131072 wide";
    if (llm->q_heads < 1 || llm->kv_heads < 1 || llm->q_heads > LLM_MAX_HEADS || llm->kv_heads > LLM_MAX_HEADS)
        return "the number of attention and of key-value heads must be from 1 to 4096";
    if (llm->head_dim < 1 || llm->head_dim > LLM_MAX_HEAD_DIM) return "attention heads must be from 1 to 4096 wide";
    if (llm->ffn < 0 || llm->ffn > LLM_MAX_FFN || llm->expert_ffn < 0 || llm->expert_ffn > LLM_MAX_FFN)
        return "feed-forward layers must be at most 524288 wide";
    if (llm->dense_ffn < 0 || llm->dense_ffn > LLM_MAX_FFN) return "feed-forward layers must be at most 524288 wide";
    if (llm->vocab < 1 || llm->vocab > LLM_MAX_VOCAB) return "the vocabulary must hold from 1 to 16777216 tokens";
    if (llm->max_context < 1 || llm->max_context > LLM_MAX_CONTEXT)
        return "the longest context must be from 1 to 1073741824 tokens";
    return NULL;
}

/* Counts and lengths that no other check bounds below. */
static const char *sign_problem(const struct llm_spec *llm)
{
    if (llm->sliding_window < 0) return "the sliding window must not be negative";
    if (llm->full_layers < 0) return "the number of layers without a sliding window must not be negative";
    if (llm->window_q_heads < 0 || llm->window_kv_heads < 0 || llm->window_head_dim < 0 || llm->window_value_dim < 0)
        return "heads of layers with a window, and their widths, must not be negative";
    if (llm->index_tokens < 0) return "the tokens that an indexer chooses must not be negative";
    if (llm->mtp_layers < 0 || llm->mtp_layers > LLM_MAX_MTP_LAYERS)
        return "the layers for multi-token prediction must be from 0 to 16";
    if (llm->layer_norms < 0) return "the number of norms per layer must not be negative";
    return llm->published_parameters < 0 ? "the number of parameters must not be negative" : NULL;
}

static const char *latent_problem(const struct llm_spec *llm)
{
    if (llm->kv_latent == 0) {
        const bool described = llm->query_latent != 0 || llm->rotary_dim != 0;
        if (llm->value_dim < 0 || llm->value_dim > LLM_MAX_HEAD_DIM) return "values must be at most 4096 wide";
        return described ? "its latent attention is described but 'kv_latent' is missing" : NULL;
    }
    if (llm->kv_latent < 0 || llm->kv_latent > LLM_MAX_HIDDEN || llm->query_latent < 0 ||
        llm->query_latent > LLM_MAX_HIDDEN)
        return "latent vectors must be at most 131072 wide";
    if (llm->rotary_dim < 0 || llm->rotary_dim > LLM_MAX_HEAD_DIM) return "the rotary key must be at most 4096 wide";
    if (llm->value_dim < 1 || llm->value_dim > LLM_MAX_HEAD_DIM) return "values must be from 1 to 4096 wide";
    return llm->kv_heads == llm->q_heads ? NULL : "with latent attention every attention head has keys and values";
}

static const char *expert_problem(const struct llm_spec *llm)
{
    if (llm->experts == 0 && llm->expert_bias) return "its experts are described but not counted";
    if (llm->experts < 0 || llm->experts > LLM_MAX_EXPERTS) return "the number of experts must be at most 1024";
    if (llm->experts == 0) {
        if (llm->experts_per_token != 0 || llm->expert_ffn != 0) return "its experts are described but not counted";
        if (llm->alternating_dense) return "'alternating_dense' is given, but it has no experts";
        if (llm->dense_layers != 0) return "it has dense layers apart but no experts in the others";
        return llm->ffn > 0 ? NULL : "it has neither a feed-forward layer nor experts";
    }
    if (llm->experts_per_token < 1 || llm->experts_per_token > llm->experts)
        return "the experts per token must be from 1 to the number of experts";
    if (llm->dense_layers < 0 || llm->dense_layers >= llm->layers) return "none of its layers has experts";
    if (llm->alternating_dense && 2 * llm->dense_layers != llm->layers)
        return "with 'alternating_dense' half of the layers are dense: 'dense_layers' is half of 'layers'";
    if ((llm->dense_layers > 0) != (llm->dense_ffn > 0)) return "its dense layers are counted or described, not both";
    return llm->expert_ffn > 0 ? NULL : "the width of the experts' feed-forward layer is missing";
}

/* Of heads that layers with a window have for themselves. */
static const char *window_heads_problem(const struct llm_spec *llm)
{
    const struct llm_spec windowed = llm_windowed(llm);
    if (llm_heads_are_plain(llm)) return NULL;
    if (llm->keys_as_values && (llm->kv_latent > 0 || llm_value_dim(llm) != llm->head_dim))
        return "'keys_as_values' needs values as wide as keys, and no latent attention";
    if (llm->keys_as_values && llm->sliding_window > 0 && llm->full_layers == 0)
        return "'keys_as_values' is of layers without a window, and it has none";
    if (windowed.q_heads == llm->q_heads && windowed.kv_heads == llm->kv_heads && windowed.head_dim == llm->head_dim &&
        llm_value_dim(&windowed) == llm_value_dim(llm))
        return NULL;
    if (llm->kv_latent > 0 || llm->full_layers == 0)
        return "layers with a window have heads of their own beside layers without one only";
    if (windowed.q_heads > LLM_MAX_HEADS || windowed.kv_heads > LLM_MAX_HEADS || windowed.head_dim > LLM_MAX_HEAD_DIM ||
        windowed.value_dim > LLM_MAX_HEAD_DIM)
        return "heads of layers with a window are from 1 to 4096, from 1 to 4096 wide";
    return windowed.q_heads % windowed.kv_heads == 0
               ? NULL
               : "the attention heads of layers with a window are not a multiple of their key-value heads";
}

static const char *window_problem(const struct llm_spec *llm)
{
    if (llm->chunked && (llm->sliding_window == 0 || llm->kv_latent > 0))
        return "'chunked' needs a 'sliding_window', the length of a chunk, and no latent attention";
    if (llm->full_layers == 0) return NULL;
    if (llm->kv_latent > 0) return "latent attention has no window in some of the layers";
    if (llm->sliding_window == 0) return "layers without a sliding window are counted, but no layer has one";
    return llm->full_layers < llm->layers ? NULL : "none of its layers has the sliding window";
}

static const char *index_problem(const struct llm_spec *llm)
{
    if (llm->index_tokens == 0) {
        const bool described = llm->index_heads != 0 || llm->index_dim != 0 || llm->index_layers != 0;
        return described ? "its indexer is described but 'index_tokens' is missing" : NULL;
    }
    if (llm->kv_latent == 0 || llm->query_latent == 0) return "an indexer needs latent attention with a 'query_latent'";
    if (llm->sliding_window > 0) return "an indexer and a sliding window exclude each other";
    if (llm->index_heads < 1 || llm->index_heads > LLM_MAX_HEADS || llm->index_dim < 1 ||
        llm->index_dim > LLM_MAX_HEAD_DIM || llm->index_tokens > LLM_MAX_CONTEXT)
        return "an indexer has from 1 to 4096 heads, from 1 to 4096 wide";
    return llm->index_layers >= 1 && llm->index_layers <= llm->layers ? NULL : "'index_layers' is from 1 to 'layers'";
}

static const char *linear_problem(const struct llm_spec *llm)
{
    const int64_t counts[] = {llm->linear_key_heads, llm->linear_value_heads, llm->linear_key_dim,
                              llm->linear_value_dim, llm->linear_conv};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (llm->linear_layers == 0 && counts[i] != 0) return "its linear attention is described but has no layers";
        if (llm->linear_layers != 0 && (counts[i] < 1 || counts[i] > LLM_MAX_HEADS))
            return "heads, widths and convolution of linear attention are from 1 to 4096";
    }
    if (llm->linear_layers == 0) return NULL;
    if (llm->linear_layers < 0 || llm->linear_layers >= llm->layers) return "none of its layers has softmax attention";
    if (llm->kv_latent > 0 || llm->sliding_window > 0)
        return "linear attention stands beside whole attention with plain heads only";
    return llm->linear_value_heads % llm->linear_key_heads == 0
               ? NULL
               : "the value heads of linear attention are not a multiple of its key heads";
}

static const char *format_problem(const struct llm_spec *llm)
{
    static const char *const absent[LLM_PART_COUNT] = {
        [LLM_PART_DENSE] = "'dense_weights' is given, but all its layers have experts",
        [LLM_PART_SHARED] = "'shared_weights' is given, but it has no shared expert",
        [LLM_PART_EXPERTS] = "'expert_weights' is given, but it has no experts",
    };
    for (int part = 0; part < LLM_PART_COUNT; part++)
        if (llm->part_formats[part] > 0 && !llm_has(llm, (enum llm_part)part)) return absent[part];
    return NULL;
}

const char *llm_problem(const struct llm_spec *llm)
{
    const char *problem = size_problem(llm);
    if (!problem) problem = sign_problem(llm);
    if (problem) return problem;
    if (llm->q_heads % llm->kv_heads != 0)
        return "the number of attention heads is not a multiple of that of key-value heads";
    if (llm->position_embeddings < 0 || llm->position_embeddings > LLM_MAX_CONTEXT)
        return "there are too many learned positions";
    problem = latent_problem(llm);
    if (!problem) problem = window_problem(llm);
    if (!problem) problem = window_heads_problem(llm);
    if (!problem) problem = index_problem(llm);
    if (!problem) problem = linear_problem(llm);
    if (!problem && llm->wide_qk_norm && !llm->qk_norm) problem = "'wide_qk_norm' is given, but it has no 'qk_norm'";
    if (!problem && llm->attention_gate && llm->kv_latent > 0) problem = "latent attention has no gate on its results";
    if (!problem && llm->shared_gate && (llm->experts == 0 || llm->ffn == 0))
        problem = "a gate on the shared expert is described, but it has none";
    if (!problem) problem = expert_problem(llm);
    return problem ? problem : format_problem(llm);
}

static bool splits_heads(const struct llm_spec *llm, int64_t tensor_parallel)
{
    return llm->kv_heads % tensor_parallel == 0 || tensor_parallel % llm->kv_heads == 0;
}

const char *llm_parallel_problem(const struct llm_spec *llm, int64_t tensor_parallel, int64_t pipeline_parallel)
{
    const struct llm_spec windowed = llm_windowed(llm);
    if (tensor_parallel < 1 || pipeline_parallel < 1) return "parallelism starts at 1";
    if (llm->q_heads % tensor_parallel != 0 || windowed.q_heads % tensor_parallel != 0)
        return "the number of attention heads is not a multiple of the tensor parallelism";
    if (!splits_heads(llm, tensor_parallel) || !splits_heads(&windowed, tensor_parallel))
        return "the number of key-value heads is neither a multiple nor a divisor of the tensor parallelism";
    if (llm->ffn % tensor_parallel != 0 || llm->expert_ffn % tensor_parallel != 0 ||
        llm->dense_ffn % tensor_parallel != 0)
        return "the width of the feed-forward layer is not a multiple of the tensor parallelism";
    if (llm->linear_key_heads % tensor_parallel != 0)
        return "the number of key heads of linear attention is not a multiple of the tensor parallelism";
    if (pipeline_parallel > llm->layers) return "there are fewer layers than pipeline stages";
    return NULL;
}

const char *llm_data_problem(const struct llm_spec *llm, int64_t tensor_parallel, int64_t pipeline_parallel,
                             int64_t data_parallel)
{
    if (data_parallel < 1 || tensor_parallel % data_parallel != 0)
        return "the tensor parallelism is not a multiple of the data parallelism";
    if (data_parallel == 1) return llm_parallel_problem(llm, tensor_parallel, pipeline_parallel);
    if (llm->experts == 0) return "it has no experts for groups of data parallelism to share; take replicas instead";
    struct llm_spec rest = *llm;
    rest.expert_ffn = 0;
    return llm_parallel_problem(&rest, tensor_parallel / data_parallel, pipeline_parallel);
}
