/* What each type of config.json is read as: its shape where the file has the common keys only, and where all keys that
 * the type reads are given. Shapes are stated as differences from that of a Llama of these sizes. */
#include "sim/catalog/catalog.h"
#include "tests/support/harness.h"
#include "tests/support/huggingface_fixture.h"

#define COMMON                                                                                                         \
    "'num_hidden_layers': 6, 'hidden_size': 96, 'num_attention_heads': 4, 'intermediate_size': 112, "                  \
    "'vocab_size': 100, 'max_position_embeddings': 512"
#define MORE                                                                                                           \
    "'num_key_value_heads': 2, 'head_dim': 40, 'tie_word_embeddings': true, 'attention_bias': true, "                  \
    "'mlp_bias': true, " COMMON
#define GPT "'n_layer': 6, 'hidden_size': 96, 'n_head': 4, 'vocab_size': 100"
#define GPT2 "'n_layer': 6, 'n_embd': 96, 'n_head': 4, 'vocab_size': 100, 'n_positions': 512"
#define EXPERTS "'num_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 48"
#define ROUTED "'n_routed_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 48"
#define LATENT "'qk_nope_head_dim': 32, 'qk_rope_head_dim': 16, 'v_head_dim': 28, 'kv_lora_rank': 64"
#define INDEXER "'index_n_heads': 3, 'index_head_dim': 20, 'index_topk': 256"
#define MPT "'n_layers': 6, 'd_model': 96, 'n_heads': 4, 'vocab_size': 100, 'max_seq_len': 512"

static void read_into(struct text *lines, const char *text)
{
    struct llm_spec llm = {0};
    char messages[2048];
    if (!CHECK_EQ_INT(huggingface_text(text, &llm, messages, sizeof messages), 0)) puts(messages);
    llm.source = "";
    text_init(lines);
    CHECK(config_dump(catalog_llm_fields, NULL, &llm, lines) == 0);
}

/* Adds the line, without quotes and comma. */
static void add_value(struct text *differences, const char *line, size_t n)
{
    if (differences->length > 0) text_add(differences, ", ");
    for (size_t i = 0; i < n; i++)
        if (strchr("\",", line[i]) == NULL) text_add_bytes(differences, line + i, 1);
}

static void check_shape(const char *text, const char *expected)
{
    struct text base, lines, differences;
    read_into(&base, "{'model_type': 'llama', " COMMON "}");
    read_into(&lines, text);
    text_init(&differences);
    const char *a = base.chars, *b = lines.chars;
    while (*a != 0 && *b != 0) {
        const size_t n_a = strcspn(a, "\n"), n_b = strcspn(b, "\n");
        const size_t indent = strspn(b, " ");
        if (n_a != n_b || memcmp(a, b, n_a) != 0) add_value(&differences, b + indent, n_b - indent);
        a += n_a + (a[n_a] == '\n');
        b += n_b + (b[n_b] == '\n');
    }
    if (!CHECK_EQ_STR(differences.length > 0 ? differences.chars : "", expected)) puts(text);
    text_fini(&base);
    text_fini(&lines);
    text_fini(&differences);
}

/* Each pair: a file, and where its shape differs from a llama's. */
static void check_shapes(const char *const shapes[][2], size_t n)
{
    for (size_t i = 0; i < n; i++) check_shape(shapes[i][0], shapes[i][1]);
}

#define CHECK_SHAPES(shapes) check_shapes(shapes, sizeof(shapes) / sizeof *(shapes))

