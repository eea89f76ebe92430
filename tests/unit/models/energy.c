/* Energy in closed form against the integral of power over every iteration, with FLOP and bytes counted another way. */
#include "analysis/calibrate/power/power_data.h"
#include "sim/world/replica/work.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

static const struct power_model model = {.context_w = 80, .limit_w = 400, .active_w = 33, .compute_w = 881,
                                         .memory_w = 283, .voltage_floor = 1.0, .attention_w = 70, .widening_w = 50};


struct bench {
    struct arena arena;
    struct diag diag;
    struct llm_spec llm;
    struct llm_reads reads;
    struct gpu_spec gpu;
    struct kvcache kv;
    struct kv_growth growth;
};

static bool bench_open(struct bench *bench, const char *llm)
{
    *bench = (struct bench){.kv = {.total_blocks = 1000, .free_blocks = 0, .block_tokens = 16}};
    arena_init(&bench->arena);
    diag_init(&bench->diag);
    bool found = CHECK_EQ_INT(kv_growth_init(&bench->growth, 16), 0) &&
                 CHECK_EQ_INT(catalog_llm(&catalog, llm, "t", &bench->arena, &bench->llm, &bench->diag), 0) &&
                 CHECK_EQ_INT(catalog_gpu(&catalog, "a100-80-sxm", "t", &bench->arena, &bench->gpu, &bench->diag), 0);
    if (found) bench->reads = llm_reads(&bench->llm);
    return found;
}

static void bench_close(struct bench *bench)
{
    kv_growth_fini(&bench->growth);
    arena_fini(&bench->arena);
}

/* Watts of one of `gpus` GPUs in an iteration. */
static double watts(const struct bench *bench, const struct iteration_work *work, int64_t gpus, double seconds)
{
    const struct power_load load = power_load_of(&bench->gpu, &bench->llm, gpus, work, seconds);
    return power_draw_w(&model, &load);
}

/* Returns how many of the iterations are at the limit: 0 none, 1 some, 2 all. */
static int random_run(struct bench *bench, struct rng *rng)
{
    const int64_t gpus = 1 + (int64_t)rng_below(rng, 4), n = 1 + (int64_t)rng_below(rng, 300);
    const double least_ns = 2e6 * pow(50.0, rng_uniform(rng));
    const struct run_clock clock = {0, least_ns, (2.0 * rng_uniform(rng) - 0.6) * least_ns / (double)n};
    const struct work_run run = {.clock = &clock, .iterations = n, .step = n,
                                 .sequences = 1 + (int64_t)rng_below(rng, 256),
                                 .context_tokens = 1000 + (int64_t)rng_below(rng, 200000)};
    const struct energy_model energy = energy_model_of(&model, &bench->gpu, &bench->llm, gpus);
    const struct work_of of = {&bench->reads, &bench->kv, &energy, NULL, 0.0};
    struct work_sums sums = {0};
    double joules = 7.5 * (double)gpus * model.context_w, busy_s = 0.0, peak_w = 0.0;
    int64_t n_limited = 0;
    for (int64_t j = 0; j < n; j++) {
        const double lasted_s = 1e-9 * (clock.first_ns + clock.slope_ns * (double)j);
        const struct iteration_work work = {.decode_sequences = run.sequences,
                                            .decode_context_tokens = run.context_tokens + j * run.sequences};
        const double draw_w = (double)gpus * watts(bench, &work, gpus, lasted_s);
        joules += draw_w * lasted_s;
        busy_s += lasted_s;
        peak_w = fmax(peak_w, draw_w);
        n_limited += draw_w >= (double)gpus * model.limit_w;
    }
    work_add_decode(&sums, &of, &bench->growth, &run);
    CHECK_NEAR(work_energy_j(&sums, &energy, busy_s, 7.5) / joules, 1.0, 1e-9);
    CHECK_NEAR(sums.energy.peak_w / peak_w, 1.0, 1e-9);
    return n_limited == 0 ? 0 : n_limited < n ? 1 : 2;
}

TEST(runs_that_decode)
{
    struct bench bench;
    int seen[3] = {0};
    struct rng rng = test_rng(1, "energy", 0);
    if (bench_open(&bench, "llama-3.1-8b"))
        for (int i = 0; i < 400; i++) seen[random_run(&bench, &rng)]++;
    CHECK(seen[0] > 20 && seen[1] > 5 && seen[2] > 20);
    bench_close(&bench);
    if (bench_open(&bench, "gpt-oss-20b")) /* narrow experts, wide layers */
        for (int i = 0; i < 100; i++) random_run(&bench, &rng);
    bench_close(&bench);
}

