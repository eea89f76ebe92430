/* Tables of the catalog's files. A number may say where it comes from: {"value": V, "source": "...", "sure": "..."}. */
#include "sim/catalog/catalog.h"

#include <float.h>

static const char *const fabrics[] = {"none", "bridge", "mesh", "switch", NULL};

static const char *const formats[] = {
#define FORMAT_NAME(id, name, bytes) name,
    NUMBER_FORMATS(FORMAT_NAME)
#undef FORMAT_NAME
        NULL,
};

#define GPU(member) .offset = offsetof(struct gpu_spec, member)
#define LLM(member) .offset = offsetof(struct llm_spec, member)
#define POSITIVE .min = DBL_MIN, .max = 0
#define COUNT .min = 1, .max = 0

/* Offsets are from the start of struct gpu_spec: the section holds no struct of its own. */
#define PEAK(format_name, format, more)                                                                                \
    {.name = format_name, .kind = CONFIG_QUANTITY, .flags = CONFIG_SOURCED | (more),                                   \
     .offset = (format) * sizeof(double), .dim = UNIT_FLOP_PER_S, POSITIVE,                                            \
     .help = "dense peak of matrix products in " format_name ", accumulating in fp32"}

static const struct config_field peak_fields[] = {
    PEAK("fp32", FORMAT_FP32, CONFIG_REQUIRED),
    PEAK("tf32", FORMAT_TF32, CONFIG_OPTIONAL),
    PEAK("fp16", FORMAT_FP16, CONFIG_OPTIONAL),
    PEAK("bf16", FORMAT_BF16, CONFIG_OPTIONAL),
    PEAK("fp8", FORMAT_FP8, CONFIG_OPTIONAL),
    PEAK("int8", FORMAT_INT8, CONFIG_OPTIONAL),
    {0},
};

const struct config_field catalog_gpu_fields[] = {
    {.name = "architecture", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, GPU(architecture),
     .help = "generation of the chip"},
    {.name = "peak", .kind = CONFIG_SECTION, GPU(peak_flop_per_s), .fields = peak_fields,
     .help = "peaks by number format; a format that is absent runs in the next wider one"},
    {.name = "memory", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, GPU(memory_bytes),
     .dim = UNIT_BYTES, POSITIVE, .help = "device memory as nvidia-smi reports it in total"},
    {.name = "memory_bandwidth", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED | CONFIG_SOURCED,
     GPU(memory_bytes_per_s), .dim = UNIT_BYTES_PER_S, POSITIVE, .help = "peak bandwidth of the device memory"},
    {.name = "l2", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, GPU(l2_bytes),
     .dim = UNIT_BYTES, POSITIVE, .help = "L2 cache"},
    {.name = "sms", .kind = CONFIG_INT, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, GPU(sm_count), COUNT,
     .help = "streaming multiprocessors"},
    {.name = "boost_clock", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, GPU(boost_hz),
     .dim = UNIT_FREQUENCY, POSITIVE, .help = "highest SM clock; peaks of tensor cores may hold at a lower one"},
    {.name = "base_clock", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL | CONFIG_SOURCED, GPU(base_hz),
     .dim = UNIT_FREQUENCY, POSITIVE, .help = "SM clock that is kept at the power limit"},
    {.name = "tdp", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, GPU(tdp_w), .dim = UNIT_POWER,
     POSITIVE, .help = "power limit as delivered"},
    {.name = "idle_power", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL | CONFIG_SOURCED, GPU(idle_w),
     .dim = UNIT_POWER, POSITIVE, .help = "power without any process on the GPU"},
    {.name = "context_power", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL | CONFIG_SOURCED, GPU(context_w),
     .dim = UNIT_POWER, POSITIVE, .help = "power with a process on the GPU that does nothing"},
    {.name = "price", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL | CONFIG_SOURCED, GPU(usd_per_h),
     .dim = UNIT_MONEY_PER_H, POSITIVE, .help = "list price of renting one, on demand"},
    {.name = "fabric", .kind = CONFIG_CHOICE, GPU(fabric), .value = "none", .choices = fabrics,
     .help = "what links the GPUs of a node besides PCIe: bridged pairs, a cube mesh, a switch"},
    {.name = "nvlink_gpus", .kind = CONFIG_INT, GPU(nvlink_gpus), .value = "0", .min = 0, .max = 1024,
     .help = "GPUs that reach each other over NVLink"},
    {.name = "nvlink_bandwidth", .kind = CONFIG_QUANTITY, .flags = CONFIG_SOURCED, GPU(nvlink_bytes_per_s),
     .dim = UNIT_BYTES_PER_S, .value = "0GB/s", .help = "NVLink bandwidth of a GPU, per direction"},
    {.name = "pcie_bandwidth", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED | CONFIG_SOURCED,
     GPU(pcie_bytes_per_s), .dim = UNIT_BYTES_PER_S, POSITIVE, .help = "PCIe bandwidth of a GPU, per direction"},
    {0},
};