TEST(llamas_and_their_kin)
{
    static const char *const shapes[][2] = {
        {"{'model_type': 'llama', " MORE "}",
         "kv_heads: 2, head_dim: 40, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'Yi', " MORE "}",
         "kv_heads: 2, head_dim: 40, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'mistral', 'sliding_window': 64, " MORE "}",
         "kv_heads: 2, head_dim: 40, sliding_window: 64, tied_embeddings: true, qkv_bias: true, output_bias: true, "
         "ffn_bias: true"},
        {"{'model_type': 'phi3', 'sliding_window': 64, " MORE "}",
         "kv_heads: 2, head_dim: 40, sliding_window: 64, tied_embeddings: true, qkv_bias: true, output_bias: true, "
         "ffn_bias: true"},
        {"{'model_type': 'gemma', " COMMON "}", "head_dim: 256, tied_embeddings: true"},
        {"{'model_type': 'gemma', " MORE "}",
         "kv_heads: 2, head_dim: 40, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'qwen', 'kv_channels': 56, " COMMON "}", "head_dim: 56, ffn: 56, qkv_bias: true"},
        {"{'model_type': 'qwen2', 'sliding_window': 64, " MORE "}",
         "kv_heads: 2, head_dim: 40, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'qwen3', " COMMON "}", "head_dim: 128, qk_norm: true"},
        {"{'model_type': 'qwen3', 'use_sliding_window': true, 'sliding_window': 64, 'max_window_layers': 4, " MORE "}",
         "kv_heads: 2, head_dim: 40, sliding_window: 64, full_layers: 4, tied_embeddings: true, qkv_bias: true, "
         "output_bias: true, ffn_bias: true, qk_norm: true"},
        {"{'model_type': 'mimo', 'num_nextn_predict_layers': 2, " MORE "}",
         "kv_heads: 2, head_dim: 40, mtp_layers: 2, tied_embeddings: true, qkv_bias: true, output_bias: true, "
         "ffn_bias: true"},
        {"{'model_type': 'internlm', " COMMON "}", "qkv_bias: true, output_bias: true"},
        {"{'model_type': 'internlm', 'bias': false, " MORE "}",
         "kv_heads: 2, head_dim: 40, tied_embeddings: true, ffn_bias: true"},
        {"{'model_type': 'internlm2', " COMMON "}", ""},
        {"{'model_type': 'internlm2', 'bias': true, " MORE "}",
         "kv_heads: 2, head_dim: 40, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'phi', " COMMON "}",
         "gated_ffn: false, parallel_block: true, qkv_bias: true, output_bias: true, ffn_bias: true, "
         "head_bias: true, norm_bias: true, layer_norms: 1"},
        {"{'model_type': 'phi', " MORE "}",
         "kv_heads: 2, gated_ffn: false, parallel_block: true, tied_embeddings: true, qkv_bias: true, "
         "output_bias: true, ffn_bias: true, head_bias: true, norm_bias: true, layer_norms: 1"},
        {"{'model_type': 'starcoder2', " COMMON "}",
         "gated_ffn: false, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true, "
         "norm_bias: true"},
        {"{'model_type': 'starcoder2', 'use_bias': false, 'sliding_window': 64, 'num_key_value_heads': 2, "
         "'tie_word_embeddings': false, " COMMON "}",
         "kv_heads: 2, sliding_window: 64, gated_ffn: false, norm_bias: true"},
        {"{'model_type': 'gpt_neox', " COMMON "}",
         "gated_ffn: false, parallel_block: true, qkv_bias: true, output_bias: true, ffn_bias: true, "
         "norm_bias: true"},
        {"{'model_type': 'gpt_neox', 'attention_bias': false, 'use_parallel_residual': false, " COMMON "}",
         "gated_ffn: false, ffn_bias: true, norm_bias: true"},
        {"{'model_type': 'baichuan', " COMMON "}", ""},
        {"{'model_type': 'baichuan', 'tie_word_embeddings': true, 'model_max_length': 300, 'num_hidden_layers': 5, "
         "'hidden_size': 64, 'num_attention_heads': 2, 'intermediate_size': 99, 'vocab_size': 90}",
         "layers: 5, hidden: 64, q_heads: 2, kv_heads: 2, head_dim: 32, ffn: 99, vocab: 90, max_context: 300, "
         "tied_embeddings: true"},
        {"{'model_type': 'gemma3_text', 'num_hidden_layers': 6, 'hidden_size': 96, 'intermediate_size': 112}",
         "q_heads: 8, head_dim: 256, vocab: 262208, max_context: 131072, sliding_window: 4096, full_layers: 1, "
         "tied_embeddings: true, qk_norm: true, layer_norms: 4"},
        {"{'model_type': 'gemma3', 'text_config': {'sliding_window': 64, 'sliding_window_pattern': 3, " MORE "}}",
         "kv_heads: 2, head_dim: 40, sliding_window: 64, full_layers: 2, tied_embeddings: true, qkv_bias: true, "
         "output_bias: true, qk_norm: true, layer_norms: 4"},
        {"{'model_type': 'gemma3', 'text_config': {'tie_word_embeddings': false, " COMMON "}}",
         "head_dim: 256, sliding_window: 4096, full_layers: 1, qk_norm: true, layer_norms: 4"},
        {"{'model_type': 'qwen3_vl', 'text_config': {" MORE "}}",
         "kv_heads: 2, head_dim: 40, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true, "
         "qk_norm: true"},
    };
    CHECK_SHAPES(shapes);
}

