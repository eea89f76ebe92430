#include "sim/catalog/catalog.h"
#include "sim/catalog/huggingface.h"
#include "tests/support/harness.h"
#include "tests/support/huggingface_fixture.h"

static const struct catalog catalog = {.root = "configs"};

static int read_llm(const char *name, struct arena *arena, struct llm_spec *llm)
{
    struct diag diag = {0};
    const int code = catalog_llm(&catalog, name, "test", arena, llm, &diag);
    if (!CHECK_EQ_INT(diag.n_warnings, 0)) printf("\n  %s: %s\n", name, diag.items[0].text);
    return code;
}

/* A shape as a document, without what only our own files state. */
static void dump(struct llm_spec llm, struct text *json)
{
    llm.source = "";
    llm.published_parameters = 0;
    text_init(json);
    CHECK(config_dump(catalog_llm_fields, NULL, &llm, json) == 0);
}

/* A published config.json gives the shape of our own file of that name, value by value. */
TEST(published_files_give_the_catalogs_shapes)
{
    static const char *const names[] = {
        "llama-2-7b",   "llama-2-70b",   "mistral-7b",       "mixtral-8x7b",    "yi-34b",          "qwen-72b",
        "qwen3-32b",    "qwen3-30b-a3b", "opt-13b",          "falcon-180b",     "bloom-176b",      "phi-2",
        "internlm-20b", "deepseek-v3",   "deepseek-v2-lite", "qwen3-235b-a22b", "gpt-oss-120b",    "gemma-3-27b",
        "kimi-k2",      "glm-4.7",       "minimax-m2.5",     "gemma-4-31b",     "gemma-4-26b-a4b", "mimo-v2-flash"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        SCOPED(arena) arena = {0};
        struct llm_spec ours, published;
        char path[128];
        snprintf(path, sizeof path, "tests/fixtures/huggingface/%s.json", names[i]);
        MUST(read_llm(names[i], &arena, &ours) == 0 && read_llm(path, &arena, &published) == 0);
        CHECK_EQ_STR(published.name, names[i]);
        struct text a, b;
        dump(ours, &a);
        dump(published, &b);
        CHECK_EQ_STR(b.chars, a.chars);
        text_fini(&a);
        text_fini(&b);
    }
}

/* A file that is called config.json, as in a checkpoint, goes by the name of its directory. */
TEST(checkpoints_are_named_after_their_directory)
{
    const char *path = test_file(
        "config.json", "{'model_type': 'llama', 'num_hidden_layers': 2, 'hidden_size': 64, 'num_attention_heads': 4, "
                       "'intermediate_size': 128, 'vocab_size': 100, 'max_position_embeddings': 512}");
    SCOPED(arena) arena = {0};
    struct llm_spec llm;
    MUST(read_llm(path, &arena, &llm) == 0);
    *strrchr(path, '/') = 0;
    CHECK_EQ_STR(llm.name, strrchr(path, '/') + 1);
}

#define SMALL(type)                                                                                                    \
    "{'model_type': '" type "', 'num_hidden_layers': 2, 'hidden_size': 64, 'num_attention_heads': 4, "                 \
    "'num_key_value_heads': 4, 'intermediate_size': 128, 'vocab_size': 100, "

#define GPT(type)                                                                                                      \
    "{'model_type': '" type "', 'n_layer': 2, 'n_embd': 64, 'n_head': 4, 'vocab_size': 100, 'rotary_dim': 16, "
#define MPT                                                                                                            \
    "{'model_type': 'mpt', 'n_layers': 2, 'd_model': 64, 'n_heads': 4, 'vocab_size': 100, 'max_seq_len': 512, "

/* Python writes Infinity: a window or context without end where such a key is read, ignored elsewhere, and no count.
 * NaN is none. A file of our own has neither. */
