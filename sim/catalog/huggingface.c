#include "sim/catalog/huggingface.h"

#include "sim/catalog/huggingface_fields.h"
#include "sim/catalog/huggingface_formats.h"
#include "sim/catalog/huggingface_gpt.h"
#include "sim/catalog/huggingface_hybrids.h"
#include "sim/catalog/huggingface_modules.h"

#include <stdio.h>
#include <string.h>

/* The window of a line whose layers from `max_window_layers` on have one. */
static void read_late_windows(struct reading *reading, struct llm_spec *llm)
{
    take(reading, "sliding_window");
    take(reading, "max_window_layers");
    if (!read_flag(reading, "use_sliding_window", false)) return;
    const int64_t full_layers = read_count(reading, "max_window_layers", 28);
    llm->sliding_window = full_layers < llm->layers ? read_window_length(reading, 0) : 0;
    llm->full_layers = llm->sliding_window > 0 ? full_layers : 0;
}

static void clear_linear(struct llm_spec *llm)
{
    llm->linear_layers = llm->linear_key_heads = llm->linear_value_heads = 0;
    llm->linear_key_dim = llm->linear_value_dim = llm->linear_conv = 0;
}

/* Modules of a quantised checkpoint are sought in layers with linear attention that are spread evenly. */
static void check_order(struct reading *reading, const struct json_node *types, const struct llm_spec *llm)
{
    int64_t layer = 0;
    for (const struct json_node *type = types->first; type && llm->linear_layers > 0; type = type->next, layer++) {
        if (has_text(type, "linear_attention") == module_layer_is_linear(llm, layer)) continue;
        if (reading->is_quantised)
            report(reading, type, "layer_types",
                   "spreads linear attention unevenly: its quantised modules are not read");
        return;
    }
}

/* Which layers have the sliding window or linear attention, as newer files list them. The list decides where it is
 * there. */
static void read_layer_types(struct reading *reading, struct llm_spec *llm)
{
    const struct json_node *types = find(reading, "layer_types");
    int64_t full_layers = 0, linear_layers = 0;
    if (!types) return;
    if (types->kind != JSON_LIST || (int64_t)types->n != llm->layers) {
        report(reading, types, "layer_types", "must list the kind of each layer");
        return;
    }
    for (const struct json_node *type = types->first; type; type = type->next) {
        const bool is_sparse = llm->index_tokens > 0 && has_text(type, "deepseek_sparse_attention");
        const bool is_full = has_text(type, "full_attention") || is_sparse;
        const bool is_linear = llm->linear_layers > 0 && has_text(type, "linear_attention");
        full_layers += is_full;
        linear_layers += is_linear;
        if (llm->chunked && has_text(type, "chunked_attention")) continue;
        if (is_full || is_linear || (!llm->chunked && llm->sliding_window > 0 && has_text(type, "sliding_attention")))
            continue;
        report(reading, type, "layer_types",
               "has a kind that is not modelled (full_attention is, and sliding_attention beside a sliding_window)");
        return;
    }
    llm->linear_layers = linear_layers;
    if (linear_layers == 0) clear_linear(llm);
    check_order(reading, types, llm);
    if (full_layers == llm->layers) llm->sliding_window = 0;
    llm->full_layers = llm->sliding_window > 0 ? full_layers : 0;
}

static void read_llama(struct reading *reading, struct llm_spec *llm)
{
    huggingface_decoder(reading, llm, -1);
}

static void read_mistral(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->sliding_window = read_window_length(reading, 0);
}

static void read_mixtral(struct reading *reading, struct llm_spec *llm)
{
    read_mistral(reading, llm);
    llm->experts = read_required(reading, "num_local_experts");
    llm->experts_per_token = read_required(reading, "num_experts_per_tok");
    llm->expert_ffn = llm->ffn;
    llm->ffn = 0;
}

/* gpt-oss: every other layer has a window, the first one too. */
static void read_gpt_oss(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->kv_heads = read_count(reading, "num_key_value_heads", 8);
    llm->head_dim = read_count(reading, "head_dim", 64);
    llm->sliding_window = read_window(reading, 128);
    llm->experts = read_either(reading, "num_local_experts", "num_experts");
    llm->experts_per_token = read_required(reading, "num_experts_per_tok");
    llm->expert_ffn = llm->ffn;
    llm->ffn = 0;
    llm->qkv_bias = llm->output_bias = read_flag(reading, "attention_bias", true);
    llm->full_layers = llm->sliding_window > 0 ? llm->layers / 2 : 0;
    llm->expert_bias = llm->attention_sinks = true;
}