TEST(mixtures_of_experts)
{
    static const char *const shapes[][2] = {
        {"{'model_type': 'mixtral', 'num_local_experts': 8, 'num_experts_per_tok': 2, 'sliding_window': 64, " MORE "}",
         "kv_heads: 2, head_dim: 40, ffn: 0, sliding_window: 64, experts: 8, experts_per_token: 2, "
         "expert_ffn: 112, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'gpt_oss', 'num_local_experts': 8, 'num_experts_per_tok': 2, " COMMON "}",
         "kv_heads: 8, head_dim: 64, ffn: 0, sliding_window: 128, full_layers: 3, experts: 8, "
         "experts_per_token: 2, expert_ffn: 112, qkv_bias: true, output_bias: true, expert_bias: true, "
         "attention_sinks: true"},
        {"{'model_type': 'gpt_oss', 'num_experts': 8, 'num_experts_per_tok': 2, 'sliding_window': 64, "
         "'attention_bias': false, 'num_key_value_heads': 2, 'head_dim': 40, " COMMON "}",
         "kv_heads: 2, head_dim: 40, ffn: 0, sliding_window: 64, full_layers: 3, experts: 8, experts_per_token: 2, "
         "expert_ffn: 112, expert_bias: true, attention_sinks: true"},
        {"{'model_type': 'qwen3_moe', " EXPERTS ", " MORE "}",
         "kv_heads: 2, head_dim: 40, ffn: 0, experts: 8, experts_per_token: 2, expert_ffn: 48, "
         "tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true, qk_norm: true"},
        {"{'model_type': 'qwen3_vl_moe', 'tie_word_embeddings': true, 'text_config': {" EXPERTS ", " COMMON "}}",
         "head_dim: 128, ffn: 0, experts: 8, experts_per_token: 2, expert_ffn: 48, tied_embeddings: true, "
         "qk_norm: true"},
        {"{'model_type': 'qwen2_moe', 'shared_expert_intermediate_size': 80, " EXPERTS ", " COMMON "}",
         "ffn: 80, experts: 8, experts_per_token: 2, expert_ffn: 48, qkv_bias: true, shared_gate: true"},
        {"{'model_type': 'qwen2_moe', 'shared_expert_intermediate_size': 0, " EXPERTS ", " MORE "}",
         "kv_heads: 2, head_dim: 40, ffn: 0, experts: 8, experts_per_token: 2, expert_ffn: 48, "
         "tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'glm4_moe', " ROUTED ", " COMMON "}",
         "kv_heads: 8, head_dim: 128, ffn: 0, experts: 8, experts_per_token: 2, expert_ffn: 48"},
        {"{'model_type': 'glm4_moe', 'first_k_dense_replace': 2, 'n_shared_experts': 3, 'use_qk_norm': true, "
         "'num_nextn_predict_layers': 1, " ROUTED ", " MORE "}",
         "kv_heads: 2, head_dim: 40, ffn: 144, experts: 8, experts_per_token: 2, expert_ffn: 48, dense_layers: 2, "
         "dense_ffn: 112, mtp_layers: 1, tied_embeddings: true, qkv_bias: true, ffn_bias: true, qk_norm: true"},
        {"{'model_type': 'minimax_m2', 'num_local_experts': 8, 'num_experts_per_tok': 2, " COMMON "}",
         "ffn: 0, experts: 8, experts_per_token: 2, expert_ffn: 112"},
        {"{'model_type': 'minimax_m2', 'num_local_experts': 8, 'num_experts_per_tok': 2, 'shared_intermediate_size': 80, "
         "'use_qk_norm': true, 'use_mtp': true, 'num_mtp_modules': 3, 'attn_type_list': [1, 1, 1, 1, 1, 1], "
         "" MORE "}",
         "kv_heads: 2, head_dim: 40, ffn: 80, experts: 8, experts_per_token: 2, expert_ffn: 112, mtp_layers: 3, "
         "tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true, qk_norm: true, wide_qk_norm: true"},
        {"{'model_type': 'minimax_m2', 'num_local_experts': 8, 'num_experts_per_tok': 2, 'num_mtp_modules': 3, " COMMON
         "}",
         "ffn: 0, experts: 8, experts_per_token: 2, expert_ffn: 112"},
        {"{'model_type': 'deepseek_v2', " LATENT ", " ROUTED ", " COMMON "}",
         "head_dim: 32, kv_latent: 64, rotary_dim: 16, value_dim: 28, ffn: 0, experts: 8, experts_per_token: 2, "
         "expert_ffn: 48"},
        {"{'model_type': 'deepseek_v3', 'q_lora_rank': 72, 'first_k_dense_replace': 2, 'n_shared_experts': 3, "
         "'num_nextn_predict_layers': 1, 'moe_layer_freq': 1, " LATENT ", " ROUTED ", " MORE "}",
         "head_dim: 32, query_latent: 72, kv_latent: 64, rotary_dim: 16, value_dim: 28, ffn: 144, experts: 8, "
         "experts_per_token: 2, expert_ffn: 48, dense_layers: 2, dense_ffn: 112, mtp_layers: 1, "
         "tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'kimi_k25', 'text_config': {" LATENT ", " ROUTED ", " COMMON "}}",
         "head_dim: 32, kv_latent: 64, rotary_dim: 16, value_dim: 28, ffn: 0, experts: 8, experts_per_token: 2, "
         "expert_ffn: 48"},
        {"{'model_type': 'deepseek_v32', 'q_lora_rank': 72, " LATENT ", " INDEXER ", " ROUTED ", " COMMON "}",
         "head_dim: 32, query_latent: 72, kv_latent: 64, rotary_dim: 16, value_dim: 28, ffn: 0, index_heads: 3, "
         "index_dim: 20, index_tokens: 256, index_layers: 6, experts: 8, experts_per_token: 2, expert_ffn: 48"},
        {"{'model_type': 'glm_moe_dsa', 'q_lora_rank': 72, 'indexer_types': ['full', 'full', 'shared', 'full', 'shared', "
         "'shared'], " LATENT ", " INDEXER ", " ROUTED ", " COMMON "}",
         "head_dim: 32, query_latent: 72, kv_latent: 64, rotary_dim: 16, value_dim: 28, ffn: 0, index_heads: 3, "
         "index_dim: 20, index_tokens: 256, index_layers: 3, experts: 8, experts_per_token: 2, expert_ffn: 48"},
        {"{'model_type': 'llama4_text', 'num_local_experts': 8, 'num_experts_per_tok': 2, " COMMON "}",
         "kv_heads: 8, head_dim: 128, sliding_window: 8192, full_layers: 1, chunked: true, experts: 8, "
         "experts_per_token: 2, expert_ffn: 112, qk_norm: true"},
        {"{'model_type': 'llama4', 'text_config': {'num_local_experts': 8, 'num_experts_per_tok': 2, 'use_qk_norm': false, "
         "'attention_chunk_size': 64, 'no_rope_layer_interval': 2, 'interleave_moe_layer_step': 2, "
         "'intermediate_size_mlp': 224, " MORE "}}",
         "kv_heads: 2, head_dim: 40, sliding_window: 64, full_layers: 3, chunked: true, experts: 8, "
         "experts_per_token: 2, expert_ffn: 112, dense_layers: 3, dense_ffn: 224, alternating_dense: true, "
         "tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true"},
        {"{'model_type': 'llama4_text', 'num_local_experts': 8, 'num_experts_per_tok': 2, 'interleave_moe_layer_step': 2, "
         "'num_hidden_layers': 7, 'hidden_size': 96, 'num_attention_heads': 4, 'intermediate_size': 112, "
         "'vocab_size': 100, 'max_position_embeddings': 512, 'no_rope_layers': [1, 0, 1, 0, 1, 0, 1]}",
         "layers: 7, kv_heads: 8, head_dim: 128, sliding_window: 8192, full_layers: 3, chunked: true, experts: 8, "
         "experts_per_token: 2, expert_ffn: 112, dense_layers: 4, dense_ffn: 16384, alternating_dense: true, "
         "qk_norm: true"},
    };
    CHECK_SHAPES(shapes);
}