TEST(infinity_is_read_as_what_it_means)
{
    static const struct {
        const char *text;
        int64_t window, context; /* -1: an error */
        const char *finding;
    } cases[] = {
        {SMALL("mistral") "'max_position_embeddings': 512, 'sliding_window': 16, 'time_step_limit': [0.0, Infinity]}",
         16, 512, NULL},
        {SMALL("mistral") "'max_position_embeddings': 512, 'sliding_window': Infinity}", 0, 512, NULL},
        {SMALL("mistral") "'max_position_embeddings': 512, 'sliding_window': 1e400, 'Infinity': -Infinity}", 0, 512, NULL},
        {SMALL("llama") "'max_position_embeddings':Infinity}", 0, LLM_MAX_CONTEXT, NULL},
        {SMALL("mistral") "'max_position_embeddings': 512, 'sliding_window': -Infinity}", -1, 0, "must be a whole number"},
        {SMALL("qwen3") "'max_position_embeddings': 512, 'head_dim': Infinity}", -1, 0, "must be a whole number"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': NaN}", -1, 0, "unknown word 'NaN'"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': Infinityx}", -1, 0, "expected"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': 12Infinity}", -1, 0, "malformed number '12Infinity'"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': -0Infinity}", -1, 0, "malformed number '-0Infinity'"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': 1.Infinity}", -1, 0, "malformed number '1.Infinity'"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': 1e-Infinity}", -1, 0, "malformed number '1e-Infinity'"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': 2-Infinity}", -1, 0, "malformed number '2-Infinity'"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': xInfinity}", -1, 0, "xInfinity"},
        {SMALL("llama") "'max_position_embeddings': 512, 'a': [Infinity,-Infinity,\n Infinity]}", 0, 512, NULL},
        {GPT("gpt2") "'n_positions': Infinity}", -1, 0, "'n_positions' must be a whole number"},
        {GPT("gpt_bigcode") "'n_positions': Infinity}", -1, 0, "'n_positions' must be a whole number"},
        {GPT("gptj") "'n_positions': Infinity}", 0, LLM_MAX_CONTEXT, NULL},
        {MPT "'attn_config': {'kv_n_heads': Infinity}}", -1, 0, "'kv_n_heads' must be a whole number"},
        {MPT "'attn_config': {'kv_n_heads': 2}}", 0, 512, NULL},
        {SMALL("mamba2") "'time_step_limit': [0.0, Infinity]}", -1, 0, "not modelled: state-space layers"},
        {"{'layers': Infinity}", -1, 0, "unknown word 'Infinity'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(arena) arena = {0};
        struct llm_spec llm = {.layers = 0};
        struct diag diag;
        diag_init(&diag);
        const char *path = test_file("infinite.json", "%s", cases[i].text);
        CHECK_EQ_INT(catalog_llm(&catalog, path, "test", &arena, &llm, &diag), cases[i].finding ? SIM_E_CONFIG : 0);
        if (cases[i].finding) {
            if (!CHECK(diag.n_items > 0 && strstr(diag.items[0].text, cases[i].finding) != NULL))
                printf("case %zu: %s\n", i, diag.n_items > 0 ? diag.items[0].text : "nothing");
            continue;
        }
        CHECK_EQ_INT(llm.sliding_window, cases[i].window);
        CHECK_EQ_INT(llm.max_context, cases[i].context);
    }
}

/* Counts of the checkpoints of shapes that the catalog lacks. */
TEST(other_shapes_have_the_published_parameters)
{
    SCOPED(arena) arena = {0};
    struct llm_spec llm;
    MUST(read_llm("tests/fixtures/huggingface/qwen2-7b.json", &arena, &llm) == 0);
    CHECK_EQ_INT(llm_parameters(&llm), INT64_C(7615616512));
    CHECK_EQ_INT(llm.sliding_window, 0);
    MUST(read_llm("tests/fixtures/huggingface/falcon-7b.json", &arena, &llm) == 0);
    CHECK_EQ_INT(llm_parameters(&llm), INT64_C(7217189760));
    CHECK_EQ_INT(llm.kv_heads, 1);
}

static void check_finding(const char *text, const char *expected)
{
    struct llm_spec llm;
    char messages[4096];
    CHECK_EQ_INT(huggingface_text(text, &llm, messages, sizeof messages), SIM_E_CONFIG);
    if (!strstr(messages, expected)) CHECK_EQ_STR(messages, expected);
}

#define SHAPE                                                                                                          \
    "'num_hidden_layers': 2, 'hidden_size': 64, 'num_attention_heads': 4, 'intermediate_size': 128, "                  \
    "'vocab_size': 100, 'max_position_embeddings': 512"

