#include "analysis/calibrate/profile/profile.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

/* One file of a test and what reading it gave. */
struct reading {
    struct arena arena;
    struct diag diag;
    struct gpu_spec gpu;
    struct profile profile;
    int code;
    const char *path;
    char message[1024];
};

static void reading_begin(struct reading *reading, const char *name, const char *text, const char *llm, int64_t tensor)
{
    arena_init(&reading->arena);
    diag_init(&reading->diag);
    reading->path = test_file(name, "%s", text);
    MUST(catalog_gpu(&catalog, "a6000", "test", &reading->arena, &reading->gpu, &reading->diag) == 0);
    const struct profile_options options = {&catalog, &reading->gpu, llm, tensor};
    reading->code = profile_read(reading->path, &options, &reading->arena, &reading->profile, &reading->diag);
    reading->message[0] = 0;
    if (reading->diag.n_items > 0) diag_format(&reading->diag.items[0], reading->message, sizeof reading->message);
    CHECK_EQ_STR(reading->message, "");
}

static void reading_fini(struct reading *reading)
{
    arena_fini(&reading->arena);
}

static void check_product(const struct profile_row *row, enum llm_operator op, double m, double n, double k)
{
    CHECK_EQ_INT(row->call.class, KERNEL_GEMM);
    CHECK_EQ_INT(row->op, op);
    CHECK_NEAR(row->call.shape.gemm.m, m, 0.0);
    CHECK_NEAR(row->call.shape.gemm.n, n, 0.0);
    CHECK_NEAR(row->call.shape.gemm.k, k, 0.0);
    CHECK_NEAR(row->tokens, m, 0.0);
}

static int64_t dropped_rows(const struct profile *profile, const char *reason)
{
    for (size_t i = 0; i < profile->n_dropped; i++)
        if (strcmp(profile->dropped[i].reason, reason) == 0) return profile->dropped[i].rows;
    return 0;
}

#define LAYERS_HEADER "layer_name,input,kv_cache,tp_size,latency(ns)\n"

/* Llama-3.1-70B: hidden 8192, 64 heads of 128 over 8 KV heads, ffn 28672, vocabulary 128256. */
TEST(projections_of_a_shard_keep_their_own_shapes)
{
    SCOPED(reading) reading;
    reading_begin(&reading, "H100__Llama-3.1-70B__tp4__layers.csv",
                  LAYERS_HEADER "q_proj,7,0,4,100000\r\nk_proj,7,0,4,10000\nv_proj,7,0,4,10000\no_proj,7,0,4,100000\n"
                                "gate_proj,7,0,4,150000\nup_proj,7,0,4,150000\ndown_proj,7,0,4,150000\n"
                                "lm_head,7,0,4,900000\n",
                  NULL, 0);
    MUST(reading.code == 0 && reading.profile.n == 8);
    const struct profile_row *rows = reading.profile.rows;
    check_product(&rows[0], OP_QKV, 7, 2048, 8192);
    check_product(&rows[1], OP_QKV, 7, 256, 8192);
    check_product(&rows[2], OP_QKV, 7, 256, 8192);
    check_product(&rows[3], OP_OUT, 7, 8192, 2048);
    check_product(&rows[4], OP_UP, 7, 7168, 8192);
    check_product(&rows[5], OP_UP, 7, 7168, 8192);
    check_product(&rows[6], OP_DOWN, 7, 8192, 7168);
    check_product(&rows[7], OP_HEAD, 7, 32064, 8192);
    CHECK_NEAR(rows[0].measured_s, 100e-6, 1e-12);
    CHECK_EQ_STR(reading.profile.groups[0], "llama-3.1-70b");
    CHECK_EQ_STR(reading.profile.format, "llmservingsim-layers");
    CHECK_EQ_STR(reading.profile.set, "in-model");
}

TEST(a_prompt_without_context_is_prefill)
{
    SCOPED(reading) reading;
    reading_begin(&reading, "A6000__Llama-3.1-8B__tp1__layers.csv",
                  LAYERS_HEADER "attn,512,0,1,50000\nembedding,512,0,1,20000\n", NULL, 0);
    MUST(reading.code == 0 && reading.profile.n == 2);
    const struct profile_row *rows = reading.profile.rows;
    CHECK_EQ_INT(rows[0].call.class, KERNEL_PREFILL_ATTENTION);
    CHECK_NEAR(rows[0].call.shape.prefill.sequences, 1.0, 0.0);
    CHECK_NEAR(rows[0].call.shape.prefill.pairs, 512.0 * 512.0, 0.0);
    CHECK_NEAR(rows[0].call.shape.prefill.past, 0.0, 0.0);
    CHECK_NEAR(rows[0].call.shape.prefill.kv_heads, 8.0, 0.0);
    CHECK_EQ_INT(rows[1].call.class, KERNEL_EMBEDDING);
}

/* A mixture: the matrices of one expert are products of their own; the window of 2047 tokens ends the attention. */
TEST(experts_and_windows)
{
    SCOPED(reading) reading;
    reading_begin(&reading, "A6000__Phi-mini-MoE-instruct__tp1__layers.csv",
                  LAYERS_HEADER "expert.w1,64,0,1,20000\nexpert.w2,64,0,1,15000\nexpert.w3,64,0,1,20000\n"
                                "attn,2047,0,1,400000\nattn,2048,0,1,1800000\ngate,64,0,1,60000\nrope,64,0,1,40000\n"
                                "down_proj,64,0,1,40000\nconv,64,0,1,40000\n",
                  NULL, 0);
    MUST(reading.code == 0 && reading.profile.n == 4);
    check_product(&reading.profile.rows[0], OP_UP, 64, 960, 4096);
    check_product(&reading.profile.rows[1], OP_DOWN, 64, 4096, 960);
    check_product(&reading.profile.rows[2], OP_UP, 64, 960, 4096);
    CHECK_EQ_INT(dropped_rows(&reading.profile, "several kernels"), 2);
    CHECK_EQ_INT(dropped_rows(&reading.profile, "attention beyond the window"), 1);
    CHECK_EQ_INT(dropped_rows(&reading.profile, "not an operator of the LLM"), 2);
}