TEST(linear_attention_beside_gated_attention)
{
    static const char *const shapes[][2] = {
        {"{'model_type': 'qwen3_5_text', 'num_key_value_heads': 2, " COMMON "}",
         "kv_heads: 2, head_dim: 256, linear_layers: 5, linear_key_heads: 16, linear_value_heads: 32, "
         "linear_key_dim: 128, linear_value_dim: 128, linear_conv: 4, qk_norm: true, attention_gate: true"},
        {"{'model_type': 'qwen3_5', 'tie_word_embeddings': true, 'text_config': {'num_key_value_heads': 2, 'head_dim': 40, "
         "'attention_bias': true, 'attn_output_gate': false, 'full_attention_interval': 3, "
         "'linear_num_key_heads': 3, "
         "'linear_num_value_heads': 9, 'linear_key_head_dim': 20, 'linear_value_head_dim': 24, "
         "'linear_conv_kernel_dim': 5, 'mtp_num_hidden_layers': 1, " COMMON "}}",
         "kv_heads: 2, head_dim: 40, linear_layers: 4, linear_key_heads: 3, linear_value_heads: 9, "
         "linear_key_dim: 20, linear_value_dim: 24, linear_conv: 5, mtp_layers: 1, tied_embeddings: true, "
         "qkv_bias: true, output_bias: true, qk_norm: true"},
        {"{'model_type': 'qwen3_next', 'num_key_value_heads': 2, 'shared_expert_intermediate_size': 80, " EXPERTS
         ", " COMMON "}",
         "kv_heads: 2, head_dim: 256, ffn: 80, linear_layers: 5, linear_key_heads: 16, linear_value_heads: 32, "
         "linear_key_dim: 128, linear_value_dim: 128, linear_conv: 4, experts: 8, experts_per_token: 2, "
         "expert_ffn: 48, qk_norm: true, attention_gate: true, shared_gate: true"},
        {"{'model_type': 'qwen3_5_moe', 'tie_word_embeddings': true, 'text_config': {'tie_word_embeddings': false, "
         "'shared_expert_intermediate_size': 0, " EXPERTS ", 'num_key_value_heads': 1, " COMMON "}}",
         "kv_heads: 1, head_dim: 256, ffn: 0, linear_layers: 5, linear_key_heads: 16, linear_value_heads: 32, "
         "linear_key_dim: 128, linear_value_dim: 128, linear_conv: 4, experts: 8, experts_per_token: 2, "
         "expert_ffn: 48, qk_norm: true, attention_gate: true"},
    };
    CHECK_SHAPES(shapes);
}