TEST(findings_name_the_field)
{
    check_finding("{'model_type': 'llama', 'hidden_size': 64, 'num_attention_heads': 4}",
                  "config.json:1:1: error: 'num_hidden_layers' is missing from the model's config.json\n"
                  "config.json:1:1: error: 'intermediate_size' is missing from the model's config.json\n"
                  "config.json:1:1: error: 'vocab_size' is missing");
    check_finding("{'model_type': 'llama',\n 'hidden_size': 'big'}",
                  "config.json:2:17: error: 'hidden_size' must be a whole");
    check_finding("{'model_type': 'qwen3_moe', " SHAPE "}", "'num_experts' is missing");
    check_finding("{'model_type': 'transfo'}",
                  "config.json:1:16: error: unknown model type \"transfo\"; known are llama, ");
    check_finding("{'architectures': ['MambaForCausalLM']}", "unknown architectures");
    check_finding("{'model_type': 'llama', 'tie_word_embeddings': 1, " SHAPE "}", "must be true or false");
    check_finding("{'model_type': 'opt', 'word_embed_proj_dim': 32, 'ffn_dim': 128, " SHAPE "}",
                  "'word_embed_proj_dim' differs");
    check_finding("{'model_type': 'deepseek_v3', 'moe_layer_freq': 2, " SHAPE "}", "'moe_layer_freq' is not 1");
    check_finding("{'model_type': 'deepseek_v2', " SHAPE "}", "'kv_lora_rank' is missing");
    check_finding("{'model_type': 'llama', 'quantization_config': {'quant_method': 'gptq', 'bits': 3}, " SHAPE "}",
                  "'quantization_config' has another number of bits than 4 and 8");
}

#define WIDTHS                                                                                                         \
    "'hidden_size': 64, 'num_attention_heads': 4, 'num_key_value_heads': 2, 'intermediate_size': 99, "                 \
    "'vocab_size': 100, 'max_position_embeddings': 512"

#define SPARSE                                                                                                         \
    "'qk_nope_head_dim': 32, 'qk_rope_head_dim': 16, 'v_head_dim': 32, 'kv_lora_rank': 64, 'q_lora_rank': 128, "       \
    "'n_routed_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 96, 'index_n_heads': 4, "               \
    "'index_head_dim': 64, 'index_topk': 512, " SHAPE

#define MARKS                                                                                                          \
    "'v_head_dim': 8, 'sliding_window': 9, 'n_routed_experts': 8, 'num_experts_per_tok': 2, "                          \
    "'moe_intermediate_size': 96, 'moe_layer_freq': [0, 1], " SHAPE

/* What no layer here has in LLMs whose layers with a window have heads of their own. */
TEST(other_heads_of_windows_are_refused)
{
    check_finding("{'model_type': 'gemma4', 'hidden_size_per_layer_input': 256, " SHAPE "}",
                  "'hidden_size_per_layer_input' is above 0");
    check_finding("{'model_type': 'gemma4', 'num_kv_shared_layers': 20, " SHAPE "}",
                  "'num_kv_shared_layers' is above 0");
    check_finding("{'model_type': 'gemma4', 'enable_moe_block': true, 'num_experts': 8, 'top_k_experts': 2, "
                  "'moe_intermediate_size': 96, 'quantization_config': {'quant_method': 'fp8'}, " SHAPE "}",
                  "'quantization_config' is given: set 'formats'");
    check_finding("{'model_type': 'mimo_v2_flash', 'hybrid_layer_pattern': [0], " MARKS "}",
                  "'hybrid_layer_pattern' must have 0 or 1 for each layer");
    check_finding("{'model_type': 'mimo_v2_flash', 'hybrid_layer_pattern': [0, 2], " MARKS "}",
                  "'hybrid_layer_pattern' must have 0 or 1 for each layer");
    check_finding("{'model_type': 'mimo_v2_flash', 'hybrid_layer_pattern': [1, 0], 'n_shared_experts': 1, " MARKS "}",
                  "'n_shared_experts' is above 0");
    check_finding(
        "{'model_type': 'mimo_v2_flash', 'hybrid_layer_pattern': [1, 0], 'v_head_dim': 8, 'sliding_window': 9, "
        "'n_routed_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 96, "
        "'moe_layer_freq': [1, 0], " SHAPE "}",
        "'moe_layer_freq' must have zeros, then ones");
}