/* First generation. Its embeddings are scaled, which takes no time of its own. */
static void read_gemma(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->head_dim = read_count(reading, "head_dim", 256);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", true);
}

/* First generation: the feed-forward width counts gate and up together. */
static void read_qwen(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->head_dim = read_count(reading, "kv_channels", llm->head_dim);
    llm->ffn /= 2;
    llm->qkv_bias = true;
}

static void read_qwen2(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->qkv_bias = true;
    read_late_windows(reading, llm);
}

static void read_qwen3(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->head_dim = read_count(reading, "head_dim", 128);
    llm->qk_norm = true;
    read_late_windows(reading, llm);
}

static void read_qwen3_moe(struct reading *reading, struct llm_spec *llm)
{
    read_qwen3(reading, llm);
    llm->experts = read_required(reading, "num_experts");
    llm->experts_per_token = read_required(reading, "num_experts_per_tok");
    llm->expert_ffn = read_required(reading, "moe_intermediate_size");
    llm->ffn = 0;
    refuse_dense_between(reading);
}

/* The language model of a multimodal file, whose ties may stand beside it. */
static void read_multimodal(struct reading *reading, struct llm_spec *llm,
                            void (*read)(struct reading *reading, struct llm_spec *llm))
{
    const bool tied = read_flag(reading, "tie_word_embeddings", false);
    read_text_config(reading);
    read(reading, llm);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", tied);
}

static void read_qwen3_vl(struct reading *reading, struct llm_spec *llm)
{
    read_multimodal(reading, llm, read_qwen3);
}

static void read_qwen3_vl_moe(struct reading *reading, struct llm_spec *llm)
{
    read_multimodal(reading, llm, read_qwen3_moe);
}

/* Qwen2's shape, with layers for multi-token prediction. */
static void read_mimo(struct reading *reading, struct llm_spec *llm)
{
    read_qwen2(reading, llm);
    llm->mtp_layers = read_count(reading, "num_nextn_predict_layers", 0);
}

/* Experts with shared ones beside them, dense layers first. */
static void read_deepseek_experts(struct reading *reading, struct llm_spec *llm)
{
    take(reading, "n_group");
    take(reading, "topk_group");
    llm->dense_layers = read_count(reading, "first_k_dense_replace", 0);
    llm->dense_ffn = llm->dense_layers > 0 ? llm->ffn : 0;
    llm->experts = read_required(reading, "n_routed_experts");
    llm->experts_per_token = read_required(reading, "num_experts_per_tok");
    llm->expert_ffn = read_required(reading, "moe_intermediate_size");
    llm->mtp_layers = read_count(reading, "num_nextn_predict_layers", 0);
    const int64_t shared = read_count(reading, "n_shared_experts", 0);
    if (shared <= LLM_MAX_EXPERTS && llm->expert_ffn <= LLM_MAX_FFN)
        llm->ffn = shared * llm->expert_ffn;
    else
        report(reading, find(reading, "n_shared_experts"), "n_shared_experts", "gives a layer of impossible width");
    if (read_count(reading, "moe_layer_freq", 1) != 1)
        report(reading, find(reading, "moe_layer_freq"), "moe_layer_freq",
               "is not 1: dense layers between those with experts are not modelled");
}

/* The second and third generation: latent attention, shared experts, dense layers first. What differs between them
 * (how experts are scored and grouped) does not show in the shape. */
static void read_deepseek(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->kv_heads = llm->q_heads;
    llm->head_dim = read_required(reading, "qk_nope_head_dim");
    llm->rotary_dim = read_required(reading, "qk_rope_head_dim");
    llm->value_dim = read_required(reading, "v_head_dim");
    llm->kv_latent = read_required(reading, "kv_lora_rank");
    llm->query_latent = read_count(reading, "q_lora_rank", 0);
    read_deepseek_experts(reading, llm);
}

/* Kimi K2.5: the same in a multimodal file. */
static void read_kimi_k25(struct reading *reading, struct llm_spec *llm)
{
    read_text_config(reading);
    read_deepseek(reading, llm);
}