TEST(descendants_of_gpt)
{
    static const char *const shapes[][2] = {
        {"{'model_type': 'opt', 'ffn_dim': 112, " COMMON "}",
         "gated_ffn: false, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true, "
         "norm_bias: true, position_embeddings: 514"},
        {"{'model_type': 'opt', 'ffn_dim': 112, 'enable_bias': false, 'tie_word_embeddings': false, "
         "'word_embed_proj_dim': 96, " COMMON "}",
         "gated_ffn: false, norm_bias: true, position_embeddings: 514"},
        {"{'model_type': 'falcon', " COMMON "}",
         "kv_heads: 1, ffn: 384, gated_ffn: false, parallel_block: true, norm_bias: true, layer_norms: 1"},
        {"{'model_type': 'RefinedWeb', 'multi_query': false, 'parallel_attn': false, 'bias': true, "
         "'tie_word_embeddings': true, 'ffn_hidden_size': 112, 'max_position_embeddings': 300, " GPT "}",
         "max_context: 300, gated_ffn: false, tied_embeddings: true, qkv_bias: true, output_bias: true, "
         "ffn_bias: true, norm_bias: true"},
        {"{'model_type': 'falcon', 'new_decoder_architecture': true, 'n_head_kv': 2, " GPT "}",
         "kv_heads: 2, ffn: 384, max_context: 2048, gated_ffn: false, parallel_block: true, norm_bias: true"},
        {"{'model_type': 'falcon', 'new_decoder_architecture': true, 'num_kv_heads': 2, 'parallel_attn': false, " GPT
         "}",
         "kv_heads: 2, ffn: 384, max_context: 2048, gated_ffn: false, norm_bias: true"},
        {"{'model_type': 'falcon', 'parallel_attn': false, " GPT "}",
         "kv_heads: 1, ffn: 384, max_context: 2048, gated_ffn: false, norm_bias: true"},
        {"{'model_type': 'bloom', " GPT "}",
         "ffn: 384, max_context: 2048, gated_ffn: false, tied_embeddings: true, qkv_bias: true, output_bias: true, "
         "ffn_bias: true, norm_bias: true, embedding_norm: true"},
        {"{'model_type': 'bloom', 'num_hidden_layers': 5, 'n_embed': 64, 'num_attention_heads': 2, 'vocab_size': 90, "
         "'seq_length': 300, 'tie_word_embeddings': false}",
         "layers: 5, hidden: 64, q_heads: 2, kv_heads: 2, head_dim: 32, ffn: 256, vocab: 90, max_context: 300, "
         "gated_ffn: false, qkv_bias: true, output_bias: true, ffn_bias: true, norm_bias: true, "
         "embedding_norm: true"},
        {"{'model_type': 'gpt2', " GPT2 "}",
         "ffn: 384, gated_ffn: false, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true, "
         "norm_bias: true, position_embeddings: 512"},
        {"{'model_type': 'gpt2', 'n_inner': 112, 'tie_word_embeddings': false, 'add_cross_attention': false, " COMMON
         "}",
         "gated_ffn: false, qkv_bias: true, output_bias: true, ffn_bias: true, norm_bias: true, "
         "position_embeddings: 512"},
        {"{'model_type': 'gpt_bigcode', " GPT2 "}",
         "kv_heads: 1, ffn: 384, gated_ffn: false, tied_embeddings: true, qkv_bias: true, output_bias: true, "
         "ffn_bias: true, norm_bias: true, position_embeddings: 512"},
        {"{'model_type': 'gpt_bigcode', 'multi_query': false, " GPT2 "}",
         "ffn: 384, gated_ffn: false, tied_embeddings: true, qkv_bias: true, output_bias: true, ffn_bias: true, "
         "norm_bias: true, position_embeddings: 512"},
        {"{'model_type': 'gptj', " GPT2 "}",
         "ffn: 384, gated_ffn: false, parallel_block: true, ffn_bias: true, head_bias: true, norm_bias: true, "
         "layer_norms: 1"},
        {"{'model_type': 'gptj', 'n_inner': 112, 'tie_word_embeddings': true, " GPT2 "}",
         "gated_ffn: false, parallel_block: true, tied_embeddings: true, ffn_bias: true, head_bias: true, "
         "norm_bias: true, layer_norms: 1"},
        {"{'model_type': 'mpt', " MPT "}", "ffn: 384, gated_ffn: false, tied_embeddings: true"},
        {"{'model_type': 'mpt', 'expansion_ratio': 3, 'no_bias': false, 'tie_word_embeddings': false, "
         "'attn_config': {'kv_n_heads': 2, 'qk_ln': false, 'sliding_window_size': -1}, " MPT "}",
         "kv_heads: 2, ffn: 288, gated_ffn: false, qkv_bias: true, output_bias: true, ffn_bias: true, "
         "norm_bias: true"},
        {"{'model_type': 'mpt', 'attn_config': {'kv_n_heads': 1, 'sliding_window_size': 0}, " MPT "}",
         "kv_heads: 1, ffn: 384, gated_ffn: false, tied_embeddings: true"},
    };
    CHECK_SHAPES(shapes);
}

