/* Decode iterations of Llama-3.1-8B on RTX cards against the sum of their measured operators (LLMServingSim), with
 * those operators as tables beside the laws that are shipped: what fitted laws miss at single batches, tables hold. */
#include "analysis/calibrate/engine/measured.h"
#include "models/operators/operators.h"
#include "sim/catalog/calibration.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/table_fixture.h"

#define LLMSERVINGSIM "gpu_profiles/llmservingsim/"

struct bench {
    struct profile_fixture profiles;
    struct calibration calibration;
    struct llm_spec llm;
    struct measured measured; /* the sums, read on their own */
    struct operators operators;
};

/* Tables of all classes in the profiles. */
static int add_tables(struct bench *bench)
{
    const struct profile *rows = &bench->profiles.joined;
    struct kernel_set *set = &bench->calibration.kernels;
    struct kernel_point *points = arena_alloc(&bench->profiles.arena, rows->n * sizeof *points);
    if (points == NULL) return SIM_E_NOMEM;
    for (int class = 0; class < KERNEL_CLASS_COUNT; class ++) {
        size_t n = 0;
        for (size_t i = 0; i < rows->n; i++)
            if (rows->rows[i].call.class == (enum kernel_class) class)
                points[n++] = (struct kernel_point){rows->rows[i].call, rows->rows[i].measured_s};
        if (n == 0) continue;
        set->tables[class] = table_fixture_make(points, n, &set->params[class], &bench->profiles.gpu,
                                                &bench->profiles.arena);
        if (set->tables[class] == NULL) return SIM_E_NOMEM;
    }
    return 0;
}

/* files: dense, per sequence, attention. False when they are absent. */
static bool bench_open(struct bench *bench, const char *gpu, const char *const files[3])
{
    struct profile_fixture *profiles = &bench->profiles;
    int code = profile_fixture_init(profiles, gpu);
    for (int i = 0; code == 0 && i < 3; i++) {
        const char *path = test_shared(files[i]);
        if (path == NULL) return false;
        code = profile_fixture_read(profiles, path);
    }
    if (code == 0) code = profile_fixture_join(profiles);
    if (code == 0)
        code = measured_read(profiles->files[2].path, &profiles->catalog, &profiles->arena, &bench->measured,
                             &profiles->diag);
    if (code == 0)
        code = catalog_llm(&profiles->catalog, "llama-3.1-8b", "t", &profiles->arena, &bench->llm, &profiles->diag);
    if (code == 0)
        code = calibration_load(&profiles->catalog, gpu, "in-model", &profiles->arena, &bench->calibration,
                                &profiles->diag);
    return CHECK_EQ_INT(code, 0);
}

/* The largest |predicted / measured - 1| of all iterations. A profile's context does not count the token that a
 * sequence is making. */
static double worst_error(struct bench *bench)
{
    const struct operators_parts parts = {
        .gpu = &bench->profiles.gpu, .llm = &bench->llm, .kernels = &bench->calibration.kernels,
        .split = {.tensor = 1, .pipeline = 1, .expert = 1, .fused_residual = true, .gpus_per_node = 1,
                  .attention_writes_kv = calibration_writes_kv(&bench->calibration)}};
    double worst = 0.0;
    operators_init(&bench->operators, &parts);
    for (size_t i = 0; i < bench->measured.n; i++) {
        struct iteration_work work = bench->measured.rows[i].work;
        struct iteration_cost cost;
        work.decode_context_tokens += work.decode_sequences;
        operators_cost(&bench->operators, &work, &cost);
        worst = fmax(worst, fabs(cost.first_s / bench->measured.rows[i].measured_s - 1.0));
    }
    return worst;
}

/* What is left: the norms of a layer and the last one are one shape and have one median. */
static void check_gpu(const char *gpu, const char *const files[3], int64_t iterations, double most)
{
    struct bench *bench = mem_zalloc(1, sizeof *bench);
    MUST(bench != NULL);
    if (bench_open(bench, gpu, files)) {
        CHECK_EQ_INT(bench->measured.n, iterations);
        const double fitted = worst_error(bench);
        CHECK_EQ_INT(add_tables(bench), 0);
        const double tabled = worst_error(bench);
        CHECK(tabled < most && tabled < fitted);
    }
    profile_fixture_fini(&bench->profiles);
    mem_free(bench);
}

TEST(rtx_4090)
{
    static const char *const files[] = {LLMSERVINGSIM "RTX4090__Llama-3.1-8B__bf16_tp1__dense.csv",
                                        LLMSERVINGSIM "RTX4090__Llama-3.1-8B__bf16_tp1__per_sequence.csv",
                                        LLMSERVINGSIM "RTX4090__Llama-3.1-8B__bf16_tp1__attention.csv"};
    check_gpu("rtx-4090", files, 98, 0.01);
}

TEST(rtx_pro_6000)
{
    static const char *const files[] = {LLMSERVINGSIM "RTXPRO6000__Llama-3.1-8B__bf16_tp1__dense.csv",
                                        LLMSERVINGSIM "RTXPRO6000__Llama-3.1-8B__bf16_tp1__per_sequence.csv",
                                        LLMSERVINGSIM "RTXPRO6000__Llama-3.1-8B__bf16_tp1__attention.csv"};
    check_gpu("rtx-pro-6000", files, 171, 0.01);
}