TEST(fused_layers_are_the_operators_of_an_iteration)
{
    SCOPED(reading) reading;
    reading_begin(&reading, "RTX4090__Llama-3.1-8B__bf16_tp2__dense.csv",
                  "layer,tokens,time_us\r\nqkv_proj,20,60.5\r\ngate_up_proj,20,250\r\nact_fn,20,3\r\nlayernorm,20,2\r\n"
                  "rotary_emb,20,2.4\r\n",
                  NULL, 0);
    MUST(reading.code == 0 && reading.profile.n == 5);
    const struct profile_row *rows = reading.profile.rows;
    CHECK_EQ_STR(reading.profile.format, "llmservingsim-dense");
    check_product(&rows[0], OP_QKV, 20, 3072, 4096);
    check_product(&rows[1], OP_UP, 20, 14336, 4096);
    CHECK_EQ_INT(rows[2].call.class, KERNEL_ACTIVATION);
    CHECK_NEAR(rows[2].call.shape.elementwise.width, 3.0 * 7168.0, 0.0);
    CHECK_EQ_INT(rows[3].call.class, KERNEL_NORM);
    CHECK_EQ_INT(rows[4].call.class, KERNEL_ROTARY);
    CHECK_NEAR(rows[0].measured_s, 60.5e-6, 1e-12);
    CHECK_EQ_INT(rows[4].line, 6);
}

TEST(the_head_counts_sequences)
{
    SCOPED(reading) reading;
    reading_begin(&reading, "some.csv", "layer,sequences,time_us\nlm_head,48,1200\nsampler,48,40\nrandom,48,4\n",
                  "llama-3.1-8b", 1);
    MUST(reading.code == 0 && reading.profile.n == 2);
    check_product(&reading.profile.rows[0], OP_HEAD, 48, 128256, 4096);
    CHECK_EQ_INT(reading.profile.rows[1].call.class, KERNEL_SAMPLING);
    CHECK(reading.profile.rows[1].call.shape.elementwise.tokens == 48.0);
    CHECK(reading.profile.rows[1].call.shape.elementwise.width == 128256.0);
    CHECK_EQ_INT(dropped_rows(&reading.profile, "not an operator of the LLM"), 1);
}

static void check_refused(const char *name, const char *text, const char *llm, int64_t tensor, int code,
                          const char *expected)
{
    SCOPED(reading) reading = {0};
    reading.path = test_file(name, "%s", text);
    MUST(catalog_gpu(&catalog, "a6000", "test", &reading.arena, &reading.gpu, &reading.diag) == 0);
    const struct profile_options options = {&catalog, &reading.gpu, llm, tensor};
    CHECK_EQ_INT(profile_read(reading.path, &options, &reading.arena, &reading.profile, &reading.diag), code);
    MUST(reading.diag.n_items > 0);
    diag_format(&reading.diag.items[0], reading.message, sizeof reading.message);
    if (!strstr(reading.message, expected)) CHECK_EQ_STR(reading.message, expected);
}

TEST(what_is_missing_is_named)
{
    const char *dense = "layer,tokens,time_us\nqkv_proj,20,60.5\n";
    check_refused("profile.csv", dense, NULL, 0, SIM_E_CONFIG,
                  "profile.csv: error: the file's name contains no LLM of the catalog; name it with --llm");
    check_refused("xllama-3.1-8b.csv", dense, NULL, 0, SIM_E_CONFIG, "the file's name contains no LLM of the catalog");
    check_refused("a.csv", dense, "llama-3.1-8c", 0, SIM_E_CONFIG, "unknown LLM 'llama-3.1-8c'");
    check_refused("llama-3.1-8b__tp3.csv", dense, NULL, 0, SIM_E_CONFIG, "'llama-3.1-8b' split 3 ways: ");
    check_refused("llama-3.1-8b.csv", "layer,tokens,time_us\nqkv_proj,2x,60.5\n", NULL, 0, SIM_E_DATA,
                  "llama-3.1-8b.csv:2:10: error: 'tokens' must be a number of at least 1, got '2x'");
}

/* Which call a row is follows from its numbers of tokens and GPUs. */
TEST(rows_with_an_empty_number_have_no_shape)
{
    static const char *const texts[] = {"layer,tokens,time_us\nqkv_proj,,20\nqkv_proj,7,20\n",
                                        "layer,sequences,time_us\nlm_head,,20\nlm_head,7,200\n",
                                        LAYERS_HEADER "q_proj,,0,1,100000\nq_proj,7,0,1,100000\n",
                                        LAYERS_HEADER "q_proj,7,0,,100000\nq_proj,7,0,1,100000\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SCOPED(reading) reading;
        reading_begin(&reading, "A6000__Llama-3.1-8B__tp1__empty.csv", texts[i], NULL, 0);
        MUST(reading.code == 0);
        CHECK_EQ_INT(reading.profile.n, 1);
        CHECK_EQ_INT(dropped_rows(&reading.profile, "no shape"), 1);
    }
}
