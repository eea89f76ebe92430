/* Tables of measured iterations: which rows are read, which are left out and why, what is wrong with a file. */
#include "analysis/calibrate/engine/measured.h"
#include "tests/support/harness.h"

struct session {
    struct arena arena;
    struct diag diag;
    struct measured measured;
    char message[DIAG_LINE_CHARS];
};

/* Reads a text as a file of that name. */
static int read_text(struct session *session, const char *name, const char *text)
{
    const char *path = test_file(name, "%s", text);
    arena_init(&session->arena);
    diag_init(&session->diag);
    session->message[0] = 0;
    const struct catalog catalog = {.root = "configs"};
    const int code = measured_read(path, &catalog, &session->arena, &session->measured, &session->diag);
    if (session->diag.n_items > 0) diag_format(&session->diag.items[0], session->message, sizeof session->message);
    return code;
}

static int64_t dropped(const struct measured *measured)
{
    int64_t n = 0;
    for (size_t i = 0; i < measured->n_dropped; i++) n += measured->dropped[i].rows;
    return n;
}

#define SPLITWISE "model,hardware,prompt_size,batch_size,token_size,peak_power,prompt_time,token_time,tensor_parallel\n"

TEST(splitwise_rows)
{
    struct session session;
    CHECK_EQ_INT(read_text(&session, "a.csv",
                           SPLITWISE "llama2-70b,a100-80gb,512,2,128,0,100.5,40,4\n"
                                     "bloom-176b,h100-80gb,4096,1,128,0,600,50,8\n"
                                     "llama2-70b,h100-80gb-pcap,512,1,128,0,100,40,4\n"
                                     "llama2-70b,a100-80gb,512,64,128,0,100,40,2\n"
                                     "llama2-70b,v100,512,1,128,0,100,40,2\n"),
                 0);
    const struct measured_row *rows = session.measured.rows;
    CHECK_EQ_INT(session.measured.n, 4);
    CHECK_EQ_INT(dropped(&session.measured), 3);
    CHECK_EQ_INT(rows[0].work.prefill_tokens, 1024);
    CHECK_EQ_INT(rows[0].work.prefill_sequences, 2);
    CHECK_NEAR(rows[0].work.prefill_pairs, 2.0 * 512.0 * 512.0, 0.0);
    CHECK_NEAR(rows[0].measured_s, 0.1005, 1e-15);
    CHECK_EQ_INT(rows[1].work.decode_sequences, 2);
    CHECK_EQ_INT(rows[1].work.decode_context_tokens, 2 * (512 + 64));
    CHECK_EQ_STR(rows[1].group, "tokens");
    CHECK_EQ_STR(rows[2].group, "long-prompts");
    CHECK_EQ_STR(rows[2].llm, "bloom-176b");
    CHECK_EQ_STR(rows[2].gpu, "h100-sxm");
    CHECK_EQ_INT(rows[2].line, 3);
    for (size_t i = 0; i < session.measured.n; i++) CHECK_EQ_INT(rows[i].fit, i < 2);
    arena_fini(&session.arena);
}

TEST(splitwise_fit_rows)
{
    struct session session;
    CHECK_EQ_INT(read_text(&session, "a.csv",
                           SPLITWISE "llama2-70b,a100-80gb,2048,1,128,0,100,40,4\n"
                                     "llama2-70b,a100-80gb,512,8,128,0,100,40,4\n"
                                     "bloom-176b,a100-80gb,512,1,128,0,100,40,8\n"),
                 0);
    for (size_t i = 0; i < session.measured.n; i++) CHECK_EQ_INT(session.measured.rows[i].fit, i < 2);
    arena_fini(&session.arena);
}

TEST(cpu_overheads)
{
    struct session session;
    CHECK_EQ_INT(read_text(&session, "b.csv",
                           "schedule_median,sampler_e2e_median,prepare_inputs_e2e_median,process_model_outputs_median,"
                           "model_name,batch_size,tensor_parallel_degree,ray_comm_time_mean\n"
                           "1,2,3,4,x,8,2,5\n"),
                 0);
    CHECK_EQ_INT(session.measured.n, 1);
    CHECK_EQ_INT(session.measured.rows[0].kind, MEASURED_HOST);
    CHECK_EQ_INT(session.measured.rows[0].work.decode_sequences, 8);
    CHECK_EQ_INT(session.measured.rows[0].tensor_parallel, 2);
    CHECK_NEAR(session.measured.rows[0].measured_s, 15e-3, 1e-15);
    arena_fini(&session.arena);
}

#define SERVING                                                                                                        \
    "backend,backend_version,model_path,system,mode,isl,osl,gemm_quant_mode,batch_size,tp_size,pp_size,silicon_tpot_ms\n"
#define QWEN "Qwen/Qwen3-32B,h100_sxm"

