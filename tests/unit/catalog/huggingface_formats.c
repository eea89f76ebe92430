/* quantization_config of a checkpoint's config.json: schemes and lists of modules become formats of the parts. */
#include "sim/catalog/catalog.h"
#include "sim/catalog/huggingface.h"
#include "tests/support/harness.h"
#include "tests/support/huggingface_fixture.h"

/* Three layers with four heads, of which the first is dense where there are experts; or five such layers. */
#define LAYERS(n)                                                                                                      \
    "'num_hidden_layers': " n ", 'hidden_size': 64, 'num_attention_heads': 4, 'intermediate_size': 128, "              \
    "'vocab_size': 100, 'max_position_embeddings': 512, 'dtype': 'bfloat16', 'quantization_config': "
#define COMMON LAYERS("3")
#define DENSE "{'model_type': 'llama', " COMMON
#define LATENT_SHAPE                                                                                                   \
    "{'model_type': 'deepseek_v3', 'qk_nope_head_dim': 16, 'qk_rope_head_dim': 8, 'v_head_dim': 16, 'kv_lora_rank': "  \
    "32, 'q_lora_rank': 32, 'first_k_dense_replace': 1, 'n_routed_experts': 12, 'num_experts_per_tok': 2, "            \
    "'n_shared_experts': 1, 'moe_intermediate_size': 32, 'moe_layer_freq': 1, "
#define LATENT LATENT_SHAPE COMMON
#define OF_FIVE(pattern)                                                                                               \
    LATENT_SHAPE LAYERS("5") "{'quant_method': 'fp8', 'modules_to_not_convert': ['" pattern "']}}"

#define SMALL_LLAMA                                                                                                    \
    "{'model_type': 'llama', 'num_hidden_layers': 3, 'hidden_size': 64, 'num_attention_heads': 4, "                    \
    "'intermediate_size': 128, 'vocab_size': 100, 'max_position_embeddings': 512"

enum { LIST_BYTES = 4096 };

struct expected {
    const char *text;
    enum number_format parts[LLM_PART_COUNT]; /* attention, out, dense, shared, experts, head */
    enum number_format kv;
};

static void check_formats(const struct expected *expected)
{
    char messages[LIST_BYTES];
    struct llm_spec llm;
    if (huggingface_text(expected->text, &llm, messages, sizeof messages) != 0) CHECK_EQ_STR(messages, expected->text);
    for (enum llm_part part = 0; part < LLM_PART_COUNT; part++)
        if (llm.experts > 0 || (part != LLM_PART_SHARED && part != LLM_PART_EXPERTS))
            CHECK_EQ_INT(llm_format(&llm, part), expected->parts[part]);
    CHECK_EQ_INT(llm.kv, expected->kv);
    CHECK(llm_problem(&llm) == NULL);
}

#define ALL(format) {format, format, format, format, format, FORMAT_BF16}, FORMAT_BF16
#define FLOAT8 "'weights': {'num_bits': 8, 'type': 'float', 'strategy': "
#define INPUT8 "'input_activations': {'num_bits': 8, 'type': 'float', 'dynamic': true}"
#define CT(groups, ignore)                                                                                             \
    "{'quant_method': 'compressed-tensors', 'config_groups': {" groups "}, 'ignore': [" ignore "]}}"

