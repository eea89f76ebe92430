/* Reading measured kernels: shapes from columns, line ends, dropped rows, findings with their place. */
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

#define GEMM_HEADER "kernel_source,gemm_dtype,m,n,k,latency"

static const struct profile_row *row_of(const struct profile *profile, enum llm_operator op, size_t nth)
{
    for (size_t i = 0; i < profile->n; i++)
        if (profile->rows[i].op == op && nth-- == 0) return &profile->rows[i];
    return NULL;
}

static void check_product(const struct profile_row *row, double m, double n, double k, double seconds)
{
    MUST(row != NULL);
    CHECK_EQ_INT(row->call.class, KERNEL_GEMM);
    CHECK(row->call.shape.gemm.m == m && row->call.shape.gemm.n == n && row->call.shape.gemm.k == k);
    CHECK_NEAR(row->measured_s, seconds, 1e-12);
    CHECK(row->tokens == m);
}

static void check_pass(const struct profile_row *row, enum kernel_class class, double tokens, double width)
{
    MUST(row != NULL);
    CHECK_EQ_INT(row->call.class, class);
    CHECK(row->call.shape.elementwise.tokens == tokens && row->call.shape.elementwise.width == width);
}

static const char vidur_text[] =
    "time_stats.emb.median,time_stats.input_layernorm.median,time_stats.attn_pre_proj.median,"
    "time_stats.attn_rope.median,time_stats.attn_post_proj.median,time_stats.post_attention_layernorm.median,"
    "time_stats.mlp_up_proj.median,time_stats.mlp_act.median,time_stats.mlp_down_proj.median,time_stats.add.median,"
    "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\r\n"
    "0.01,0.02,0.1,0.03,0.08,0.02,0.3,0.04,0.15,0.05,64,8,8192,28672,32768,True,128,4\r\n"
    "0.01,0.02,0.1,0.03,0.08,,0.3,0.04,0.15,0.05,32,32,2560,10240,51200,False,7,1\r\n";

TEST(vidur_shapes_follow_the_columns)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    CHECK_EQ_INT(profile_fixture_text(&fixture, "a100__Some-LLM__dense_ops.csv", vidur_text), 0);
    const struct profile *profile = &fixture.files[0];
    CHECK_EQ_STR(profile->format, "vidur-dense");
    CHECK_EQ_STR(profile->set, "in-model");
    CHECK_EQ_INT(profile->n, 19);
    CHECK_EQ_INT(profile->n_groups, 1);
    CHECK_EQ_STR(profile->groups[0], "Some-LLM");
    check_product(row_of(profile, OP_QKV, 0), 128, 2560, 8192, 1e-4);
    check_product(row_of(profile, OP_OUT, 0), 128, 8192, 2048, 8e-5);
    check_product(row_of(profile, OP_UP, 0), 128, 14336, 8192, 3e-4);
    check_product(row_of(profile, OP_DOWN, 0), 128, 8192, 7168, 1.5e-4);
    check_product(row_of(profile, OP_UP, 1), 7, 10240, 2560, 3e-4);
    check_pass(row_of(profile, OP_EMBEDDING, 0), KERNEL_EMBEDDING, 128, 2 * 8192);
    check_pass(row_of(profile, OP_NORM, 0), KERNEL_NORM, 128, 2 * 8192);
    check_pass(row_of(profile, OP_ROTARY, 0), KERNEL_ROTARY, 128, 2 * (64 + 8) * 128 / 4);
    check_pass(row_of(profile, OP_ACTIVATION, 0), KERNEL_ACTIVATION, 128, 3 * 7168);
    check_pass(row_of(profile, OP_ACTIVATION, 1), KERNEL_ACTIVATION, 7, 2 * 10240);
    check_pass(row_of(profile, OP_RESIDUAL, 0), KERNEL_RESIDUAL, 128, 3 * 8192);
    check_pass(row_of(profile, OP_RESIDUAL, 1), KERNEL_RESIDUAL, 7, 3 * 2560);
    CHECK_NEAR(row_of(profile, OP_RESIDUAL, 0)->measured_s, 5e-5, 1e-12);
    CHECK_NEAR(row_of(profile, OP_RESIDUAL, 1)->measured_s, 2.5e-5, 1e-12); /* one of two sums */
    CHECK_EQ_INT(profile->n_dropped, 1); /* the second LLM has one norm */
    CHECK_EQ_STR(profile->dropped[0].reason, "no time");
}