/* All findings of a file as one text. */
static const char *findings_of(const char *text)
{
    static char messages[2048];
    struct llm_spec llm = {0};
    huggingface_text(text, &llm, messages, sizeof messages);
    return messages;
}

TEST(shape_keys_that_a_type_does_not_read_warn_once)
{
    static const char *const cases[][2] = {
        {"{'model_type': 'qwen3_moe', " EXPERTS ", 'n_shared_experts': 2, 'kv_lora_rank': 64, 'n_group': 8, " COMMON
         "}",
         "model type 'qwen3_moe' does not read n_shared_experts, n_group, kv_lora_rank: the LLM is taken without"},
        {"{'model_type': 'qwen3_moe', " EXPERTS ", 'shared_expert_intermediate_size': 96, " COMMON "}",
         "does not read shared_expert_intermediate_size: "},
        {"{'model_type': 'llama', 'first_k_dense_replace': 3, 'num_nextn_predict_layers': 1, " COMMON "}",
         "does not read first_k_dense_replace, num_nextn_predict_layers: "},
        {"{'model_type': 'llama', 'sliding_window': 128, " COMMON "}", "does not read sliding_window: "},
    };
    static const char *const silent[] = {
        "{'model_type': 'qwen3_moe', " EXPERTS ", 'shared_expert_intermediate_size': 0, 'n_shared_experts': null, "
        "'use_qk_norm': false, 'mlp_only_layers': [], 'sliding_window': 4096, 'use_sliding_window': false, " COMMON "}",
        "{'model_type': 'deepseek_v3', " ROUTED ", " LATENT ", 'n_group': 8, 'topk_group': 4, " COMMON "}",
        "{'model_type': 'qwen2', 'use_sliding_window': false, 'sliding_window': 64, 'max_window_layers': 4, " COMMON
        "}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!CHECK(strstr(findings_of(cases[i][0]), cases[i][1]) != NULL &&
                   strchr(findings_of(cases[i][0]), '\n') == NULL))
            puts(findings_of(cases[i][0]));
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) CHECK_EQ_STR(findings_of(silent[i]), "");
}

