#include "sim/catalog/huggingface_gpt.h"

void huggingface_set_gpt(struct llm_spec *llm, bool bias)
{
    llm->kv_heads = llm->q_heads;
    llm->head_dim = llm->q_heads > 0 ? llm->hidden / llm->q_heads : 0;
    llm->layer_norms = 2;
    llm->norm_bias = true;
    llm->qkv_bias = llm->output_bias = llm->ffn_bias = bias;
}

void huggingface_opt(struct reading *reading, struct llm_spec *llm)
{
    llm->layers = read_required(reading, "num_hidden_layers");
    llm->hidden = read_required(reading, "hidden_size");
    llm->q_heads = read_required(reading, "num_attention_heads");
    llm->ffn = read_required(reading, "ffn_dim");
    llm->vocab = read_required(reading, "vocab_size");
    llm->max_context = read_required(reading, "max_position_embeddings"); /* learned, so they end */
    llm->position_embeddings = llm->max_context + 2; /* the first two positions stand for padding */
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", true);
    huggingface_set_gpt(llm, read_flag(reading, "enable_bias", true));
    if (read_count(reading, "word_embed_proj_dim", llm->hidden) != llm->hidden)
        report(reading, find(reading, "word_embed_proj_dim"), "word_embed_proj_dim",
               "differs from 'hidden_size': projected embeddings are not modelled");
}

/* Checkpoints hold the head although the configuration class ties it by default. */
void huggingface_falcon(struct reading *reading, struct llm_spec *llm)
{
    llm->layers = read_either(reading, "num_hidden_layers", "n_layer");
    llm->hidden = read_required(reading, "hidden_size");
    llm->q_heads = read_either(reading, "num_attention_heads", "n_head");
    llm->ffn = read_count(reading, "ffn_hidden_size", 4 * llm->hidden);
    llm->vocab = read_required(reading, "vocab_size");
    llm->max_context = read_context(reading, "max_position_embeddings", 2048);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", false);
    llm->parallel_block = read_flag(reading, "parallel_attn", true);
    huggingface_set_gpt(llm, read_flag(reading, "bias", false));
    take(reading, "num_kv_heads");
    take(reading, "n_head_kv");
    take(reading, "multi_query");
    if (read_flag(reading, "new_decoder_architecture", false)) {
        llm->kv_heads = read_either(reading, "num_kv_heads", "n_head_kv");
        return;
    }
    if (read_flag(reading, "multi_query", true)) llm->kv_heads = 1;
    if (llm->parallel_block) llm->layer_norms = 1;
}

void huggingface_bloom(struct reading *reading, struct llm_spec *llm)
{
    llm->layers = read_either(reading, "n_layer", "num_hidden_layers");
    llm->hidden = read_either(reading, "hidden_size", "n_embed");
    llm->q_heads = read_either(reading, "n_head", "num_attention_heads");
    llm->ffn = 4 * llm->hidden;
    llm->vocab = read_required(reading, "vocab_size");
    llm->max_context = read_context(reading, "seq_length", 2048);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", true);
    llm->embedding_norm = true;
    huggingface_set_gpt(llm, true);
}

/* Widths of GPT-2 and its descendants. */
static void read_gpt_widths(struct reading *reading, struct llm_spec *llm)
{
    llm->layers = read_either(reading, "n_layer", "num_hidden_layers");
    llm->hidden = read_either(reading, "n_embd", "hidden_size");
    llm->q_heads = read_either(reading, "n_head", "num_attention_heads");
    llm->ffn = read_count(reading, "n_inner", 4 * llm->hidden);
    llm->vocab = read_required(reading, "vocab_size");
}

void huggingface_gpt2(struct reading *reading, struct llm_spec *llm)
{
    read_gpt_widths(reading, llm);
    huggingface_set_gpt(llm, true);
    llm->max_context = read_either(reading, "n_positions", "max_position_embeddings"); /* learned, so they end */
    llm->position_embeddings = llm->max_context;
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", true);
    if (read_flag(reading, "add_cross_attention", false))
        report(reading, find(reading, "add_cross_attention"), "add_cross_attention",
               "is true: cross-attention is not modelled");
}

/* SantaCoder and StarCoder. */
void huggingface_gpt_bigcode(struct reading *reading, struct llm_spec *llm)
{
    huggingface_gpt2(reading, llm);
    if (read_flag(reading, "multi_query", true)) llm->kv_heads = 1;
}

void huggingface_gptj(struct reading *reading, struct llm_spec *llm)
{
    read_gpt_widths(reading, llm);
    llm->max_context = read_context(
        reading, find(reading, "max_position_embeddings") ? "max_position_embeddings" : "n_positions", -1);
    huggingface_set_gpt(llm, false);
    llm->ffn_bias = llm->head_bias = llm->parallel_block = true;
    llm->layer_norms = 1;
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", false);
}

/* What the attention of an MPT has beyond plain heads. */
static void read_mpt_attention(struct reading *reading, struct llm_spec *llm)
{
    const struct json_node *attention = find(reading, "attn_config");
    const struct json_node *kv_heads = json_member(attention, "kv_n_heads"), *norms = json_member(attention, "qk_ln");
    const struct json_node *window = json_member(attention, "sliding_window_size");
    if (kv_heads && kv_heads->kind == JSON_NUMBER && kv_heads->number >= 1.0 && kv_heads->number <= LLM_MAX_HEADS)
        llm->kv_heads = (int64_t)kv_heads->number;
    if (kv_heads && kv_heads->kind == JSON_NUMBER && !isfinite(kv_heads->number))
        report(reading, kv_heads, "kv_n_heads", "must be a whole number");
    if (norms && norms->number != 0.0)
        report(reading, norms, "qk_ln", "is true: norms over all heads are not modelled");
    if (window && window->kind == JSON_NUMBER && window->number > 0.0)
        report(reading, window, "sliding_window_size", "is given: windows of MPT are not modelled");
}

void huggingface_mpt(struct reading *reading, struct llm_spec *llm)
{
    llm->layers = read_required(reading, "n_layers");
    llm->hidden = read_required(reading, "d_model");
    llm->q_heads = read_required(reading, "n_heads");
    llm->ffn = read_count(reading, "expansion_ratio", 4) * llm->hidden;
    llm->vocab = read_required(reading, "vocab_size");
    llm->max_context = read_context(reading, "max_seq_len", -1);
    llm->tied_embeddings = read_flag(reading, "tie_word_embeddings", true);
    huggingface_set_gpt(llm, !read_flag(reading, "no_bias", true));
    llm->norm_bias = llm->qkv_bias;
    read_mpt_attention(reading, llm);
}