TEST(missing_operators_are_named)
{
    check_finding("{'model_type': 'mamba'}",
                  "config.json:1:16: error: model type \"mamba\" needs operators that are not "
                  "modelled: state-space layers; 'orrery list llms' shows");
    check_finding("{'model_type': 'gemma2', " SHAPE "}", "not modelled: soft caps on scores");
    check_finding("{'model_type': 't5'}", "not modelled: an encoder and cross-attention");
    check_finding("{'model_type': 'qwen3_5_moe', 'num_hidden_layers': 4, " WIDTHS "}", "'num_experts' is missing");
    check_finding("{'model_type': 'qwen3_5', 'num_hidden_layers': 4, 'num_experts': 4, " WIDTHS "}",
                  "'num_experts' is given: the type of LLMs with experts is qwen3_5_moe");
    check_finding("{'model_type': 'qwen3_5', 'num_hidden_layers': 4, 'full_attention_interval': 0, " WIDTHS "}",
                  "'full_attention_interval' must be above 0");
    check_finding("{'model_type': 'minimax'}", "not modelled: linear attention in some of the layers");
    check_finding("{'model_type': 'qwen3_5', 'layer_types': ['linear_attention', 'sliding_attention'], " SHAPE "}",
                  "'layer_types' has a kind that is not modelled");
    check_finding("{'model_type': 'glm_moe_dsa', 'indexer_types': ['full', 'half'], " SPARSE "}",
                  "'indexer_types' has a kind that is not modelled");
    check_finding("{'model_type': 'glm_moe_dsa', 'indexer_types': ['full'], " SPARSE "}",
                  "'indexer_types' must list the kind of each layer");
    check_finding("{'model_type': 'deepseek_v32', " SHAPE "}", "'index_topk' is missing");
    check_finding("{'model_type': 'minimax_m2', 'num_local_experts': 4, 'num_experts_per_tok': 1, 'attn_type_list': "
                  "[1, 0], " SHAPE "}",
                  "'attn_type_list' has a layer of another kind than 1: linear attention is not modelled");
    check_finding("{'model_type': 'llama', 'layer_types': ['full_attention', 'sliding_attention'], " SHAPE "}",
                  "'layer_types' has a kind that is not modelled");
    check_finding("{'model_type': 'llama', 'layer_types': ['chunked_attention', 'full_attention'], " SHAPE "}",
                  "'layer_types' has a kind that is not modelled");
    check_finding("{'model_type': 'mistral', 'sliding_window': 9, 'layer_types': ['linear_attention', "
                  "'full_attention'], " SHAPE "}",
                  "'layer_types' has a kind that is not modelled");
    check_finding("{'model_type': 'mistral', 'sliding_window': 9, 'layer_types': ['full_attention'], " SHAPE "}",
                  "'layer_types' must list the kind of each layer");
    check_finding("{'model_type': 'mistral', 'layer_types': 'full_attention', " SHAPE "}",
                  "'layer_types' must list the kind of each layer");
    check_finding("{'model_type': 'gemma3_text', 'attn_logit_softcapping': 50, " SHAPE "}",
                  "'attn_logit_softcapping' is given: soft caps on scores are not modelled");
    check_finding("{'model_type': 'glm4_moe', 'n_routed_experts': 8, 'num_experts_per_tok': 2, 'n_shared_experts': "
                  "999999999999, 'moe_intermediate_size': 999999999999, " SHAPE "}",
                  "'n_shared_experts' gives a layer of impossible width");
    check_finding("{'model_type': 'qwen3_moe', 'decoder_sparse_step': 2, " SHAPE "}", "'decoder_sparse_step' is not 1");
    check_finding("{'model_type': 'qwen3_moe', 'mlp_only_layers': [0], " SHAPE "}", "'mlp_only_layers' is not empty");
    check_finding("{'model_type': 'gpt2', 'n_positions': 8, 'add_cross_attention': true, " SHAPE "}",
                  "'add_cross_attention' is true");
    check_finding(
        "{'model_type': 'mpt', 'n_layers': 2, 'd_model': 64, 'n_heads': 4, 'max_seq_len': 512, 'vocab_size': 100, "
        "'attn_config': {'qk_ln': true, 'sliding_window_size': 8}}",
        "windows of MPT are not modelled");
}

/* Types without a fixture: shapes and numbers of parameters of gpt2, pythia-6.9b, gpt-j-6b, mpt-7b, Phi-3-mini-4k,
 * starcoder2-3b, Baichuan-7B, internlm2-7b, starcoder and gemma-7b, from memory. Both agree only if every weight is
 * counted. */
