/* The H200 as measured by an older form of analysis/calibrate/kit: whole iterations of a model of Llama-3.1-8B's shape,
 * which no fit has seen, against the sum of fitted kernels; and what the constants of the H100, the same chip with less
 * memory bandwidth, said of the H200 before. Bounds are what was found, rounded up. */
#include "analysis/calibrate/kit/kit_rows.h"
#include "sim/catalog/calibration.h"
#include "tests/support/class_fit.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

struct bench {
    struct arena arena;
    struct diag diag;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct kit_iterations iterations;
};

static bool bench_open(struct bench *bench)
{
    memset(bench, 0, sizeof *bench);
    arena_init(&bench->arena);
    diag_init(&bench->diag);
    return CHECK(kit_iterations_read("configs/calibration/measured/h200-sxm-iterations.csv", &bench->arena,
                                     &bench->iterations, &bench->diag) == 0) &&
           CHECK_EQ_INT(bench->iterations.n, 11) &&
           CHECK(catalog_gpu(&catalog, "h200-sxm", "test", &bench->arena, &bench->gpu, &bench->diag) == 0) &&
           CHECK(catalog_llm(&catalog, kit_llm, "test", &bench->arena, &bench->llm, &bench->diag) == 0);
}

/* --- predicted iterations --- */

/* Predicts the iterations by the kernels of a GPU's calibration; no CPU overhead. */
static void predict(struct bench *bench, const char *calibrated)
{
    struct calibration calibration;
    const int code = calibration_load(&catalog, calibrated, "isolated", &bench->arena, &calibration, &bench->diag);
    if (CHECK_EQ_INT(code, 0))
        MUST(kit_iterations_predict(&bench->iterations, &calibration, &bench->gpu, &bench->llm) == 0);
}

/* Predicted / measured - 1 of `rows` iterations that decode, or that have prompts: the least and the most. */
static void check_errors(const struct bench *bench, bool is_prefill, int rows, double least, double most)
{
    int n = 0;
    for (size_t i = 0; i < bench->iterations.n; i++) {
        const struct kit_iteration *iteration = &bench->iterations.items[i];
        if ((iteration->work.prefill_tokens > 0) != is_prefill || !(iteration->predicted_s > 0.0)) continue;
        const double error = iteration->predicted_s / iteration->measured_s - 1.0;
        CHECK(error >= least);
        CHECK(error <= most);
        n++;
    }
    CHECK_EQ_INT(n, rows);
}

/* Prompts hold 1500 to 1545 MHz at the limit of power, while the products that were fitted ran alone at 1870 MHz in
 * the median; decoding keeps the boost clock. */
TEST(iterations_that_no_fit_has_seen)
{
    struct bench bench;
    if (bench_open(&bench)) {
        predict(&bench, "h200-sxm");
        check_errors(&bench, false, 4, -0.036, -0.019);
        check_errors(&bench, true, 3, -0.141, -0.124);
    }
    arena_fini(&bench.arena);
}

/* --- the H100's constants --- */

TEST(the_constants_of_the_h100_on_iterations)
{
    struct bench bench;
    if (bench_open(&bench)) {
        predict(&bench, "h100-sxm");
        check_errors(&bench, false, 4, 0.070, 0.113);
        check_errors(&bench, true, 3, -0.121, -0.086);
    }
    arena_fini(&bench.arena);
}

/* Over the kernels that were measured here: products and attention of prompts, of decoding sequences. That of the H100
 * was measured with writing the cache, in another engine's kernels. */
TEST(the_constants_of_the_h100_on_kernels)
{
    static const struct {
        enum kernel_class class;
        double median, p90, bias;
    } said[] = {{KERNEL_GEMM, 0.0518, 0.1442, -0.0323},
                {KERNEL_PREFILL_ATTENTION, 0.4349, 0.868, 0.4349},
                {KERNEL_DECODE_ATTENTION, 0.4239, 1.41, 0.4239}};
    struct bench bench;
    struct profile profile;
    struct calibration h100;
    if (bench_open(&bench)) {
        const struct profile_options options = {.catalog = &catalog, .gpu = &bench.gpu};
        MUST(profile_read("configs/calibration/measured/h200-sxm-isolated.csv", &options, &bench.arena, &profile,
                          &bench.diag) == 0);
        CHECK_EQ_INT(profile.n_dropped, 0);
        MUST(calibration_load(&catalog, "h100-sxm", "isolated", &bench.arena, &h100, &bench.diag) == 0);
        for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
            const union kernel_params *params = &h100.kernels.params[said[i].class];
            struct fit_error error;
            MUST(fit_measure(said[i].class, profile.rows, profile.n, params, 0.0, (double)INFINITY, &error) == 0);
            CHECK_NEAR(error.median, said[i].median, 1e-3);
            CHECK_NEAR(error.p90, said[i].p90, 2e-3);
            CHECK_NEAR(error.bias, said[i].bias, 1e-3);
        }
    }
    arena_fini(&bench.arena);
}
