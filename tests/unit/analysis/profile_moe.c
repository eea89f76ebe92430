/* Reading measured mixture-of-experts layers. */
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

#define HEADER                                                                                                         \
    "kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"             \
    "distribution,latency\r\n"

/* A table with these rows. */
static const struct profile *read_rows(struct profile_fixture *fixture, const char *rows)
{
    const char *text = arena_printf(&fixture->arena, HEADER "%s", rows);
    CHECK_EQ_INT(profile_fixture_text(fixture, "moe.csv", text), 0);
    return &fixture->files[0];
}

TEST(splits_and_choices_follow_the_columns)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    const struct profile *profile = read_rows(&fixture,
                                              "vllm_fused_moe,bfloat16,64,7168,2048,8,256,32,1,power_law_1.2,0.237\r\n"
                                              "vllm_fused_moe,fp8_block,64,7168,2048,8,256,1,16,balanced,0.305\r\n"
                                              "vllm_fused_moe,fp8,64,7168,2048,8,256,1,16,power_law_1.01,0.385\r\n"
                                              "vllm_marlin_moe,int4_wo,64,7168,2048,8,256,1,1,balanced,1.963\r\n");
    CHECK_EQ_STR(profile->format, "aiconfigurator-moe");
    CHECK_EQ_STR(profile->set, "isolated");
    MUST(profile->n == 4);
    const struct moe_shape *cut = &profile->rows[0].call.shape.moe, *spread = &profile->rows[1].call.shape.moe;
    CHECK_EQ_INT(profile->rows[0].call.class, KERNEL_MOE);
    CHECK(cut->tokens == 64.0 && cut->hidden == 7168.0 && cut->inner == 64.0 && cut->held == 256.0);
    CHECK(cut->skew == 1.2 && !cut->in_turn && !cut->dealt && cut->matrices == 3.0);
    CHECK_EQ_INT(profile->rows[1].call.class, KERNEL_MOE_FP8);
    CHECK(spread->inner == 2048.0 && spread->held == 16.0 && spread->in_turn && spread->skew == 0.0);
    CHECK_EQ_INT(spread->weights, FORMAT_FP8);
    CHECK_EQ_INT(profile->rows[2].call.class, KERNEL_MOE_FP8_TENSOR);
    CHECK_EQ_INT(profile->rows[2].group, profile->rows[1].group);
    CHECK_EQ_INT(profile->rows[3].call.class, KERNEL_MOE_INT4);
    CHECK_EQ_INT(profile->rows[3].call.shape.moe.weights, FORMAT_INT4);
    CHECK_EQ_INT(profile->rows[3].call.shape.moe.compute, FORMAT_BF16);
    CHECK_NEAR(profile->rows[3].measured_s, 1.963e-3, 1e-12);
}

/* Two kernels for one shape: the engine takes the faster. Rows of one kernel, measured twice, both count. */
TEST(the_fastest_kernel_counts)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    const struct profile *profile = read_rows(&fixture, "slow,nvfp4,64,7168,2048,8,256,1,8,balanced,0.3\r\n"
                                                        "fast,nvfp4,64,7168,2048,8,256,1,8,balanced,0.2\r\n"
                                                        "fast,nvfp4,64,7168,2048,8,256,1,8,balanced,0.25\r\n"
                                                        "slow,w4a16_mxfp4,64,7168,2048,8,256,1,8,balanced,0.4\r\n");
    MUST(profile->n == 3 && profile->n_dropped == 1);
    CHECK(profile->rows[0].line == 3 && profile->rows[1].line == 4);
    CHECK_EQ_INT(profile->rows[0].call.class, KERNEL_MOE_NVFP4);
    CHECK_EQ_INT(profile->rows[2].call.class, KERNEL_MOE_MXFP4);
    CHECK_EQ_INT(profile->rows[2].call.shape.moe.compute, FORMAT_BF16);
    CHECK_EQ_INT(profile->rows[2].call.shape.moe.weights, FORMAT_MXFP4);
}

/* Experts on one GPU or on eight are other calls: the kernel of one says nothing about the other. */
TEST(kernels_are_compared_on_one_call)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    const struct profile *profile = read_rows(&fixture, "throughput,nvfp4,64,4096,2048,8,256,1,1,balanced,0.4\r\n"
                                                        "latency,nvfp4,64,4096,2048,8,256,1,1,balanced,0.5\r\n"
                                                        "throughput,nvfp4,64,4096,2048,8,256,1,8,balanced,0.2\r\n"
                                                        "latency,nvfp4,64,4096,2048,8,256,1,8,balanced,0.1\r\n"
                                                        "latency,nvfp4,64,4096,2048,8,256,1,8,power_law_1.2,0.3\r\n");
    MUST(profile->n == 3 && profile->n_dropped == 1);
    CHECK(profile->rows[0].line == 2 && profile->rows[1].line == 5 && profile->rows[2].line == 6);
    CHECK(profile->rows[2].call.shape.moe.dealt && !profile->rows[1].call.shape.moe.dealt);
}