TEST(shapes_of_further_types_have_the_published_parameters)
{
    static const struct {
        const char *text;
        int64_t parameters;
    } shapes[] = {
        {"{'model_type': 'gpt2', 'n_layer': 12, 'n_embd': 768, 'n_head': 12, 'n_positions': 1024, 'vocab_size': 50257}",
         124439808},
        {"{'model_type': 'gpt_neox', 'hidden_size': 4096, 'intermediate_size': 16384, 'num_attention_heads': 32, "
         "'num_hidden_layers': 32, 'vocab_size': 50432, 'max_position_embeddings': 2048}",
         6857302016},
        {"{'model_type': 'gptj', 'n_layer': 28, 'n_embd': 4096, 'n_head': 16, 'n_positions': 2048, 'vocab_size': 50400}",
         6050882784},
        {"{'model_type': 'mpt', 'n_layers': 32, 'd_model': 4096, 'n_heads': 32, 'max_seq_len': 2048, 'vocab_size': 50432, "
         "'expansion_ratio': 4, 'no_bias': true, 'attn_config': {'qk_ln': false}}",
         6649286656},
        {"{'model_type': 'phi3', 'hidden_size': 3072, 'intermediate_size': 8192, 'num_attention_heads': 32, "
         "'num_key_value_heads': 32, 'num_hidden_layers': 32, 'vocab_size': 32064, 'max_position_embeddings': 4096, "
         "'sliding_window': 2047}",
         3821079552},
        {"{'model_type': 'starcoder2', 'hidden_size': 3072, 'intermediate_size': 12288, 'num_attention_heads': 24, "
         "'num_key_value_heads': 2, 'num_hidden_layers': 30, 'vocab_size': 49152, 'max_position_embeddings': 16384, "
         "'use_bias': true, 'sliding_window': 4096}",
         3030371328},
        {"{'model_type': 'baichuan', 'hidden_size': 4096, 'intermediate_size': 11008, 'num_attention_heads': 32, "
         "'num_hidden_layers': 32, 'vocab_size': 64000, 'max_position_embeddings': 4096}",
         7000559616},
        {"{'model_type': 'internlm2', 'hidden_size': 4096, 'intermediate_size': 14336, 'num_attention_heads': 32, "
         "'num_key_value_heads': 8, 'num_hidden_layers': 32, 'vocab_size': 92544, 'max_position_embeddings': 32768, "
         "'bias': false}",
         7737708544},
        {"{'model_type': 'gpt_bigcode', 'n_layer': 40, 'n_embd': 6144, 'n_head': 48, 'n_inner': 24576, "
         "'n_positions': 8192, 'vocab_size': 49152, 'multi_query': true}",
         15517456384},
        {"{'model_type': 'gemma', 'hidden_size': 3072, 'intermediate_size': 24576, 'num_attention_heads': 16, "
         "'num_hidden_layers': 28, 'vocab_size': 256000, 'max_position_embeddings': 8192}",
         8537680896},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct llm_spec llm;
        char messages[1024];
        CHECK_EQ_INT(huggingface_text(shapes[i].text, &llm, messages, sizeof messages), 0);
        CHECK_EQ_INT(llm_parameters(&llm), shapes[i].parameters);
        CHECK(llm_problem(&llm) == NULL);
    }
}

/* Layers with linear attention are those of the list, else all but every fourth. A gate doubles the queries. */
TEST(linear_layers_are_counted)
{
    static const struct {
        const char *text;
        int64_t linear_layers, experts;
        bool gated;
    } files[] = {
        {"{'model_type': 'qwen3_5_text', 'num_hidden_layers': 9, " WIDTHS "}", 7, 0, true},
        {"{'model_type': 'qwen3_5', 'num_hidden_layers': 2, 'layer_types': ['full_attention', 'full_attention'], " WIDTHS
         "}",
         0, 0, true},
        {"{'model_type': 'qwen3_next', 'num_hidden_layers': 8, 'num_experts': 4, 'num_experts_per_tok': 1, "
         "'moe_intermediate_size': 96, 'shared_expert_intermediate_size': 64, " WIDTHS "}",
         6, 4, true},
        {"{'model_type': 'qwen3_5', 'text_config': {'num_hidden_layers': 9, 'full_attention_interval': 2, " WIDTHS "}}",
         5, 0, true},
        {"{'model_type': 'qwen3_5', 'text_config': {'num_hidden_layers': 3, 'attn_output_gate': false, 'layer_types': "
         "['linear_attention', 'full_attention', 'full_attention'], " WIDTHS "}}",
         1, 0, false},
        {"{'model_type': 'qwen3_5_moe', 'text_config': {'num_hidden_layers': 4, 'num_experts': 8, "
         "'num_experts_per_tok': 2, 'moe_intermediate_size': 96, 'shared_expert_intermediate_size': 64, " WIDTHS "}}",
         3, 8, true},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct llm_spec llm = {0};
        char messages[1024];
        CHECK_EQ_INT(huggingface_text(files[i].text, &llm, messages, sizeof messages), 0);
        CHECK(llm_problem(&llm) == NULL);
        CHECK_EQ_INT(llm.linear_layers, files[i].linear_layers);
        CHECK_EQ_INT(llm.experts, files[i].experts);
        CHECK(llm.attention_gate == files[i].gated && llm.shared_gate == (files[i].experts > 0));
    }
}