/* All keys are named or counted, and no name is cut. */
TEST(shape_keys_beyond_the_room_of_the_warning_are_counted)
{
    static const char *const keys[] = {
        "num_experts",         "num_local_experts", "n_routed_experts",      "n_shared_experts",
        "num_experts_per_tok", "top_k_experts",     "moe_intermediate_size", "shared_expert_intermediate_size",
        "decoder_sparse_step", "n_group",           "kv_lora_rank",          "q_lora_rank",
        "qk_nope_head_dim",    "qk_rope_head_dim",  "index_n_heads",         "index_topk"};
    static const char rest[] = ": the LLM is taken without;";
    enum { KEYS = sizeof keys / sizeof *keys };
    for (size_t n = 1; n <= KEYS; n++) {
        char text[2048] = "{'model_type': 'llama', ";
        size_t n_named = 0;
        for (size_t i = 0; i < n; i++) strcat(text, test_json("'%s': 2, ", keys[i]));
        strcat(text, COMMON "}");
        const char *found = strstr(findings_of(text), "does not read ");
        if (!CHECK(found != NULL)) return;
        found += strlen("does not read ");
        for (; n_named < n; n_named++) {
            const char *name = test_json("%s%s", n_named > 0 ? ", " : "", keys[n_named]);
            if (strncmp(found, name, strlen(name)) != 0) break;
            found += strlen(name);
        }
        const char *more = n_named < n ? test_json(" and %zu more", n - n_named) : "";
        CHECK(strncmp(found, more, strlen(more)) == 0 && strncmp(found + strlen(more), rest, strlen(rest)) == 0);
        CHECK(n_named == n || n_named >= 7); /* 162 characters of names */
    }
    CHECK(strstr(findings_of("{'model_type': 'llama', 'n_group': 2, " COMMON "}"), " more") == NULL);
}

TEST(number_formats_that_cannot_be_are_reported)
{
    static const char *const cases[][2] = {
        {"{'model_type': 'llama', 'torch_dtype': 'flaot16', " COMMON "}",
         "'torch_dtype' must be float16, bfloat16, float32 or float64, got \"flaot16\""},
        {"{'model_type': 'llama', 'dtype': 16, " COMMON "}",
         "'dtype' must be float16, bfloat16, float32 or float64, got 16"},
        {"{'model_type': 'llama', 'torch_dtype': 'float64', " COMMON "}", ""},
        {"{'model_type': 'llama', 'dtype': 'torch.double', " COMMON "}", ""},
        {"{'model_type': 'llama', 'torch_dtype': 'float8_e8m0fnu', " COMMON "}",
         "'torch_dtype' is float8_e8m0fnu, in which no engine computes; weights of 8 bits need a quantization_config"},
        {"{'model_type': 'llama', 'torch_dtype': 'float8_e4m3fn', " COMMON "}",
         "'torch_dtype' is float8_e4m3fn, in which no engine computes; weights of 8 bits need a quantization_config"},
        {"{'model_type': 'llama', 'torch_dtype': 'float8_e4m3fn', 'quantization_config': {'quant_method': 'fp8'}, " COMMON
         "}",
         "warning: 'torch_dtype' is float8_e4m3fn, in which no engine computes: the LLM is taken to compute in "},
        {"{'model_type': 'llama', 'torch_dtype': 'torch.bfloat16', " COMMON "}", ""},
        {"{'model_type': 'llama', 'torch_dtype': null, 'dtype': 'float32', " COMMON "}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = findings_of(cases[i][0]);
        if (!CHECK(cases[i][1][0] != 0 ? strstr(found, cases[i][1]) != NULL : found[0] == 0)) puts(found);
    }
}