/* DeepSeek-V3.2 and GLM-5: the same with an indexer. GLM-5.2 lists the layers that have one of their own. */
static void read_deepseek_sparse(struct reading *reading, struct llm_spec *llm)
{
    read_deepseek(reading, llm);
    llm->index_heads = read_required(reading, "index_n_heads");
    llm->index_dim = read_required(reading, "index_head_dim");
    llm->index_tokens = read_required(reading, "index_topk");
    llm->index_layers = llm->layers;
    const struct json_node *types = find(reading, "indexer_types");
    if (types == NULL) return;
    llm->index_layers = 0;
    for (const struct json_node *type = types->first; type; type = type->next) {
        llm->index_layers += has_text(type, "full");
        if (has_text(type, "full") || has_text(type, "shared")) continue;
        report(reading, type, "indexer_types", "has a kind that is not modelled (full and shared are)");
        return;
    }
    if (types->kind != JSON_LIST || (int64_t)types->n != llm->layers)
        report(reading, types, "indexer_types", "must list the kind of each layer");
}

/* GLM-4.5 and later: the DeepSeek line's experts beside grouped queries. */
static void read_glm4_moe(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->kv_heads = read_count(reading, "num_key_value_heads", 8);
    llm->head_dim = read_count(reading, "head_dim", 128);
    llm->output_bias = false;
    llm->qk_norm = read_flag(reading, "use_qk_norm", false);
    read_deepseek_experts(reading, llm);
}

/* MiniMax-M2 and later: small experts alone. The weights of its norms of queries and keys, which reach over all heads,
 * are counted as of one head. */
static void read_minimax_m2(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->experts = read_required(reading, "num_local_experts");
    llm->experts_per_token = read_required(reading, "num_experts_per_tok");
    llm->expert_ffn = llm->ffn;
    llm->ffn = read_count(reading, "shared_intermediate_size", 0);
    llm->qk_norm = llm->wide_qk_norm = read_flag(reading, "use_qk_norm", false);
    take(reading, "num_mtp_modules");
    llm->mtp_layers = read_flag(reading, "use_mtp", false) ? read_count(reading, "num_mtp_modules", 0) : 0;
    const struct json_node *kinds = find(reading, "attn_type_list");
    for (const struct json_node *kind = kinds != NULL ? kinds->first : NULL; kind != NULL; kind = kind->next)
        if (kind->kind != JSON_NUMBER || kind->number != 1.0) {
            report(reading, kind, "attn_type_list",
                   "has a layer of another kind than 1: linear attention is not modelled");
            return;
        }
}

static void read_internlm(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->qkv_bias = llm->output_bias = read_flag(reading, "bias", true);
}

static void read_phi(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    const int64_t kv_heads = llm->kv_heads;
    huggingface_set_gpt(llm, true);
    llm->kv_heads = kv_heads;
    llm->gated_ffn = false;
    llm->parallel_block = llm->head_bias = true;
    llm->layer_norms = 1;
}

static void read_internlm2(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    llm->qkv_bias = llm->output_bias = read_flag(reading, "bias", false);
}

static void read_starcoder2(struct reading *reading, struct llm_spec *llm)
{
    read_mistral(reading, llm);
    llm->gated_ffn = false;
    llm->norm_bias = true;
    llm->qkv_bias = llm->output_bias = llm->ffn_bias = read_flag(reading, "use_bias", true);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", true);
}

static void read_gpt_neox(struct reading *reading, struct llm_spec *llm)
{
    read_llama(reading, llm);
    huggingface_set_gpt(llm, true);
    llm->gated_ffn = false;
    llm->qkv_bias = llm->output_bias = read_flag(reading, "attention_bias", true);
    llm->parallel_block = read_flag(reading, "use_parallel_residual", true);
}

/* Matrices of several projections are stored as one, which changes no count. Only some variants have a window. */
static void read_baichuan(struct reading *reading, struct llm_spec *llm)
{
    llm->layers = read_required(reading, "num_hidden_layers");
    llm->hidden = read_required(reading, "hidden_size");
    llm->q_heads = llm->kv_heads = read_required(reading, "num_attention_heads");
    llm->head_dim = llm->q_heads > 0 ? llm->hidden / llm->q_heads : 0;
    llm->ffn = read_required(reading, "intermediate_size");
    llm->vocab = read_required(reading, "vocab_size");
    llm->max_context = read_context(
        reading, find(reading, "model_max_length") ? "model_max_length" : "max_position_embeddings", -1);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", false);
    llm->gated_ffn = true;
    llm->layer_norms = 2;
}