/* Of a multimodal file the language model is read; its ties stand beside it. */
TEST(language_models_of_multimodal_files_are_read)
{
    struct llm_spec llm = {0};
    char messages[1024];
    CHECK_EQ_INT(huggingface_text("{'model_type': 'qwen3_vl', 'tie_word_embeddings': true, 'text_config': {" SHAPE "}}",
                                  &llm, messages, sizeof messages),
                 0);
    CHECK(llm.layers == 2 && llm.experts == 0 && llm.qk_norm && llm.tied_embeddings);
    CHECK_EQ_INT(huggingface_text("{'model_type': 'qwen3_vl_moe', 'text_config': {'num_experts': 8, "
                                  "'num_experts_per_tok': 2, 'moe_intermediate_size': 96, " SHAPE "}}",
                                  &llm, messages, sizeof messages),
                 0);
    CHECK(llm.experts == 8 && llm.ffn == 0 && !llm.tied_embeddings);
    CHECK_EQ_INT(huggingface_text("{'model_type': 'mimo', 'num_nextn_predict_layers': 1, " SHAPE "}", &llm, messages,
                                  sizeof messages),
                 0);
    CHECK(llm.mtp_layers == 1 && llm.qkv_bias);
}

/* Chunks in three of four layers, or in those of the list; experts in all layers or in every second one. */
TEST(chunks_are_read)
{
#define LLAMA_4 "'num_key_value_heads': 2, 'num_local_experts': 4, 'num_experts_per_tok': 1, 'intermediate_size_mlp': 256, " SHAPE
    struct llm_spec llm = {0};
    char messages[1024];
    CHECK_EQ_INT(huggingface_text(
                     "{'model_type': 'llama4_text', 'attention_chunk_size': 64, 'no_rope_layer_interval': 2, " LLAMA_4
                     "}",
                     &llm, messages, sizeof messages),
                 0);
    CHECK(llm_problem(&llm) == NULL && llm.chunked && llm.sliding_window == 64 && llm.full_layers == 1);
    CHECK(llm.experts == 4 && llm.dense_layers == 0 && llm.ffn == 128);
    CHECK_EQ_INT(huggingface_text("{'model_type': 'llama4', 'text_config': {'interleave_moe_layer_step': 2, "
                                  "'attention_chunk_size': 64, 'layer_types': ['chunked_attention', "
                                  "'chunked_attention'], " LLAMA_4 "}}",
                                  &llm, messages, sizeof messages),
                 0);
    CHECK(llm_problem(&llm) == NULL && llm.full_layers == 0 && llm.alternating_dense && llm.dense_ffn == 256);
    CHECK_EQ_INT(huggingface_text("{'model_type': 'llama4_text', 'no_rope_layers': [1, 0], " LLAMA_4 "}", &llm,
                                  messages, sizeof messages),
                 0);
    CHECK(llm.full_layers == 1 && llm.sliding_window == 8192);
    CHECK_EQ_INT(huggingface_text("{'model_type': 'llama4_text', 'attention_chunk_size': null, " LLAMA_4 "}", &llm,
                                  messages, sizeof messages),
                 0);
    CHECK(!llm.chunked && llm.full_layers == 0 && llm.sliding_window == 0);
    check_finding("{'model_type': 'llama4_text', 'no_rope_layers': [1, 0, 1], " LLAMA_4 "}",
                  "'no_rope_layers' must have a number for each layer");
    check_finding("{'model_type': 'llama4_text', 'moe_layers': [1], " LLAMA_4 "}", "'moe_layers' is given");
    check_finding("{'model_type': 'llama4', 'text_config': {'quantization_config': {'quant_method': 'fp8'}, " LLAMA_4
                  "}}",
                  "'quantization_config' is given: set 'formats' of the service instead");
    check_finding("{'model_type': 'llama4_text', 'interleave_moe_layer_step': 3, " LLAMA_4 "}", "is neither 1 nor 2");
    check_finding("{'model_type': 'llama4_text', 'interleave_moe_layer_step': 0, " LLAMA_4 "}", "is neither 1 nor 2");
    check_finding("{'model_type': 'llama4_text', 'no_rope_layer_interval': 0, " LLAMA_4 "}",
                  "'no_rope_layer_interval' must be above 0");
    check_finding("{'model_type': 'llama4_text', 'quantization_config': {'quant_method': 'fp8'}, " LLAMA_4 "}",
                  "'quantization_config' is given: set 'formats' of the service instead");
}