TEST(serving_rows)
{
    struct session session;
    CHECK_EQ_INT(read_text(&session, "c.csv",
                           SERVING
                           "vllm,0.12.0," QWEN ",agg,1024,128,,8.0,2.0,1.0,12.5\n"
                           "trtllm,1.0.0rc3," QWEN ",agg,2048,256,fp8,16.0,4.0,1.0,20\n"
                           "vllm,0.12.0," QWEN ",agg,4000,1000,fp8,8.0,2.0,1.0,12.5\n"
                           "vllm,0.12.0," QWEN ",disagg,1024,128,,,,,12.5\n"
                           "trtllm,1.2.0rc6.post1," QWEN ",agg,4000,1000,fp8,8.0,2.0,1.0,12.5\n"
                           "trtllm,1.0.0rc3,deepseek-ai/DeepSeek-V3,h100_sxm,agg,4000,1000,fp8,8.0,2.0,1.0,12.5\n"),
                 0);
    const struct measured_row *rows = session.measured.rows;
    CHECK_EQ_INT(session.measured.n, 2);
    CHECK_EQ_INT(session.measured.n_dropped, 4);
    CHECK_EQ_INT(dropped(&session.measured), 4);
    CHECK_EQ_STR(rows[0].engine, "vllm-0.12");
    CHECK(rows[0].loop.chunked && rows[0].fit && rows[0].weights == FORMAT_BF16);
    CHECK_EQ_INT(rows[0].loop.users, 8);
    CHECK_EQ_STR(rows[1].engine, "trtllm-1.0");
    CHECK(!rows[1].loop.chunked && !rows[1].fit && rows[1].weights == FORMAT_FP8 && rows[1].kv == FORMAT_FP8);
    CHECK_EQ_INT(rows[1].loop.prompt_tokens, 2048);
    CHECK_EQ_INT(rows[1].loop.output_tokens, 256);
    CHECK_NEAR(rows[1].measured_s, 20e-3, 1e-15);
    arena_fini(&session.arena);
}

/* The polynomials are evaluated where they were fitted; what the GPUs cannot share evenly is left out, and slopes that
 * are faster than the memory. */
TEST(distserve_grid)
{
    struct session session;
    CHECK_EQ_INT(read_text(&session, "d.json",
                           "{\"facebook/opt-13b\": {"
                           "  \"1\": {\"prefill\": [1, 0.5, 0.25], \"decoding_smallbs\": [2, 0.001, 3],"
                           "         \"decoding_largebs\": [2, 0.0001, 3]},"
                           "  \"2\": {\"prefill\": [1, 0.5, 0.25], \"decoding_smallbs\": [2, 0.0001, 3],"
                           "         \"decoding_largebs\": [2, 0.001, 3]},"
                           "  \"3\": {\"prefill\": [1, 0.5, 0.25], \"decoding_smallbs\": [2, 0.001, 3]}}}"),
                 0);
    const struct measured_row *rows = session.measured.rows;
    MUST(session.measured.n == 4 + 18 + 4 + 6);
    CHECK_EQ_INT(dropped(&session.measured), 3);
    CHECK_EQ_INT(rows[0].work.prefill_tokens, 256);
    CHECK_NEAR(rows[0].measured_s, 1e-3 * (1.0 + 0.5 * 256.0 + 0.25 * 65536.0), 1e-12);
    CHECK_EQ_INT(rows[21].work.decode_sequences, 94);
    CHECK_NEAR(rows[21].measured_s, 1e-3 * (2.0 + 0.001 * 94.0 * 1024.0 + 3.0 * 94.0), 1e-12);
    CHECK(rows[21].fit && !rows[26].fit);
    CHECK_EQ_STR(rows[26].group, "large-batches");
    CHECK_EQ_INT(rows[26].tensor_parallel, 2);
    arena_fini(&session.arena);
}

TEST(wrong_files)
{
    static const struct {
        const char *name, *text, *message;
        int code;
    } cases[] = {
        {"a.csv", "a,b,c\n1,2,3\n", "a.csv:1:1: error: no known table of measured iterations", SIM_E_DATA},
        {"a.csv", "", "the file is empty", SIM_E_DATA},
        {"a.csv", SPLITWISE "llama2-70b,a100-80gb,512,x,128,0,100.5,40,4\n",
         "a.csv:2:26: error: 'batch_size' must be a number of at least 1, got 'x'", SIM_E_DATA},
        {"d.json", "{}", "no coefficients of OPT-13B or OPT-66B", SIM_E_DATA},
        {"d.json", "{\"facebook/opt-13b\": {\"1\": {\"prefill\": [1, 2]}}}", "'prefill' must be a list of 3 numbers",
         SIM_E_DATA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session session;
        CHECK_EQ_INT(read_text(&session, cases[i].name, cases[i].text), cases[i].code);
        if (!CHECK(strstr(session.message, cases[i].message) != NULL)) puts(session.message);
        arena_fini(&session.arena);
    }
}