/* 256 experts of 25 MB are not read in 0.46 ms: these tokens were routed to fewer, in all rows of the layer. Kernels
 * for short latencies are routed so for any LLM. Another layer of as many experts is not concerned. */
TEST(experts_are_not_read_faster_than_the_memory)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    const struct profile *profile = read_rows(&fixture,
                                              "monolithic,nvfp4,32,7168,2048,8,256,1,1,balanced,0.46\r\n"
                                              "monolithic,nvfp4,1,7168,2048,8,256,1,8,power_law_1.2,0.04\r\n"
                                              "moe_torch_flow_min_latency,nvfp4,32,4096,2048,8,256,1,1,balanced,0.9\r\n"
                                              "monolithic,nvfp4,32,7168,1024,8,256,1,1,balanced,0.5\r\n"
                                              "monolithic,nvfp4,1,2688,1856,6,128,1,1,balanced,0.1\r\n"
                                              "vllm_fused_moe,nvfp4,2,2688,1856,6,128,1,1,balanced,0.1\r\n");
    MUST(profile->n == 3 && profile->n_dropped == 1);
    CHECK_EQ_STR(profile->dropped[0].reason, "routed to other experts than stated");
    CHECK_EQ_INT(profile->dropped[0].rows, 3);
    CHECK(profile->rows[0].line == 5 && profile->rows[0].call.shape.moe.matrices == 3.0);
    CHECK(profile->rows[1].line == 6 && profile->rows[1].call.shape.moe.matrices == 2.0);
    CHECK(profile->rows[2].line == 7 && profile->rows[2].call.shape.moe.matrices == 3.0);
}

/* TensorRT-LLM's table has two kernels on the B200 that its engine does not take there. CUTLASS in fp8 it does take. */
TEST(kernels_that_no_engine_takes_are_left_out)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    const struct profile *profile = read_rows(&fixture,
                                              "deepgemm,fp8_block,64,4096,2048,8,256,1,8,balanced,0.3\r\n"
                                              "moe_torch_flow_cutlass,nvfp4,64,4096,2048,8,256,1,8,balanced,0.3\r\n"
                                              "moe_torch_flow_cutlass,fp8,64,4096,2048,8,256,1,8,balanced,0.3\r\n");
    MUST(profile->n == 1 && profile->n_dropped == 1);
    CHECK_EQ_INT(profile->rows[0].call.class, KERNEL_MOE_FP8_TENSOR);
    CHECK_EQ_INT(profile->dropped[0].rows, 2);
}

/* "FILE@KERNEL" has the rows of that kernel alone, also where no engine takes it by default. Files of other formats
 * name no kernels, and a file whose own name has an '@' is itself. */
TEST(a_kernel_can_be_asked_for)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    const char *path = test_file("moe.csv", HEADER "deepgemm,fp8_block,64,4096,2048,8,256,1,8,balanced,0.3\r\n"
                                                   "triton,fp8_block,64,4096,2048,8,256,1,8,balanced,0.2\r\n");
    MUST(profile_fixture_read(&fixture, arena_printf(&fixture.arena, "%s@deepgemm", path)) == 0);
    const struct profile *profile = &fixture.files[0];
    MUST(profile->n == 1 && profile->n_dropped == 1);
    CHECK_EQ_INT(profile->rows[0].line, 2);
    CHECK_EQ_STR(profile->dropped[0].reason, "another kernel than the one asked for");
    CHECK_EQ_INT(profile_fixture_text(&fixture, "a@b.csv", HEADER "triton,bfloat16,64,4096,2048,8,256,1,8,balanced,0.3\r\n"),
                 0);
    CHECK_EQ_INT(fixture.files[1].n, 1);
    const char *products = test_file("gemm.csv", "gemm_dtype,m,n,k,latency\r\nbfloat16,64,4096,4096,0.1\r\n");
    CHECK_EQ_INT(profile_fixture_read(&fixture, arena_printf(&fixture.arena, "%s@deepgemm", products)), SIM_E_DATA);
    CHECK(strstr(fixture.message, "do not name kernels") != NULL);
}

TEST(a_kernel_that_the_file_lacks_is_named)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    const char *path = test_file("moe.csv", HEADER "triton,fp8_block,64,4096,2048,8,256,1,8,balanced,0.2\r\n");
    CHECK_EQ_INT(profile_fixture_read(&fixture, arena_printf(&fixture.arena, "%s@trition", path)), SIM_E_DATA);
    CHECK(strstr(fixture.message, "has no rows of kernel 'trition'") != NULL);
    CHECK(strstr(fixture.message, "moe.csv: ") != NULL);
}

/* FlashInfer's CUTLASS kernels were measured untuned on Hopper. On the B200 they were not slow. */
TEST(untuned_kernels_are_left_out_on_hopper)
{
    static const char *const gpus[] = {"h100-sxm", "b200-sxm"};
    for (size_t i = 0; i < 2; i++) {
        SCOPED(profile_fixture) fixture;
        MUST(profile_fixture_init(&fixture, gpus[i]) == 0);
        const struct profile *profile = read_rows(&fixture, "vllm_modeloptfp8moe_flashinfer_cutlass_flashinferexperts,"
                                                            "fp8,64,4096,2048,8,256,1,8,balanced,0.3\r\n");
        CHECK_EQ_INT((int64_t)profile->n, (int64_t)i);
    }
}