TEST(products_of_other_types_are_left_out)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    const char *text = GEMM_HEADER "\r\n"
                                   "v,bfloat16,16,4096,512,0.01\r\n"
                                   "v,fp8,32,4096,512,0.01\r\n"
                                   "v,fp8_block,64,512,512,0.01\r\n"
                                   "v,int4_wo,64,512,512,0.01\r\n"
                                   "v,bfloat16,8192,8192,8192,0.0001\r\n"
                                   "v,bfloat16,,4096,4096,0.1\r\n";
    CHECK_EQ_INT(profile_fixture_text(&fixture, "gemm.csv", text), 0);
    const struct profile *profile = &fixture.files[0];
    CHECK_EQ_STR(profile->format, "aiconfigurator-gemm");
    CHECK_EQ_INT(profile->n, 3);
    CHECK_EQ_INT(profile->rows[2].call.class, KERNEL_GEMM_FP8_BLOCK);
    CHECK_EQ_INT(profile->rows[0].call.class, KERNEL_GEMM);
    CHECK_EQ_INT(profile->rows[1].call.class, KERNEL_GEMM_FP8);
    CHECK_EQ_INT(profile->rows[1].call.shape.gemm.weights, FORMAT_FP8);
    CHECK_EQ_INT(profile->rows[1].line, 3);
    CHECK(profile->rows[0].gpu == &fixture.gpu);
    CHECK_EQ_INT(profile->n_groups, 4); /* those of dropped rows too */
    CHECK_EQ_STR(profile->groups[profile->rows[0].group], "n4096 k512");
    CHECK(profile->rows[0].group == profile->rows[1].group);
    MUST(profile->n_dropped == 3);
    CHECK_EQ_STR(profile->dropped[1].reason, "faster than the peak");
    CHECK_EQ_STR(profile->dropped[2].reason, "no shape");
}

/* Compressed or not; without the rows of a type that was launched by the host, however large its products are. */
TEST(products_launched_by_the_host_are_left_out)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    const char *text = GEMM_HEADER "\nv,nvfp4,16,256,256,0.006\nv,fp8_block,16,256,256,0.02\n"
                                   "v,fp8_block,4096,8192,8192,0.2\nv,nvfp4,4096,8192,8192,0.15\n";
    CHECK_EQ_INT(profile_fixture_text(&fixture, "gemm.csv", text), 0);
    const struct profile *profile = &fixture.files[0];
    MUST(profile->n == 2 && profile->n_dropped == 1);
    CHECK_EQ_INT(profile->rows[1].call.class, KERNEL_GEMM_NVFP4);
    CHECK_EQ_INT(profile->rows[1].call.shape.gemm.compute, FORMAT_NVFP4);
    CHECK_EQ_INT(profile->dropped[0].rows, 2);
    CHECK_EQ_STR(profile->dropped[0].reason, "launched by the host");
}

/* TensorRT-LLM tunes its products in nvfp4 when it serves, and its collector does not; those of others stay. */
TEST(products_that_were_not_tuned_are_left_out)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    const char *text = GEMM_HEADER "\ntorch_flow,nvfp4,16,256,256,0.006\ntorch_flow,bfloat16,16,256,256,0.006\n"
                                   "v,nvfp4,16,256,256,0.006\n";
    MUST(profile_fixture_text(&fixture, "a.csv", text) == 0);
    const struct profile *profile = &fixture.files[0];
    MUST(profile->n == 2 && profile->n_dropped == 1);
    CHECK(profile->rows[0].line == 3 && profile->rows[1].line == 4);
    CHECK_EQ_STR(profile->dropped[0].reason, "a kernel that was not tuned, as serving tunes it");
}

TEST(findings_name_their_place)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    CHECK_EQ_INT(profile_fixture_text(&fixture, "a.csv", GEMM_HEADER "\nv,bfloat16,16,4o96,512,0.01\n"), SIM_E_DATA);
    CHECK(strstr(fixture.message, "a.csv:2:15: error: 'n' must be a number of at least 1, got '4o96'") != NULL);
    CHECK_EQ_INT(profile_fixture_text(&fixture, "b.csv", "who,knows\n1,2\n"), SIM_E_DATA);
    CHECK(strstr(fixture.diag.items[1].where, "b.csv:1:1") != NULL);
    CHECK_EQ_INT(profile_fixture_text(&fixture, "c.csv", ""), SIM_E_DATA);
    CHECK_EQ_INT(profile_fixture_read(&fixture, "/nowhere/at/all.csv"), SIM_E_IO);
}

TEST(joining_merges_groups_and_reasons)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    MUST(profile_fixture_text(&fixture, "a.csv", GEMM_HEADER "\nv,bfloat16,1,64,64,0.01\nv,int8,1,64,64,0.01\n") == 0);
    MUST(profile_fixture_text(&fixture, "b.csv",
                              GEMM_HEADER
                              "\nv,bfloat16,1,32,64,0.01\nv,bfloat16,2,64,64,0.01\nv,x,1,64,64,0.01\n") == 0);
    MUST(profile_fixture_join(&fixture) == 0);
    const struct profile *joined = &fixture.joined;
    CHECK_EQ_INT(joined->n, 3);
    CHECK_EQ_INT(joined->n_groups, 2);
    CHECK(joined->rows[0].group == joined->rows[2].group && joined->rows[1].group == 1);
    CHECK_EQ_INT(joined->dropped[0].rows, 2);
    CHECK(strcmp(fixture.files[0].hash, fixture.files[1].hash) != 0);
}

/* Whatever allocation fails, reading says so and leaks nothing. */
TEST(running_out_of_memory_is_an_error)
{
    bool done = false;
    for (long n = 0; !done && n < 200; n++) {
        SCOPED(profile_fixture) fixture;
        MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
        MUST(profile_fixture_text(&fixture, "x__y__z.csv", vidur_text) == 0);
        struct profile profile;
        mem_fail_after(n);
        const int code = profile_read(fixture.files[0].path, &fixture.options, &fixture.arena, &profile, &fixture.diag);
        mem_fail_never();
        CHECK(code == 0 || code == SIM_E_NOMEM);
        done = code == 0;
    }
    CHECK(done);
}