/* Indexers are those of the list, else one in every layer. */
TEST(indexers_are_counted)
{
    struct llm_spec llm = {0};
    char messages[1024];
    CHECK_EQ_INT(huggingface_text("{'model_type': 'deepseek_v32', " SPARSE "}", &llm, messages, sizeof messages), 0);
    CHECK(llm_problem(&llm) == NULL && llm.index_layers == llm.layers && llm.index_tokens == 512);
    CHECK_EQ_INT(huggingface_text("{'model_type': 'glm_moe_dsa', 'indexer_types': ['full', 'shared'], " SPARSE "}",
                                  &llm, messages, sizeof messages),
                 0);
    CHECK(llm_problem(&llm) == NULL && llm.index_layers == 1);
}

/* Of a line whose modules differ by layer, a format holds if all of them have it. */
TEST(linear_layers_have_modules_of_their_own)
{
#define QUANTISED(modules)                                                                                             \
    "{'model_type': 'qwen3_5_text', 'num_hidden_layers': 4, 'torch_dtype': 'bfloat16', 'quantization_config': "          \
    "{'quant_method': 'fp8', 'weight_block_size': [128, 128], 'modules_to_not_convert': [" modules "]}, " WIDTHS "}"
    struct llm_spec llm = {0};
    char messages[1024];
    CHECK_EQ_INT(huggingface_text(QUANTISED("'model.layers.0.linear_attn', 'model.layers.1.linear_attn', "
                                            "'model.layers.2.linear_attn', 'model.layers.3.self_attn'"),
                                  &llm, messages, sizeof messages),
                 0);
    CHECK_EQ_INT(llm_format(&llm, LLM_PART_ATTENTION), FORMAT_BF16);
    CHECK_EQ_INT(llm_format(&llm, LLM_PART_OUT), FORMAT_BF16);
    CHECK_EQ_INT(llm_format(&llm, LLM_PART_DENSE), FORMAT_FP8_BLOCK);
    check_finding("{'model_type': 'qwen3_5_text', 'num_hidden_layers': 2, 'layer_types': ['full_attention', "
                  "'linear_attention'], 'quantization_config': {'quant_method': 'fp8'}, " WIDTHS "}",
                  "'layer_types' spreads linear attention unevenly");
    check_finding(QUANTISED("'model.layers.3.self_attn'"), "another format than layers.0.linear_attn.in_proj_qkv");
}

static struct llm_spec windows_of(const char *text)
{
    struct llm_spec llm = {0};
    char messages[1024];
    CHECK_EQ_INT(huggingface_text(text, &llm, messages, sizeof messages), 0);
    return llm;
}

static int64_t window_of(const char *text)
{
    const struct llm_spec llm = windows_of(text);
    CHECK_EQ_INT(llm.full_layers, 0);
    return llm.sliding_window;
}

static void check_windows(const char *text, int64_t window, int64_t full_layers)
{
    const struct llm_spec llm = windows_of(text);
    CHECK_EQ_INT(llm.sliding_window, window);
    CHECK_EQ_INT(llm.full_layers, full_layers);
}

/* By the list of layers, or by the rule of the type. */
TEST(windows_of_some_layers_are_counted)
{
    check_windows(
        "{'model_type': 'qwen2', 'use_sliding_window': true, 'sliding_window': 9, 'max_window_layers': 1, " SHAPE "}",
        9, 1);
    check_windows("{'model_type': 'mistral', 'sliding_window': 9, 'layer_types': ['sliding_attention', "
                  "'full_attention'], " SHAPE "}",
                  9, 1);
    check_windows("{'model_type': 'gpt_oss', 'num_local_experts': 4, 'num_experts_per_tok': 1, " SHAPE "}", 128, 1);
    check_windows("{'model_type': 'gpt_oss', 'num_experts': 4, 'num_experts_per_tok': 1, 'layer_types': "
                  "['full_attention', 'full_attention'], " SHAPE "}",
                  0, 0);
    check_windows("{'model_type': 'gpt_oss', 'num_experts': 4, 'num_experts_per_tok': 1, 'layer_types': "
                  "['sliding_attention', 'sliding_attention'], " SHAPE "}",
                  128, 0);
    check_windows("{'model_type': 'gemma3_text', 'sliding_window': null, " SHAPE "}", 0, 0);
    check_windows("{'model_type': 'gemma3_text', 'sliding_window_pattern': 1, " SHAPE "}", 0, 0);
    check_windows("{'model_type': 'gemma3_text', 'num_hidden_layers': 13, 'hidden_size': 64, 'intermediate_size': 99}",
                  4096, 2);
    check_windows("{'model_type': 'gemma3', 'text_config': {'num_hidden_layers': 13, 'hidden_size': 64, "
                  "'intermediate_size': 99, 'sliding_window': 512, 'sliding_window_pattern': 4}}",
                  512, 3);
}