static void read_qwen2_moe(struct reading *reading, struct llm_spec *llm)
{
    read_qwen2(reading, llm);
    huggingface_gated_experts(reading, llm);
}

static const struct architecture {
    const char *model_type, *class_name;
    void (*read)(struct reading *reading, struct llm_spec *llm);
} architectures[] = {
    {"llama", "LlamaForCausalLM", read_llama},
    {"mistral", "MistralForCausalLM", read_mistral},
    {"mixtral", "MixtralForCausalLM", read_mixtral},
    {"gpt_oss", "GptOssForCausalLM", read_gpt_oss},
    {"gemma", "GemmaForCausalLM", read_gemma},
    {"gemma3", "Gemma3ForConditionalGeneration", huggingface_gemma3},
    {"gemma3_text", "Gemma3ForCausalLM", huggingface_gemma3},
    {"gemma4", "Gemma4ForConditionalGeneration", huggingface_gemma4},
    {"gemma4_text", "Gemma4ForCausalLM", huggingface_gemma4},
    {"qwen", "QWenLMHeadModel", read_qwen},
    {"qwen2", "Qwen2ForCausalLM", read_qwen2},
    {"qwen3", "Qwen3ForCausalLM", read_qwen3},
    {"qwen3_moe", "Qwen3MoeForCausalLM", read_qwen3_moe},
    {"deepseek_v2", "DeepseekV2ForCausalLM", read_deepseek},
    {"deepseek_v3", "DeepseekV3ForCausalLM", read_deepseek},
    {"kimi_k2", "DeepseekV3ForCausalLM", read_deepseek},
    {"kimi_k25", "KimiK25ForConditionalGeneration", read_kimi_k25},
    {"deepseek_v32", "DeepseekV32ForCausalLM", read_deepseek_sparse},
    {"glm_moe_dsa", "GlmMoeDsaForCausalLM", read_deepseek_sparse},
    {"qwen2_moe", "Qwen2MoeForCausalLM", read_qwen2_moe},
    {"qwen3_next", "Qwen3NextForCausalLM", huggingface_qwen3_next},
    {"qwen3_5", "Qwen3_5ForConditionalGeneration", huggingface_qwen3_5},
    {"qwen3_5_text", "Qwen3_5ForCausalLM", huggingface_qwen3_5},
    {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", huggingface_qwen3_next},
    {"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", huggingface_qwen3_next},
    {"llama4", "Llama4ForConditionalGeneration", huggingface_llama4},
    {"llama4_text", "Llama4ForCausalLM", huggingface_llama4},
    {"qwen3_vl", "Qwen3VLForConditionalGeneration", read_qwen3_vl},
    {"qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration", read_qwen3_vl_moe},
    {"mimo", "MiMoForCausalLM", read_mimo},
    {"mimo_v2_flash", "MiMoV2FlashForCausalLM", huggingface_mimo_v2_flash},
    {"glm4_moe", "Glm4MoeForCausalLM", read_glm4_moe},
    {"minimax_m2", "MiniMaxM2ForCausalLM", read_minimax_m2},
    {"internlm", "InternLMForCausalLM", read_internlm},
    {"opt", "OPTForCausalLM", huggingface_opt},
    {"falcon", "FalconForCausalLM", huggingface_falcon},
    {"bloom", "BloomForCausalLM", huggingface_bloom},
    {"phi", "PhiForCausalLM", read_phi},
    {"phi3", "Phi3ForCausalLM", read_mistral},
    {"starcoder2", "Starcoder2ForCausalLM", read_starcoder2},
    {"baichuan", "BaichuanForCausalLM", read_baichuan},
    {"internlm2", "InternLM2ForCausalLM", read_internlm2},
    {"gpt2", "GPT2LMHeadModel", huggingface_gpt2},
    {"gpt_bigcode", "GPTBigCodeForCausalLM", huggingface_gpt_bigcode},
    {"gptj", "GPTJForCausalLM", huggingface_gptj},
    {"gpt_neox", "GPTNeoXForCausalLM", read_gpt_neox},
    {"mpt", "MPTForCausalLM", huggingface_mpt},
    {"Yi", "YiForCausalLM", read_llama},
    {"RefinedWeb", "RWForCausalLM", huggingface_falcon},
};

enum { N_ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* Types whose layers no operator here computes, and what is missing. */
static const struct {
    const char *model_type, *missing;
} unsupported[] = {
    {"gemma2", "soft caps on scores"},
    {"cohere2", "norms without bias over the mean (LayerNorm), beside scaled logits"},
    {"minimax", "linear attention in some of the layers"},
    {"minicpm3", "latent attention beside scaled embeddings"},
    {"olmo2", "norms over all heads of queries and keys"},
    {"mamba", "state-space layers"},
    {"mamba2", "state-space layers"},
    {"falcon_mamba", "state-space layers"},
    {"jamba", "state-space layers"},
    {"bamba", "state-space layers"},
    {"zamba2", "state-space layers"},
    {"nemotron_h", "state-space layers"},
    {"granitemoehybrid", "state-space layers"},
    {"recurrent_gemma", "recurrent layers"},
    {"rwkv", "recurrent layers"},
    {"mllama", "cross-attention to images"},
    {"t5", "an encoder and cross-attention"},
    {"bart", "an encoder and cross-attention"},
};

/* By model type, else by the first of the architectures. */
static const struct architecture *find_architecture(const struct json_node *root)
{
    const struct json_node *type = json_member(root, "model_type"), *classes = json_member(root, "architectures");
    for (size_t i = 0; i < N_ARCHITECTURES; i++)
        if (has_text(type, architectures[i].model_type)) return &architectures[i];
    if (!classes || classes->kind != JSON_LIST) return NULL;
    for (size_t i = 0; i < N_ARCHITECTURES; i++)
        if (has_text(classes->first, architectures[i].class_name)) return &architectures[i];
    return NULL;
}

/* The part of a file with one of two keys: that of the language model, else the file. */
static const struct json_node *part_with(const struct reading *reading, const struct json_node *root, const char *key,
                                         const char *other)
{
    return find(reading, key) || (other && find(reading, other)) ? reading->root : root;
}

/* Names the operators that a type lacks. Returns 0 if they are not known. */
static int report_missing_operators(const struct json_node *type, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS], shown[64];
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        if (!has_text(type, unsupported[i].model_type)) continue;
        return diag_error(diag, SIM_E_CONFIG, json_where(type, where, sizeof where),
                          "'orrery list llms' shows LLMs whose operators are",
                          "model type %s needs operators that are not modelled: %s",
                          json_show(type, shown, sizeof shown), unsupported[i].missing);
    }
    return 0;
}