/* SGLang's kernels depend on the LLM: those of few LLMs are read where they are asked for. Marlin in mxfp4 is not that
 * of the release; in int4 it is. */
TEST(kernels_of_few_llms_are_apart)
{
    static const struct {
        const char *gpu, *kernel, *type;
        bool stays;
    } rows[] = {{"h100-sxm", "sglang_flashinfer_cutlass_moe", "bfloat16", false},
                {"h100-sxm", "sglang_fused_moe_triton", "bfloat16", true},
                {"b200-sxm", "sglang_fused_moe_triton", "bfloat16", false},
                {"b200-sxm", "sglang_flashinfer_trtllm_moe", "bfloat16", true},
                {"b200-sxm", "vllm_compressedtensorsw4a4mxfp4moe_marlin_marlinexperts", "w4a16_mxfp4", false},
                {"h100-sxm", "sglang_marlin_moe_situ_as_silu", "w4a16_mxfp4", false},
                {"h100-sxm", "sglang_marlin_moe", "int4_wo", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SCOPED(profile_fixture) fixture;
        MUST(profile_fixture_init(&fixture, rows[i].gpu) == 0);
        const char *row = arena_printf(&fixture.arena, HEADER "%s,%s,64,4096,2048,8,256,1,8,balanced,0.9\r\n",
                                       rows[i].kernel, rows[i].type);
        const char *path = test_file("moe.csv", "%s", row);
        MUST(profile_fixture_read(&fixture, path) == 0);
        CHECK_EQ_INT((int64_t)fixture.files[0].n, rows[i].stays);
        MUST(profile_fixture_read(&fixture, arena_printf(&fixture.arena, "%s@%s", path, rows[i].kernel)) == 0);
        CHECK_EQ_INT((int64_t)fixture.files[1].n, 1);
    }
}

/* Where SGLang's collector calls Triton's gate by itself, expert 0 gets all choices of other GPUs. Experts on one GPU,
 * other layers and other engines have none of these, whether the kernel is asked for or not. */
TEST(choices_that_expert_0_gets_are_left_out)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    const char *text = HEADER "sglang_fused_moe_triton,bfloat16,64,4096,14336,2,8,1,2,balanced,1.7\r\n"
                              "sglang_fused_moe_triton,bfloat16,64,4096,14336,2,8,2,1,balanced,1.7\r\n"
                              "sglang_fused_moe_triton,bfloat16,64,4096,1536,8,128,1,2,balanced,1.7\r\n"
                              "vllm_triton,bfloat16,64,4096,14336,2,8,1,2,balanced,1.7\r\n";
    const char *path = test_file("moe.csv", text);
    MUST(profile_fixture_read(&fixture, path) == 0);
    MUST(profile_fixture_read(&fixture, arena_printf(&fixture.arena, "%s@sglang_fused_moe_triton", path)) == 0);
    CHECK_EQ_INT((int64_t)fixture.files[0].n, 3);
    CHECK_EQ_INT((int64_t)fixture.files[1].n, 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ_INT(fixture.files[i].rows[0].line, 3);
        CHECK_EQ_STR(fixture.files[i].dropped[0].reason, "routed to other experts than stated");
        CHECK_EQ_INT(fixture.files[i].dropped[0].rows, 1);
    }
}

TEST(what_is_not_known_is_left_out)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    const struct profile *profile = read_rows(&fixture, "v,w4a8_mxfp4_mxfp8,64,7168,2048,8,256,1,1,balanced,0.3\r\n"
                                                        "v,bfloat16,64,7168,2048,8,256,1,1,uniform,5.3\r\n"
                                                        "v,bfloat16,64,7168,2048,8,256,1,1,power_law_x,5.3\r\n"
                                                        "v,bfloat16,64,7168,2048,8,256,1,1,balanced,\r\n"
                                                        "v,bfloat16,16384,7168,2048,8,256,1,1,balanced,0.5\r\n");
    CHECK_EQ_INT(profile->n, 0);
    MUST(profile->n_dropped == 4);
    CHECK_EQ_STR(profile->dropped[0].reason, "type of numbers not read");
    CHECK_EQ_STR(profile->dropped[1].reason, "choice of experts not known");
    CHECK_EQ_INT(profile->dropped[1].rows, 2);
    CHECK_EQ_STR(profile->dropped[2].reason, "no time");
    CHECK_EQ_STR(profile->dropped[3].reason, "faster than the peak");
    CHECK_EQ_INT(profile_fixture_text(&fixture, "bad.csv", HEADER "v,bfloat16,0,7168,2048,8,256,1,1,balanced,1\r\n"),
                 SIM_E_DATA);
}
