#include "sim/catalog/huggingface_unread.h"

#include <stdio.h>
#include <string.h>

/* Keys of huggingface*.c that make a shape another one. Names of what every LLM has (layers, hidden size, heads,
 * vocabulary) are no part of it: files state them under several names. */
static const char *const shape_keys[] = {
    /* experts */
    "num_experts", "num_local_experts", "n_routed_experts", "n_shared_experts", "num_experts_per_tok", "top_k_experts",
    "moe_intermediate_size", "shared_expert_intermediate_size", "shared_intermediate_size", "first_k_dense_replace",
    "decoder_sparse_step", "mlp_only_layers", "interleave_moe_layer_step", "intermediate_size_mlp", "n_group",
    "topk_group",
    /* layers that predict several tokens */
    "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules",
    /* latent and sparse attention */
    "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "index_n_heads",
    "index_head_dim", "index_topk",
    /* heads and windows */
    "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query", "head_dim", "kv_channels", "global_head_dim",
    "num_global_key_value_heads", "attention_k_eq_v", "sliding_window", "sliding_window_pattern",
    "attention_chunk_size", "swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim",
    "hybrid_layer_pattern", "use_qk_norm", "add_swa_attention_sink_bias",
    /* linear attention */
    "full_attention_interval", "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
    "linear_value_head_dim", "linear_conv_kernel_dim",
    /* feed-forward layers and biases */
    "intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", "attention_bias", "mlp_bias"};

static bool is_taken(const struct taken_keys *taken, const char *key)
{
    for (size_t i = 0; i < taken->n; i++)
        if (strcmp(taken->keys[i], key) == 0) return true;
    return false;
}

static bool states_something(const struct json_node *node)
{
    if (node == NULL || node->kind == JSON_NULL) return false;
    if (node->kind == JSON_LIST || node->kind == JSON_OBJECT) return node->n > 0;
    return node->kind == JSON_STRING || node->number != 0.0;
}

void huggingface_warn_unread(struct reading *reading, const struct json_node *root, const char *model_type)
{
    char names[DIAG_TEXT_CHARS / 2] = "", where[DIAG_WHERE_CHARS];
    const struct json_node *first = NULL;
    if (reading->failed) return;
    for (size_t i = 0; i < sizeof shape_keys / sizeof *shape_keys; i++) {
        const char *key = shape_keys[i];
        const struct json_node *node = json_member(reading->root, key);
        if (node == NULL) node = json_member(root, key);
        if (!states_something(node) || is_taken(reading->taken, key)) continue;
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", first != NULL ? ", " : "", key);
        if (first == NULL) first = node;
    }
    if (first == NULL) return;
    diag_warning(reading->diag, json_where(first, where, sizeof where), "see that 'model_type' is right",
                 "model type '%s' does not read %s: the LLM is taken without", model_type, names);
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

enum number_format huggingface_dtype(struct reading *reading, const struct json_node *part)
{
    static const char *const wide[] = {"float16", "half", "float32", "float", "auto", NULL};
    static const char *const narrow[] = {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "int8",
                                         "uint8",         NULL};
    const char *key = is_given(part, "torch_dtype") ? "torch_dtype" : "dtype";
    const struct json_node *node = json_member(part, key);
    char where[DIAG_WHERE_CHARS], problem[160], shown[64];
    if (node == NULL || node->kind == JSON_NULL) return FORMAT_FP16;
    const char *name = node->kind == JSON_STRING ? node->text : "";
    if (strncmp(name, "torch.", 6) == 0) name += 6;
    if (strcmp(name, "bfloat16") == 0) return FORMAT_BF16;
    if (is_one_of(name, wide)) return FORMAT_FP16;
    if (is_one_of(name, narrow) && reading->is_quantised) {
        diag_warning(reading->diag, json_where(node, where, sizeof where), NULL,
                     "'%s' is %s, in which no engine computes: the LLM is taken to compute in float16", key, name);
        return FORMAT_FP16;
    }
    if (is_one_of(name, narrow))
        snprintf(
            problem, sizeof problem,
            "is %s, in which no engine computes; weights of 8 bits need a quantization_config, or 'formats' of the "
            "service",
            name);
    else
        snprintf(problem, sizeof problem, "must be float16, bfloat16 or float32, got %s",
                 json_show(node, shown, sizeof shown));
    report(reading, node, key, problem);
    return FORMAT_FP16;
}
