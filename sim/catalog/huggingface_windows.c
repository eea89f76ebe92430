/* Readers of LLMs some of whose layers look back a window, with heads of their own in the later ones. */
#include "sim/catalog/huggingface_hybrids.h"

static void refuse_caps(struct reading *reading, const char *key)
{
    if (find(reading, key)) report(reading, find(reading, key), key, "is given: soft caps on scores are not modelled");
}

/* What Gemma 3 and 4 share, and what a file may leave out as the default. */
static void read_gemma_text(struct reading *reading, struct llm_spec *llm)
{
    llm->layers = read_required(reading, "num_hidden_layers");
    llm->hidden = read_required(reading, "hidden_size");
    llm->ffn = read_required(reading, "intermediate_size");
    llm->q_heads = read_count(reading, "num_attention_heads", 8);
    llm->kv_heads = read_count(reading, "num_key_value_heads", 4);
    llm->head_dim = read_count(reading, "head_dim", 256);
    llm->qkv_bias = llm->output_bias = read_flag(reading, "attention_bias", false);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", true);
    llm->gated_ffn = llm->qk_norm = true;
    llm->layer_norms = 4;
}

/* A file of the language model, or of a multimodal one: its member `text_config`. */
void huggingface_gemma3(struct reading *reading, struct llm_spec *llm)
{
    read_text_config(reading);
    read_gemma_text(reading, llm);
    llm->vocab = read_count(reading, "vocab_size", 262208);
    llm->max_context = read_context(reading, "max_position_embeddings", 131072);
    llm->sliding_window = read_window(reading, 4096);
    const int64_t pattern = read_count(reading, "sliding_window_pattern", 6);
    if (pattern == 1) llm->sliding_window = 0;
    llm->full_layers = llm->sliding_window > 0 && pattern > 0 ? llm->layers / pattern : 0;
    refuse_caps(reading, "attn_logit_softcapping");
    refuse_caps(reading, "final_logit_softcapping");
}

/* Layers that see all tokens have wider and fewer heads, and may make values of their keys. */
static void read_global_heads(struct reading *reading, struct llm_spec *llm)
{
    llm->window_kv_heads = llm->kv_heads;
    llm->window_head_dim = llm->head_dim;
    llm->kv_heads = read_count(reading, "num_global_key_value_heads", llm->kv_heads);
    llm->head_dim = read_count(reading, "global_head_dim", 512);
    llm->keys_as_values = read_flag(reading, "attention_k_eq_v", false);
}

/* Experts beside the feed-forward layer of every layer, with three norms more and one before the router. The cap on
 * the logits of the vocabulary costs one pass over them, which is left out. */
void huggingface_gemma4(struct reading *reading, struct llm_spec *llm)
{
    const struct json_node *quantised = find(reading, "quantization_config");
    static const char *const unread[] = {"hidden_size_per_layer_input", "num_kv_shared_layers"};
    static const char *const unused[] = {"num_experts", "top_k_experts", "moe_intermediate_size", /* without experts */
                                         "num_global_key_value_heads", "global_head_dim"}; /* without windows */
    read_text_config(reading);
    read_gemma_text(reading, llm);
    llm->vocab = read_count(reading, "vocab_size", 262144);
    llm->max_context = read_context(reading, "max_position_embeddings", 131072);
    llm->sliding_window = read_window(reading, 512);
    llm->full_layers = llm->sliding_window > 0 ? llm->layers / 6 : 0;
    if (llm->sliding_window > 0) read_global_heads(reading, llm);
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if (read_count(reading, unread[i], 0) > 0)
            report(reading, find(reading, unread[i]), unread[i],
                   "is above 0: embeddings per layer and layers that share a cache are not modelled");
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) take(reading, unused[i]);
    if (!read_flag(reading, "enable_moe_block", false)) return;
    llm->experts = read_required(reading, "num_experts");
    llm->experts_per_token = read_required(reading, "top_k_experts");
    llm->expert_ffn = read_required(reading, "moe_intermediate_size");
    llm->layer_norms = 8;
    if (quantised) report(reading, quantised, "quantization_config", "is given: set 'formats' of the service instead");
}

/* Number of ones in a list of zeros and ones, one for each layer. first_only: zeros stand first. */
static int64_t count_marks(struct reading *reading, const char *key, int64_t layers, bool first_only)
{
    const struct json_node *list = find(reading, key);
    int64_t ones = 0;
    if (list == NULL || list->kind != JSON_LIST || (int64_t)list->n != layers) {
        report(reading, list, key, "must have 0 or 1 for each layer");
        return 0;
    }
    for (const struct json_node *mark = list->first; mark; mark = mark->next) {
        const bool is_one = mark->kind == JSON_NUMBER && mark->number == 1.0;
        ones += is_one;
        if (is_one || (mark->kind == JSON_NUMBER && mark->number == 0.0 && !(first_only && ones > 0))) continue;
        report(reading, mark, key, first_only ? "must have zeros, then ones" : "must have 0 or 1 for each layer");
        return 0;
    }
    return ones;
}

/* Of layers with the window: 0 where the other layers have the same. */
static int64_t read_window_count(struct reading *reading, const char *key, int64_t other)
{
    const int64_t count = read_count(reading, key, other);
    return count == other ? 0 : count;
}

/* Most layers look back a short window, with more key-value heads; values are narrower than keys in all layers. */
void huggingface_mimo_v2_flash(struct reading *reading, struct llm_spec *llm)
{
    huggingface_decoder(reading, llm, -1);
    llm->value_dim = read_count(reading, "v_head_dim", llm->head_dim);
    llm->window_q_heads = read_window_count(reading, "swa_num_attention_heads", llm->q_heads);
    llm->window_kv_heads = read_window_count(reading, "swa_num_key_value_heads", llm->kv_heads);
    llm->window_head_dim = read_window_count(reading, "swa_head_dim", llm->head_dim);
    llm->window_value_dim = read_window_count(reading, "swa_v_head_dim", llm->value_dim);
    if (llm->window_head_dim > 0 && llm->window_value_dim == 0) llm->window_value_dim = llm->value_dim;
    llm->sliding_window = read_window_length(reading, -1);
    llm->full_layers = llm->layers - count_marks(reading, "hybrid_layer_pattern", llm->layers, false);
    if (!reading->failed && (llm->full_layers == 0 || llm->full_layers == llm->layers))
        report(reading, find(reading, "hybrid_layer_pattern"), "hybrid_layer_pattern", "has layers of one kind alone");
    llm->attention_sinks = read_flag(reading, "add_swa_attention_sink_bias", false);
    llm->experts = read_required(reading, "n_routed_experts");
    llm->experts_per_token = read_required(reading, "num_experts_per_tok");
    llm->expert_ffn = read_required(reading, "moe_intermediate_size");
    llm->dense_layers = llm->layers - count_marks(reading, "moe_layer_freq", llm->layers, true);
    llm->dense_ffn = llm->dense_layers > 0 ? llm->ffn : 0;
    llm->ffn = 0;
    if (read_count(reading, "n_shared_experts", 0) > 0)
        report(reading, find(reading, "n_shared_experts"), "n_shared_experts", "is above 0: none are known");
}