/* A scheme for all matrices but the head. */
TEST(one_scheme_is_the_format_of_all_parts)
{
    static const struct expected cases[] = {
        {LATENT "{'quant_method': 'fp8', 'weight_block_size': [128, 128]}}", ALL(FORMAT_FP8_BLOCK)},
        {LATENT "{'quant_method': 'fp8', 'weight_block_size': null}}", ALL(FORMAT_FP8)},
        {LATENT
         "{'quant_method': 'fp8', 'weight_block_size': [128, 128], 'modules_to_not_convert': ['gate', 'lm_head', "
         "'model.layers.0.input_layernorm', 'model.layers.1.mlp.gate']}}",
         ALL(FORMAT_FP8_BLOCK)},
        {LATENT "{'quant_method': 'fbgemm_fp8', 'modules_to_not_convert': ['lm_head']}}", ALL(FORMAT_FP8)},
        {DENSE "{'quant_method': 'awq', 'bits': 4, 'modules_to_not_convert': null}}", ALL(FORMAT_INT4)},
        {DENSE "{'quant_method': 'gptq', 'bits': 8}}", ALL(FORMAT_INT8)},
        {LATENT CT("'a': {" FLOAT8 "'channel'}, " INPUT8 ", 'targets': ['Linear']}", "'lm_head'"), ALL(FORMAT_FP8)},
        {LATENT CT("'a': {" FLOAT8 "'tensor'}, " INPUT8 ", 'targets': ['Linear']}", "'lm_head'"), ALL(FORMAT_FP8)},
        {LATENT CT("'a': {" FLOAT8 "'block', 'block_structure': [128, 128]}, " INPUT8 ", 'targets': ['Linear']}",
                   "'lm_head', 're:.*mlp.gate$'"),
         ALL(FORMAT_FP8_BLOCK)},
        {DENSE CT("'a': {" FLOAT8 "'block', 'block_structure': '128x128'}, " INPUT8 ", 'targets': ['Linear']}",
                  "'lm_head'"),
         ALL(FORMAT_FP8_BLOCK)},
        {DENSE CT("'a': {'weights': {'num_bits': 4, 'type': 'int', 'strategy': 'group', 'group_size': 128}, "
                  "'input_activations': null, 'targets': ['Linear']}",
                  "'lm_head'"),
         ALL(FORMAT_INT4)},
        {DENSE CT("'a': {'weights': {'num_bits': 4, 'type': 'float', 'strategy': 'tensor_group', 'group_size': 16}, "
                  "'input_activations': {'num_bits': 4, 'type': 'float', 'group_size': 16}, 'targets': ['Linear']}",
                  "'lm_head'"),
         ALL(FORMAT_NVFP4)},
        {DENSE CT("'a': {'weights': {'num_bits': 4, 'type': 'float', 'strategy': 'group', 'group_size': 32}, "
                  "'input_activations': null, 'targets': ['Linear']}",
                  "'lm_head'"),
         ALL(FORMAT_MXFP4)},
        {LATENT "{'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'ignore': ['lm_head']}}", ALL(FORMAT_NVFP4)},
        {DENSE "{'quant_algo': 'FP8', 'ignore': ['lm_head']}}", ALL(FORMAT_FP8)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_formats(&cases[i]);
}

/* Modules of which some stay in 16 bits, as published checkpoints leave them. */
TEST(modules_left_out_are_parts)
{
    static const struct expected cases[] = {
        /* experts alone are narrow (Kimi K2.5) */
        {LATENT CT("'a': {'weights': {'num_bits': 4, 'type': 'int', 'strategy': 'group', 'group_size': 32}, 'targets': "
                   "['Linear']}",
                   "'lm_head', 're:.*self_attn.*', 're:.*shared_experts.*', "
                   "'re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*'"),
         {FORMAT_BF16, FORMAT_BF16, FORMAT_BF16, FORMAT_BF16, FORMAT_INT4, FORMAT_BF16}, FORMAT_BF16},
        /* all but the projections to queries and latent vectors (NVIDIA's DeepSeek in nvfp4) */
        {LATENT "{'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'kv_cache_scheme': {'num_bits': 8, 'type': 'float'}, "
                "'ignore': ['lm_head', 'model.layers.*.self_attn.kv_a_proj_with_mqa', 'model.layers.*.self_attn.kv_b_proj', "
                "'model.layers.*.self_attn.q_?_proj', 'model.layers.3*']}}",
         {FORMAT_BF16, FORMAT_NVFP4, FORMAT_NVFP4, FORMAT_NVFP4, FORMAT_NVFP4, FORMAT_BF16}, FORMAT_FP8},
        /* a name of a module means all inside it; layers beyond those of the LLM are of no part */
        {DENSE "{'quant_method': 'modelopt', 'quant_algo': 'FP8', 'kv_cache_quant_algo': 'FP8', 'exclude_modules': "
               "['model.layers.0.self_attn', 'model.layers.1.self_attn*', 'model.layers.2.self_attn.q_proj', "
               "'model.layers.2.self_attn.k_proj', 'model.layers.2.self_attn.v_proj', 'model.layers.2.self_attn.o_proj', "
               "'model.layers.3*']}}",
         {FORMAT_BF16, FORMAT_BF16, FORMAT_FP8, 0, 0, FORMAT_FP8}, FORMAT_FP8},
        /* digits in brackets, beside other characters or alone; "]" first in a bracket is a character */
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 ", 'targets': ['Linear']}",
                  "'lm_head', 're:.*layers[]._][\\\\d]+[^\\\\d]self_attn'"),
         {FORMAT_BF16, FORMAT_BF16, FORMAT_FP8, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        /* letters and edges of words */
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 ", 'targets': ['Linear']}",
                  "'re:lm\\\\w*$', 're:.*\\\\bself_attn\\\\b'"),
         {FORMAT_BF16, FORMAT_BF16, FORMAT_FP8, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        /* all experts by two expressions, or each by its number */
        {LATENT "{'quant_method': 'fp8', 'modules_to_not_convert': ['re:.*experts\\\\.\\\\d\\\\..*', "
                "'re:.*experts\\\\.1[01]\\\\..*']}}",
         {FORMAT_FP8, FORMAT_FP8, FORMAT_FP8, FORMAT_FP8, FORMAT_BF16, FORMAT_BF16}, FORMAT_BF16},
        /* a layer by the number of another does not count */
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 ", 'targets': ['Linear']}", "'lm_head', 'model.layers.10.mlp'"),
         ALL(FORMAT_FP8)},
        {"{'model_type': 'gpt_oss', 'num_local_experts': 4, 'num_experts_per_tok': 1, 'num_key_value_heads': 4, " COMMON
         "{'quant_method': 'mxfp4', 'modules_to_not_convert': ['model.layers.*.self_attn', 'model.layers.*.mlp.router', "
         "'model.embed_tokens', 'lm_head']}}",
         {FORMAT_BF16, FORMAT_BF16, FORMAT_BF16, FORMAT_BF16, FORMAT_MXFP4, FORMAT_BF16}, FORMAT_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_formats(&cases[i]);
}

/* A module goes by the names that several kinds of checkpoints give it, and by those of multimodal ones. */
TEST(modules_go_by_all_their_names)
{
#define WITHOUT(shape, modules) shape "{'quant_method': 'modelopt', 'quant_algo': 'FP8', 'ignore': [" modules "]}}"
#define LINEAR                                                                                                         \
    "{'model_type': 'qwen3_5_text', 'num_key_value_heads': 4, 'layer_types': ['linear_attention', 'linear_attention', " \
    "'full_attention'], " COMMON
    static const struct expected cases[] = {
        {WITHOUT(DENSE, "'lm_head', '*.qkv_proj'"),
         {FORMAT_BF16, FORMAT_FP8, FORMAT_FP8, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(DENSE, "'lm_head', '*.gate_up_proj', '*.down_proj'"),
         {FORMAT_FP8, FORMAT_FP8, FORMAT_BF16, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(LATENT, "'lm_head', '*.shared_expert.*'"),
         {FORMAT_FP8, FORMAT_FP8, FORMAT_FP8, FORMAT_BF16, FORMAT_FP8, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(LATENT, "'lm_head', '*.block_sparse_moe.experts.*.w[123]'"),
         {FORMAT_FP8, FORMAT_FP8, FORMAT_FP8, FORMAT_FP8, FORMAT_BF16, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(LINEAR, "'lm_head', '*.in_proj_qkvz', '*.qkv_proj'"),
         {FORMAT_BF16, FORMAT_FP8, FORMAT_FP8, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(LINEAR, "'lm_head', '*.in_proj_qkv', '*.in_proj_z', '*.[qkv]_proj'"),
         {FORMAT_BF16, FORMAT_FP8, FORMAT_FP8, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(LINEAR, "'lm_head', '*linear_attn.out_proj', '*self_attn.o_proj'"),
         {FORMAT_FP8, FORMAT_BF16, FORMAT_FP8, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(DENSE, "'lm_head', 'model.layers.*.mlp.*'"),
         {FORMAT_FP8, FORMAT_FP8, FORMAT_BF16, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(DENSE, "'language_model.lm_h*', 'language_model.model.layers.*.mlp.*'"),
         {FORMAT_FP8, FORMAT_FP8, FORMAT_BF16, 0, 0, FORMAT_BF16}, FORMAT_BF16},
        {WITHOUT(DENSE, "'model.language_model.layers.*.o_proj'"),
         {FORMAT_FP8, FORMAT_BF16, FORMAT_FP8, 0, 0, FORMAT_FP8}, FORMAT_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_formats(&cases[i]);
}

/* Several schemes: named modules come before classes of them, in any order of the groups. */
TEST(schemes_are_of_modules)
{
    static const struct expected cases[] = {
        {LATENT CT("'a': {" FLOAT8 "'channel'}, " INPUT8 ", 'targets': ['Linear']}, "
                   "'b': {'weights': {'num_bits': 4, 'type': 'int'}, 'targets': ['re:.*mlp.experts.*']}", "'lm_head'"),
         {FORMAT_FP8, FORMAT_FP8, FORMAT_FP8, FORMAT_FP8, FORMAT_INT4, FORMAT_BF16}, FORMAT_BF16},
        {LATENT "{'quant_method': 'modelopt', 'quant_algo': 'MIXED_PRECISION', 'quantized_layers': {"
                "'lm_head': {'quant_algo': 'FP8'}, "
                "'model.layers.1.mlp.experts': {'quant_algo': 'NVFP4', 'group_size': 16}, "
                "'model.layers.2.mlp.experts.0.up_proj': {'quant_algo': 'NVFP4'}, "
                "'model.layers.2.mlp.experts.0.down_proj': {'quant_algo': 'NVFP4'}, "
                "'model.layers.2.mlp.experts.0.gate_proj': {'quant_algo': 'NVFP4'}, "
                "'model.layers.2.mlp.experts.11': {'quant_algo': 'NVFP4'}, "
                "'model.layers.0.self_attn.o_proj': {'quant_algo': 'FP8'}, "
                "'model.layers.1.self_attn.o_proj': {'quant_algo': 'FP8'}, "
                "'model.layers.2.self_attn.o_proj': {'quant_algo': 'FP8'}}}}",
         {FORMAT_BF16, FORMAT_FP8, FORMAT_BF16, FORMAT_BF16, FORMAT_NVFP4, FORMAT_FP8}, FORMAT_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_formats(&cases[i]);
}

/* ModelOpt's file beside a config.json that says nothing of formats. */
TEST(formats_stand_in_a_file_beside)
{
    static const struct catalog catalog = {.root = "configs"};
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct llm_spec llm;
    const char *path = arena_strdup(&arena, test_file("config.json", "%s", SMALL_LLAMA "}"));
    MUST(catalog_llm(&catalog, path, "test", &arena, &llm, &diag) == 0);
    CHECK_EQ_INT(llm.weights, FORMAT_FP16);
    char beside[512];
    snprintf(beside, sizeof beside, "%.*s/hf_quant_config.json", (int)(strrchr(path, '/') - path), path);
    test_write(beside, "%s",
               "{'producer': {'name': 'modelopt'}, 'quantization': {'quant_algo': 'NVFP4', "
               "'kv_cache_quant_algo': 'FP8', 'group_size': 16, 'exclude_modules': ['lm_head', "
               "'model.layers.*.self_attn*']}}");
    MUST(catalog_llm(&catalog, path, "test", &arena, &llm, &diag) == 0);
    CHECK_EQ_INT(llm_format(&llm, LLM_PART_DENSE), FORMAT_NVFP4);
    CHECK_EQ_INT(llm_format(&llm, LLM_PART_OUT), FORMAT_FP16);
    CHECK_EQ_INT(llm.kv, FORMAT_FP8);
    /* A null says as little as no member. */
    test_write(path, "%s", SMALL_LLAMA ", 'quantization_config': null}");
    MUST(catalog_llm(&catalog, path, "test", &arena, &llm, &diag) == 0);
    CHECK_EQ_INT(llm_format(&llm, LLM_PART_DENSE), FORMAT_NVFP4);
}

/* What is refused says why. */
TEST(formats_without_kernels_are_refused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {DENSE "{'quant_method': 'bitsandbytes'}}", "is of a kind that is not modelled"},
        {DENSE "{'quant_method': 'gptq', 'bits': 3}}", "has another number of bits than 4 and 8"},
        {DENSE "{'quant_method': 'gptq', 'bits': 4, 'dynamic': {'-:.*down.*': {}}}}", "has rules by module"},
        {DENSE "{'quant_method': 'fp8', 'weight_block_size': [64, 128]}}", "has other blocks than 128 x 128"},
        {DENSE "{'quant_method': 'mxfp4'}}", "is read of experts alone"},
        {DENSE "{'quant_method': 'fp8', 'modules_to_not_convert': ['model.layers.0.mlp']}}",
         "gives layers.1.mlp.up_proj another format than layers.0.mlp.up_proj: the dense feed-forward layers must have "
         "one format here"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, 'targets': ['Linear']}", ""), "activations of 16 bits"},
        {DENSE CT("'a': {" FLOAT8 "'group', 'group_size': 32}, " INPUT8 "}", ""), "has a scale per group in fp8"},
        {DENSE CT("'a': {" FLOAT8 "'block', 'block_structure': '64x64'}, " INPUT8 "}", ""), "other blocks than 128 x 128"},
        {DENSE CT("'a': {" FLOAT8 "'block', 'block_structure': 128}, " INPUT8 "}", ""), "other blocks than 128 x 128"},
        {DENSE CT("'a': {'weights': {'num_bits': 6}}", ""), "another width than 4 and 8 bits"},
        {DENSE CT("'a': {'weights': {'num_bits': 4, 'type': 'float', 'group_size': 16}}", ""), "nvfp4 beside wider"},
        {DENSE CT("'a': {'weights': {'num_bits': 4, 'type': 'int'}, " INPUT8 "}", ""), "beside weights in int4"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:(?!lm_head).*'"), "regular expression"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:.*[\\\\w]_proj'"), "backslash or '[:' in brackets"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:.*[[:alpha:]]_proj'"), "backslash or '[:' in brackets"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:.*layers.[0-9]{1,2}.mlp'"), "count of repetitions"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:.*layers.[0-9]++.mlp'"), "possessive repetition"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:.*layers.\\\\D'"), "a backslash before what"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:.*lm_head\\\\Z'"), "a backslash before what"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:(.*)(mlp)\\\\2'"), "a backslash before what"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:.*\\\\<mlp'"), "a backslash before what"},
        {DENSE CT("'a': {" FLOAT8 "'channel'}, " INPUT8 "}", "'re:.*(mlp'"), "parentheses that do not match"},
        /* wildcards and expressions mean the last expert too, 11 of 12 */
        {LATENT "{'quant_method': 'fp8', 'modules_to_not_convert': ['*.experts.1*']}}", "the experts must have one format"},
        {LATENT "{'quant_method': 'fp8', 'modules_to_not_convert': ['re:.*mlp.experts.1.*']}}",
         "the experts must have one format"},
        /* ... and those between the first and the last one */
        {LATENT "{'quant_method': 'fp8', 'modules_to_not_convert': ['*.experts.5*']}}",
         "gives layers.1.mlp.experts.5.up_proj another format than layers.1.mlp.experts.0.up_proj: the experts must have"},
        {LATENT "{'quant_method': 'fp8', 'modules_to_not_convert': ['re:.*experts\\\\.[1-9]\\\\..*']}}",
         "the experts must have one format"},
        {LATENT "{'quant_method': 'fp8', 'modules_to_not_convert': ['re:.*layers.2.*experts\\\\.[1-9]\\\\.down.*']}}",
         "gives layers.2.mlp.experts.1.down_proj another format"},
        /* ... in each layer */
        {OF_FIVE("re:.*layers\\\\.2\\\\..*experts\\\\.[1-9]\\\\..*"), "gives layers.2.mlp.experts.1.up_proj another format"},
        {OF_FIVE("re:.*layers\\\\.3\\\\..*experts.[2-5].down.*"), "gives layers.3.mlp.experts.2.down_proj another format"},
        {OF_FIVE("*layers.3.mlp.experts.5*"), "gives layers.3.mlp.experts.5.up_proj another format"},
        {OF_FIVE("*layers.2.mlp.experts.[2-9].gate*"), "gives layers.2.mlp.experts.2.gate_proj another format"},
        {DENSE CT("", ""), "has no 'config_groups'"},
        {DENSE "{'quant_method': 'modelopt', 'quant_algo': 'MXFP8'}}", "has an algorithm without kernels here"},
        {DENSE "{'quant_method': 'modelopt', 'quant_algo': 'MIXED_PRECISION'}}", "without 'quantized_layers'"},
        {DENSE "{'quant_method': 'modelopt', 'quant_algo': 'FP8', 'kv_cache_scheme': 'NVFP4'}}", "keys and values"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char messages[LIST_BYTES];
        struct llm_spec llm;
        CHECK_EQ_INT(huggingface_text(cases[i].text, &llm, messages, sizeof messages), SIM_E_CONFIG);
        if (strstr(messages, cases[i].why) == NULL) CHECK_EQ_STR(messages, cases[i].why);
    }
}

/* Weights of 8 bits are read, and the run hears that the activations count in 16. */
TEST(whole_numbers_of_eight_bits_warn)
{
    char messages[LIST_BYTES];
    struct llm_spec llm;
    MUST(huggingface_text(DENSE CT("'a': {'weights': {'num_bits': 8, 'type': 'int', 'strategy': 'channel'}, "
                                   "'input_activations': {'num_bits': 8, 'type': 'int'}, 'targets': ['Linear']}",
                                   "'lm_head'"),
                          &llm, messages, sizeof messages) == 0);
    CHECK_EQ_INT(llm.weights, FORMAT_INT8);
    CHECK(strstr(messages, "warning: activations in int8 are not modelled") != NULL);
}