TEST(windows_count_where_all_layers_have_them)
{
    CHECK_EQ_INT(window_of("{'model_type': 'qwen2', 'sliding_window': 9, 'max_window_layers': 0, " SHAPE "}"), 0);
    CHECK_EQ_INT(window_of("{'model_type': 'qwen2', 'use_sliding_window': true, 'sliding_window': 9, "
                           "'max_window_layers': 0, " SHAPE "}"),
                 9);
    CHECK_EQ_INT(window_of("{'model_type': 'qwen3', 'use_sliding_window': true, 'sliding_window': 9, "
                           "'max_window_layers': 2, " SHAPE "}"),
                 0);
    CHECK_EQ_INT(window_of("{'model_type': 'phi3', 'sliding_window': 9, 'layer_types': ['sliding_attention', "
                           "'sliding_attention'], " SHAPE "}"),
                 9);
    CHECK_EQ_INT(window_of("{'model_type': 'phi3', 'sliding_window': null, " SHAPE "}"), 0);
}

/* Formats of a multimodal file stand in the part of the language model or beside it, each for itself. */
TEST(formats_stand_in_either_part)
{
#define SIZES "'num_hidden_layers': 6, 'hidden_size': 64, 'intermediate_size': 99"
    static const struct {
        const char *text;
        enum number_format weights, compute;
    } cases[] = {
        {"{'model_type': 'gemma3', 'torch_dtype': 'bfloat16', 'quantization_config': {'quant_method': 'fp8'}, "
         "'text_config': {" SIZES "}}", FORMAT_FP8, FORMAT_BF16},
        {"{'model_type': 'gemma3', 'quantization_config': {'quant_method': 'fp8'}, "
         "'text_config': {'torch_dtype': 'bfloat16', " SIZES "}}", FORMAT_FP8, FORMAT_BF16},
        {"{'model_type': 'gemma3', 'dtype': 'bfloat16', "
         "'text_config': {'quantization_config': {'quant_method': 'fp8'}, " SIZES "}}", FORMAT_FP8, FORMAT_BF16},
        {"{'model_type': 'gemma3', 'text_config': {" SIZES "}}", FORMAT_FP16, FORMAT_FP16},
    };
#undef SIZES
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct llm_spec llm;
        char messages[1024];
        MUST(huggingface_text(cases[i].text, &llm, messages, sizeof messages) == 0);
        CHECK_EQ_INT(llm.weights, cases[i].weights);
        CHECK_EQ_INT(llm.compute, cases[i].compute);
    }
}

TEST(formats_are_taken_over)
{
    static const struct {
        const char *text;
        enum number_format weights, compute;
    } cases[] = {
        {"{'model_type': 'llama', " SHAPE "}", FORMAT_FP16, FORMAT_FP16},
        {"{'model_type': 'llama', 'torch_dtype': 'float32', " SHAPE "}", FORMAT_FP16, FORMAT_FP16},
        {"{'model_type': 'llama', 'dtype': 'bfloat16', " SHAPE "}", FORMAT_BF16, FORMAT_BF16},
        {"{'model_type': 'llama', 'quantization_config': {'quant_method': 'awq', 'bits': 4}, " SHAPE "}", FORMAT_INT4,
         FORMAT_FP16},
        {"{'model_type': 'llama', 'dtype': 'bfloat16', 'quantization_config': {'quant_method': 'fp8'}, " SHAPE "}",
         FORMAT_FP8, FORMAT_BF16},
        {"{'model_type': 'gpt_oss', 'dtype': 'bfloat16', 'num_local_experts': 4, 'num_experts_per_tok': 1, "
         "'num_key_value_heads': 4, 'quantization_config': {'quant_method': 'mxfp4'}, " SHAPE "}",
         FORMAT_BF16, FORMAT_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct llm_spec llm;
        char messages[1024];
        MUST(huggingface_text(cases[i].text, &llm, messages, sizeof messages) == 0);
        CHECK_EQ_INT(llm.weights, cases[i].weights);
        CHECK_EQ_INT(llm.compute, cases[i].compute);
        CHECK_EQ_INT(llm.kv, cases[i].compute);
        CHECK(llm_format(&llm, LLM_PART_EXPERTS) == (llm.experts > 0 ? FORMAT_MXFP4 : llm.weights));
    }
}

TEST(our_own_files_are_not_mistaken)
{
    struct llm_spec llm;
    char messages[1024];
    CHECK_EQ_INT(huggingface_text("{'layers': 2}", &llm, messages, sizeof messages), SIM_E_USAGE);
}
