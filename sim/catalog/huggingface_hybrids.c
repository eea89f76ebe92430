#include "sim/catalog/huggingface_hybrids.h"

void huggingface_decoder(struct reading *reading, struct llm_spec *llm, int64_t ffn)
{
    llm->layers = read_required(reading, "num_hidden_layers");
    llm->hidden = read_required(reading, "hidden_size");
    llm->q_heads = read_required(reading, "num_attention_heads");
    llm->kv_heads = read_count(reading, "num_key_value_heads", llm->q_heads);
    llm->head_dim = read_count(reading, "head_dim", llm->q_heads > 0 ? llm->hidden / llm->q_heads : 0);
    llm->ffn = read_count(reading, "intermediate_size", ffn);
    llm->vocab = read_required(reading, "vocab_size");
    llm->max_context = read_context(reading, "max_position_embeddings", -1);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", false);
    llm->gated_ffn = true;
    llm->layer_norms = 2;
    llm->qkv_bias = llm->output_bias = read_flag(reading, "attention_bias", false);
    llm->ffn_bias = read_flag(reading, "mlp_bias", false);
}

/* Three layers with linear attention before each with gated softmax attention. */
static void read_gated_delta(struct reading *reading, struct llm_spec *llm)
{
    const int64_t interval = read_count(reading, "full_attention_interval", 4);
    llm->qkv_bias = llm->output_bias = read_flag(reading, "attention_bias", false);
    llm->attention_gate = read_flag(reading, "attn_output_gate", true);
    llm->linear_layers = interval > 0 ? llm->layers - llm->layers / interval : 0;
    llm->linear_key_heads = read_count(reading, "linear_num_key_heads", 16);
    llm->linear_value_heads = read_count(reading, "linear_num_value_heads", 32);
    llm->linear_key_dim = read_count(reading, "linear_key_head_dim", 128);
    llm->linear_value_dim = read_count(reading, "linear_value_head_dim", 128);
    llm->linear_conv = read_count(reading, "linear_conv_kernel_dim", 4);
    llm->mtp_layers = read_count(reading, "mtp_num_hidden_layers", 0);
    refuse_zero(reading, "full_attention_interval", interval);
}

void huggingface_gated_experts(struct reading *reading, struct llm_spec *llm)
{
    llm->experts = read_required(reading, "num_experts");
    llm->experts_per_token = read_required(reading, "num_experts_per_tok");
    llm->expert_ffn = read_required(reading, "moe_intermediate_size");
    llm->ffn = read_required(reading, "shared_expert_intermediate_size");
    llm->shared_gate = llm->ffn > 0;
    refuse_dense_between(reading);
}

/* What the line has, with a dense feed-forward layer of `ffn` where the file states none. */
static void read_gated_line(struct reading *reading, struct llm_spec *llm, int64_t ffn)
{
    const bool tied = read_flag(reading, "tie_word_embeddings", false);
    read_text_config(reading);
    huggingface_decoder(reading, llm, ffn);
    llm->kv_heads = read_required(reading, "num_key_value_heads");
    llm->head_dim = read_count(reading, "head_dim", 256);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", tied);
    llm->qk_norm = true;
    read_gated_delta(reading, llm);
}

void huggingface_qwen3_5(struct reading *reading, struct llm_spec *llm)
{
    read_gated_line(reading, llm, -1);
    if (find(reading, "num_experts"))
        report(reading, find(reading, "num_experts"), "num_experts",
               "is given: the type of LLMs with experts is qwen3_5_moe");
}

void huggingface_qwen3_next(struct reading *reading, struct llm_spec *llm)
{
    read_gated_line(reading, llm, 0);
    huggingface_gated_experts(reading, llm);
}

/* Of a type whose modules are not known by name. */
static void refuse_quantised(struct reading *reading)
{
    const struct json_node *node = find(reading, "quantization_config");
    if (node) report(reading, node, "quantization_config", "is given: set 'formats' of the service instead");
}

/* Layers without rotary positions see all tokens: those that the list marks with 0, else every fourth. */
static void read_chunks(struct reading *reading, struct llm_spec *llm)
{
    const struct json_node *list = find(reading, "no_rope_layers");
    const int64_t every = read_count(reading, "no_rope_layer_interval", 4);
    const bool is_stated = json_member(reading->root, "attention_chunk_size") != NULL;
    llm->sliding_window = is_stated ? read_count(reading, "attention_chunk_size", 0) : 8192;
    llm->chunked = llm->sliding_window > 0;
    refuse_zero(reading, "no_rope_layer_interval", every);
    if (!llm->chunked) return;
    llm->full_layers = every > 0 ? llm->layers / every : 0;
    if (list == NULL || list->n == 0) return;
    llm->full_layers = 0;
    for (const struct json_node *mark = list->first; mark; mark = mark->next)
        llm->full_layers += mark->kind == JSON_NUMBER && mark->number == 0.0;
    if (list->kind != JSON_LIST || (int64_t)list->n != llm->layers)
        report(reading, list, "no_rope_layers", "must have a number for each layer");
}

/* Llama 4: three layers with chunks before each that sees all tokens; a shared expert beside those that are chosen, in
 * all layers or in every second one. */
void huggingface_llama4(struct reading *reading, struct llm_spec *llm)
{
    refuse_quantised(reading);
    read_text_config(reading);
    refuse_quantised(reading);
    huggingface_decoder(reading, llm, -1);
    const int64_t step = read_count(reading, "interleave_moe_layer_step", 1);
    llm->kv_heads = read_count(reading, "num_key_value_heads", 8);
    llm->head_dim = read_count(reading, "head_dim", 128);
    llm->qk_norm = read_flag(reading, "use_qk_norm", true);
    read_chunks(reading, llm);
    llm->experts = read_required(reading, "num_local_experts");
    llm->experts_per_token = read_required(reading, "num_experts_per_tok");
    llm->expert_ffn = llm->ffn;
    if (find(reading, "moe_layers"))
        report(
            reading, find(reading, "moe_layers"), "moe_layers",
            "is given: only experts in all layers or in every second one are modelled, by interleave_moe_layer_step");
    if (step < 1 || step > 2)
        report(reading, find(reading, "interleave_moe_layer_step"), "interleave_moe_layer_step", "is neither 1 nor 2");
    take(reading, "intermediate_size_mlp");
    if (step != 2) return;
    llm->alternating_dense = true;
    llm->dense_layers = llm->layers - llm->layers / 2;
    llm->dense_ffn = read_count(reading, "intermediate_size_mlp", 16384);
}
