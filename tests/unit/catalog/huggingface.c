#include "sim/catalog/catalog.h"
#include "sim/catalog/huggingface.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

static int read_llm(const char *name, struct arena *arena, struct llm_spec *llm)
{
    struct diag diag = {0};
    return catalog_llm(&catalog, name, "test", arena, llm, &diag);
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
    static const char *const names[] = {"llama-2-7b",   "llama-2-70b", "mistral-7b",       "mixtral-8x7b",
                                        "yi-34b",       "qwen-72b",    "qwen3-32b",        "qwen3-30b-a3b",
                                        "opt-13b",      "falcon-180b", "bloom-176b",       "phi-2",
                                        "internlm-20b", "deepseek-v3", "deepseek-v2-lite", "qwen3-235b-a22b"};
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

/* Reads a document in which ' stands for "; all findings, one per line, in `messages`. */
static int read_text(const char *quoted, struct llm_spec *llm, char *messages, size_t bytes)
{
    static const struct json_source source = {.name = "config.json", .directory = ".", .has_lines = true};
    const char *text = test_json("%s", quoted);
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct json_node *root;
    int code = json_parse(&arena, &source, text, strlen(text), &root, &diag);
    if (code == 0) code = huggingface_recognises(root) ? huggingface_read(root, llm, &diag) : SIM_E_USAGE;
    messages[0] = 0;
    for (int i = 0; i < diag.n_items; i++) {
        const size_t used = strlen(messages);
        char line[1024];
        diag_format(&diag.items[i], line, sizeof line);
        snprintf(messages + used, bytes - used, "%s%s", i > 0 ? "\n" : "", line);
    }
    return code;
}

static void check_finding(const char *text, const char *expected)
{
    struct llm_spec llm;
    char messages[4096];
    CHECK_EQ_INT(read_text(text, &llm, messages, sizeof messages), SIM_E_CONFIG);
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
    check_finding("{'model_type': 'mamba'}",
                  "config.json:1:16: error: unknown model type \"mamba\"; known are llama, ");
    check_finding("{'architectures': ['MambaForCausalLM']}", "unknown architectures");
    check_finding("{'model_type': 'llama', 'tie_word_embeddings': 1, " SHAPE "}", "must be true or false");
    check_finding("{'model_type': 'opt', 'word_embed_proj_dim': 32, 'ffn_dim': 128, " SHAPE "}",
                  "'word_embed_proj_dim' differs");
    check_finding("{'model_type': 'deepseek_v3', 'moe_layer_freq': 2, " SHAPE "}", "'moe_layer_freq' is not 1");
    check_finding("{'model_type': 'deepseek_v2', " SHAPE "}", "'kv_lora_rank' is missing");
    check_finding("{'model_type': 'llama', 'quantization_config': {'quant_method': 'gptq', 'bits': 3}, " SHAPE "}",
                  "'quantization_config' is of a kind that is not modelled");
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
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct llm_spec llm;
        char messages[1024];
        MUST(read_text(cases[i].text, &llm, messages, sizeof messages) == 0);
        CHECK_EQ_INT(llm.weights, cases[i].weights);
        CHECK_EQ_INT(llm.compute, cases[i].compute);
        CHECK_EQ_INT(llm.kv, cases[i].compute);
    }
}

TEST(our_own_files_are_not_mistaken)
{
    struct llm_spec llm;
    char messages[1024];
    CHECK_EQ_INT(read_text("{'layers': 2}", &llm, messages, sizeof messages), SIM_E_USAGE);
}