static int report_architecture(const struct json_node *root, struct diag *diag)
{
    const struct json_node *type = json_member(root, "model_type");
    char where[DIAG_WHERE_CHARS], shown[64], known[DIAG_TEXT_CHARS] = "known are";
    const int code = report_missing_operators(type, diag);
    if (code != 0) return code;
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s %s", i > 0 ? "," : "", architectures[i].model_type);
    }
    json_where(type ? type : root, where, sizeof where);
    if (!type) return diag_error(diag, SIM_E_CONFIG, where, known, "unknown architectures");
    return diag_error(diag, SIM_E_CONFIG, where, known, "unknown model type %s", json_show(type, shown, sizeof shown));
}

bool huggingface_recognises(const struct json_node *root)
{
    return json_member(root, "model_type") || json_member(root, "architectures");
}

static bool find_quantisation(const struct json_node *root)
{
    return is_given(root, "quantization_config") || is_given(json_member(root, "text_config"), "quantization_config");
}

int huggingface_read(const struct json_node *root, const struct json_node *beside, struct llm_spec *llm,
                     struct diag *diag)
{
    const struct architecture *architecture = find_architecture(root);
    if (!architecture) return report_architecture(root, diag);
    struct taken_keys taken = {.n = 0};
    struct reading reading = {
        .root = root, .diag = diag, .taken = &taken, .is_quantised = beside || find_quantisation(root)};
    *llm = (struct llm_spec){.source = "Hugging Face config.json"};
    architecture->read(&reading, llm);
    read_layer_types(&reading, llm);
    huggingface_warn_unread(&reading, root, architecture->model_type);
    llm->compute = llm->kv = huggingface_dtype(&reading, part_with(&reading, root, "torch_dtype", "dtype"));
    reading.root = part_with(&reading, root, "quantization_config", NULL);
    llm_set_weights(llm, llm->compute);
    if (!reading.failed && llm_problem(llm) == NULL) huggingface_read_formats(&reading, beside, llm);
    return reading.failed ? SIM_E_CONFIG : 0;
}