TEST(iterations_with_prompts)
{
    struct bench bench;
    MUST(bench_open(&bench, "qwen3-32b-fp8"));
    const struct energy_model energy = energy_model_of(&model, &bench.gpu, &bench.llm, 2);
    const struct work_of of = {&bench.reads, &bench.kv, &energy, NULL, 0.0};
    const struct iteration_work work = {.prefill_sequences = 2, .prefill_tokens = 700, .prefill_context_tokens = 300,
                                        .prefill_pairs = 4e5, .decode_sequences = 9, .decode_context_tokens = 5000};
    for (sim_ns lasted_ns = 1000000; lasted_ns <= 1000000000; lasted_ns *= 10) {
        struct work_sums sums = {0};
        const double lasted_s = sim_s_from_ns(lasted_ns);
        work_add_iteration(&sums, &of, &work, 0, lasted_ns);
        CHECK_NEAR(work_energy_j(&sums, &energy, lasted_s, 0.0) / (2.0 * watts(&bench, &work, 2, lasted_s) * lasted_s),
                   1.0, 1e-9);
    }
    bench_close(&bench);
}

/* Rows of measured power with numbers that no batch has, and one that is sound. */
TEST(batches_beyond_whole_numbers_are_left_out)
{
    const char *paths[] = {
        test_file("splitwise.csv", "prompt_size,batch_size,token_size,peak_power,average_power,prompt_time,token_time,"
                                   "tensor_parallel,model,hardware\n"
                                   "1e18,1e18,1,1,1,1,1,8,llama2-70b,a100-80gb\n"
                                   "1,9e9,9e9,1,1,1,1,8,llama2-70b,a100-80gb\n"
                                   "512,4,64,1,0.8,100,40,8,llama2-70b,a100-80gb\n"),
        test_file("mlenergy.csv", "num_gpus,avg_batch_size,avg_output_len,output_throughput_tokens_per_sec,"
                                  "avg_power_watts,data_parallel,task,model_id,gpu_model\n"
                                  "1,1e18,1,64,300,1,gpqa,Qwen/Qwen3-8B,H100\n"
                                  "1,9e9,9e9,64,300,1,gpqa,Qwen/Qwen3-8B,H100\n"
                                  "1,64,500,2000,300,1,gpqa,Qwen/Qwen3-8B,H100\n")};
    static const char *const gpus[] = {"a100-80-sxm", "h100-sxm"};
    for (int i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct diag diag;
        struct gpu_spec gpu;
        struct power_data data;
        arena_init(&arena);
        diag_init(&diag);
        MUST(catalog_gpu(&catalog, gpus[i], "t", &arena, &gpu, &diag) == 0);
        CHECK_EQ_INT(power_data_read(paths[i], &catalog, &gpu, &arena, &data, &diag), 0);
        CHECK_EQ_INT(data.n_rows, 1);
        MUST(data.n_dropped == 1);
        CHECK_EQ_INT(data.dropped[0].rows, 2);
        arena_fini(&arena);
    }
}

/* A B200 that takes longer than an H100 for no more sequences of the same task, LLM and number of GPUs waits for its
 * host. Rows without such a partner stay, and the H100 keeps all of its own. */
TEST(a_gpu_that_waits_tells_nothing_of_its_kernels)
{
    const char *path = test_file("waits.csv", "num_gpus,avg_batch_size,avg_output_len,output_throughput_tokens_per_sec,"
                                              "avg_power_watts,data_parallel,task,model_id,gpu_model\n"
                                              "1,8,500,266,300,1,gpqa,Qwen/Qwen3-8B,B200\n" /* 30 ms */
                                              "1,8,500,800,400,1,gpqa,Qwen/Qwen3-8B,H100\n" /* 10 ms */
                                              "1,16,500,533,310,1,gpqa,Qwen/Qwen3-8B,B200\n"
                                              "1,8,500,266,320,1,lm-arena-chat,Qwen/Qwen3-8B,B200\n"
                                              "2,8,500,266,660,1,gpqa,Qwen/Qwen3-8B,B200\n"
                                              "1,8,500,900,700,1,gpqa,Qwen/Qwen3-8B,B200\n");
    static const char *const gpus[] = {"b200-sxm", "h100-sxm"};
    static const size_t kept[] = {4, 1};
    for (int i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct diag diag;
        struct gpu_spec gpu;
        struct power_data data;
        arena_init(&arena);
        diag_init(&diag);
        MUST(catalog_gpu(&catalog, gpus[i], "t", &arena, &gpu, &diag) == 0);
        CHECK_EQ_INT(power_data_read(path, &catalog, &gpu, &arena, &data, &diag), 0);
        MUST(data.n_rows == kept[i]);
        if (i == 0) CHECK(data.rows[0].measured_w == 310.0 && data.rows[2].measured_w == 330.0);
        arena_fini(&arena);
    }
}