#define LLM_COUNT(text, member, most, what)                                                                            \
    {.name = text, .kind = CONFIG_INT, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, LLM(member), .min = 1, .max = most,  \
     .help = what}
#define LLM_OPTION(text, member, most, what)                                                                           \
    {.name = text, .kind = CONFIG_INT, .flags = CONFIG_SOURCED, LLM(member), .value = "0", .min = 0, .max = most,      \
     .help = what}
#define LLM_FLAG(text, member, what)                                                                                   \
    {.name = text, .kind = CONFIG_BOOL, LLM(member), .value = "false", .help = what}
#define LLM_FORMAT(text, member, what)                                                                                 \
    {.name = text, .kind = CONFIG_CHOICE, LLM(member), .value = "fp16", .choices = formats, .help = what}

const struct config_field catalog_llm_fields[] = {
    {.name = "source", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, LLM(source),
     .help = "where the values of this file come from, those apart that name their own source"},
    LLM_COUNT("layers", layers, LLM_MAX_LAYERS, "transformer layers"),
    LLM_COUNT("hidden", hidden, LLM_MAX_HIDDEN, "width of the hidden state"),
    LLM_COUNT("q_heads", q_heads, LLM_MAX_HEADS, "attention heads"),
    LLM_COUNT("kv_heads", kv_heads, LLM_MAX_HEADS,
              "heads of keys and values; fewer than q_heads: grouped-query attention"),
    LLM_COUNT("head_dim", head_dim, LLM_MAX_HEAD_DIM,
              "width of an attention head; with latent attention of its keys, the rotary part left out"),
    LLM_OPTION("query_latent", query_latent, LLM_MAX_HIDDEN,
               "latent attention: width of what queries are made of, 0 for the hidden state"),
    LLM_OPTION("kv_latent", kv_latent, LLM_MAX_HIDDEN,
               "latent attention: width of what keys and values are made of and the cache holds; 0: plain attention"),
    LLM_OPTION("rotary_dim", rotary_dim, LLM_MAX_HEAD_DIM, "latent attention: width of the rotary part of keys"),
    LLM_OPTION("value_dim", value_dim, LLM_MAX_HEAD_DIM, "latent attention: width of a head's values"),
    LLM_OPTION("ffn", ffn, LLM_MAX_FFN, "width of the feed-forward layer; beside experts: of the shared expert"),
    LLM_COUNT("vocab", vocab, LLM_MAX_VOCAB, "rows of the vocabulary matrices"),
    LLM_COUNT("max_context", max_context, LLM_MAX_CONTEXT,
              "longest context the LLM was trained or extended for, in tokens"),
    LLM_OPTION("sliding_window", sliding_window, -1, "tokens that a query looks back, 0 for all"),
    LLM_OPTION("experts", experts, LLM_MAX_EXPERTS, "experts per layer, 0 for a dense LLM"),
    LLM_OPTION("experts_per_token", experts_per_token, LLM_MAX_EXPERTS, "experts that serve a token"),
    LLM_OPTION("expert_ffn", expert_ffn, LLM_MAX_FFN, "width of an expert's feed-forward layer"),
    LLM_OPTION("dense_layers", dense_layers, LLM_MAX_LAYERS,
               "first layers, which have a dense feed-forward layer instead"),
    LLM_OPTION("dense_ffn", dense_ffn, LLM_MAX_FFN, "width of the feed-forward layer of these"),
    LLM_FLAG("gated_ffn", gated_ffn, "gate and up projection instead of up alone"),
    LLM_FLAG("parallel_block", parallel_block, "attention and feed-forward layer side by side"),
    LLM_FLAG("tied_embeddings", tied_embeddings, "the head shares the input embedding"),
    LLM_FLAG("qkv_bias", qkv_bias, "bias on query, key and value projections"),
    LLM_FLAG("output_bias", output_bias, "bias on the attention's output projection"),
    LLM_FLAG("ffn_bias", ffn_bias, "bias on the feed-forward projections"),
    LLM_FLAG("head_bias", head_bias, "bias on the head"),
    LLM_FLAG("norm_bias", norm_bias, "norms with weight and bias (LayerNorm) instead of weight alone (RMSNorm)"),
    LLM_FLAG("qk_norm", qk_norm, "norms on queries and keys"),
    LLM_FLAG("embedding_norm", embedding_norm, "norm after the input embedding"),
    {.name = "layer_norms", .kind = CONFIG_INT, LLM(layer_norms), .value = "2", .min = 0, .max = 8,
     .help = "norms per layer"},
    LLM_OPTION("position_embeddings", position_embeddings, LLM_MAX_CONTEXT, "learned positions"),
    LLM_FORMAT("weights", weights, "number format of the layers' matrices"),
    LLM_FORMAT("compute", compute, "number format of computing, activations and all other weights"),
    LLM_FORMAT("kv", kv, "number format of the KV cache"),
    LLM_OPTION("parameters", published_parameters, -1, "number of parameters that the publisher states"),
    {0},
};
