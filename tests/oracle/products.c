/* Products and element-wise passes against published measurements: Vidur's dense operators with one LLM left out at a
 * time, aiconfigurator's isolated products with a fifth of the shapes left out. Errors are shares of the measured time,
 * medians and 90th percentiles over what was left out.
 *
 * `orrery calibrate` reports the full tables; a sample of their lines keeps the run short. */
#include "analysis/calibrate/folds.h"
#include "sim/core/real_list.h"
#include "tests/support/class_fit.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

struct vidur_bars {
    const char *gpu, *prefix;
    const char *llms[6];
    double median, p90, band_median; /* the band: 17-256 rows */
    double roofline_median;          /* what three parameters reach */
    uint32_t keep_one_in;            /* lines */
};

static const struct vidur_bars vidur[] = {
    {"a100-80-sxm",
     "a100",
     {"Llama-2-7b", "Llama-2-70b", "Llama-3-8B", "Llama-3-70B", "internlm-20b", "phi-2"},
     0.052,
     0.145,
     0.065,
     0.058,
     16},
    {"h100-sxm", "h100", {"Llama-2-7b", "Llama-2-70b", "internlm-20b", "phi-2"}, 0.065, 0.18, 0.062, 0.084, 8},
    {"a40", "a40", {"Llama-2-7b", "Llama-2-70b", "internlm-20b", "phi-2"}, 0.058, 0.175, 0.07, 0.065, 8},
};
static const double llm_median = 0.075, llm_p90 = 0.23, layer_median = 0.05, layer_p90 = 0.12;

/* Keeps one line in `every`, whatever its shape. */
static void thin(struct profile *profile, uint32_t every)
{
    size_t n = 0;
    for (size_t i = 0; i < profile->n; i++)
        if ((profile->rows[i].line * 2654435761u >> 16) % every == 0) profile->rows[n++] = profile->rows[i];
    profile->n = n;
}

static bool read_vidur(struct profile_fixture *fixture, const struct vidur_bars *bars)
{
    if (!CHECK(profile_fixture_init(fixture, bars->gpu) == 0)) return false;
    for (size_t i = 0; i < 6 && bars->llms[i] != NULL; i++) {
        char name[128];
        snprintf(name, sizeof name, "gpu_profiles/vidur/%s__%s__dense_ops.csv", bars->prefix, bars->llms[i]);
        const char *path = test_shared(name);
        if (path == NULL || !CHECK_EQ_INT(profile_fixture_read(fixture, path), 0)) return false;
    }
    return CHECK_EQ_INT(profile_fixture_join(fixture), 0);
}

static bool run_folds(struct profile_fixture *fixture, enum kernel_class class, struct fold_report *report)
{
    return CHECK_EQ_INT(folds_run(class, &fixture->joined, FOLD_BY_GROUP, &fixture->arena, report, &fixture->diag), 0);
}

static void check_vidur(const struct vidur_bars *bars)
{
    SCOPED(profile_fixture) fixture = {0};
    struct fold_report report;
    if (read_vidur(&fixture, bars)) thin(&fixture.joined, bars->keep_one_in);
    if (fixture.joined.n > 0 && run_folds(&fixture, KERNEL_GEMM, &report)) {
        CHECK(report.held_out.cuts[CUT_ALL].median <= bars->median);
        CHECK(report.held_out.cuts[CUT_ALL].p90 <= bars->p90);
        CHECK(report.held_out.cuts[CUT_17_256].median <= bars->band_median);
        CHECK(report.layer_sum.cuts[CUT_ALL].median <= layer_median);
        CHECK(report.layer_sum.cuts[CUT_ALL].p90 <= layer_p90);
        CHECK_NEAR(report.roofline.cuts[CUT_ALL].median, bars->roofline_median, 0.005);
        for (size_t i = 0; i < report.n_folds; i++) {
            CHECK(report.folds[i].errors.cuts[CUT_ALL].median <= llm_median);
            CHECK(report.folds[i].errors.cuts[CUT_ALL].p90 <= llm_p90);
        }
    }
}

TEST(vidur_on_a100)
{
    check_vidur(&vidur[0]);
}

TEST_OPTIMISED(vidur_on_h100)
{
    check_vidur(&vidur[1]);
}

TEST_OPTIMISED(vidur_on_a40)
{
    check_vidur(&vidur[2]);
}

struct pass_bars {
    enum kernel_class class;
    double median, p90;
};

static const struct pass_bars passes[] = {
    {KERNEL_NORM, 0.06, 0.16},     {KERNEL_ROTARY, 0.055, 0.22},   {KERNEL_ACTIVATION, 0.035, 0.15},
    {KERNEL_RESIDUAL, 0.055, 0.22}, {KERNEL_EMBEDDING, 0.045, 0.1},
};

/* The passes between the products, one LLM left out; times of few tokens are resolved to a fifth or a third only. */
TEST_OPTIMISED(passes_on_a100)
{
    SCOPED(profile_fixture) fixture = {0};
    struct fold_report report;
    const bool have = read_vidur(&fixture, &vidur[0]);
    if (have) thin(&fixture.joined, 16);
    for (size_t i = 0; have && i < sizeof passes / sizeof *passes; i++) {
        if (!run_folds(&fixture, passes[i].class, &report)) continue;
        CHECK(report.held_out.cuts[CUT_ALL].median <= passes[i].median);
        CHECK(report.held_out.cuts[CUT_ALL].p90 <= passes[i].p90);
    }
}

/* Adds one LLM's products, as measured on a GPU, to the fixture. */
static bool read_llm(struct profile_fixture *fixture, struct gpu_spec *gpu, const char *name, const char *file)
{
    const char *path = test_shared(file);
    if (path == NULL) return false;
    fixture->options.gpu = gpu;
    return CHECK_EQ_INT(catalog_gpu(&fixture->catalog, name, "t", &fixture->arena, gpu, &fixture->diag), 0) &&
           CHECK_EQ_INT(profile_fixture_read(fixture, path), 0);
}

/* An RTX A6000, another LLM and another program to measure it: all from shares of the data sheet's peaks that three
 * other GPUs have in common. */
TEST(an_unseen_gpu_is_predicted_from_others)
{
    SCOPED(profile_fixture) fixture = {0};
    struct gpu_spec gpus[4];
    MUST(profile_fixture_init(&fixture, "a6000") == 0);
    if (read_llm(&fixture, &gpus[0], "a100-80-sxm", "gpu_profiles/vidur/a100__Llama-2-7b__dense_ops.csv") &&
        read_llm(&fixture, &gpus[1], "h100-sxm", "gpu_profiles/vidur/h100__Llama-2-7b__dense_ops.csv") &&
        read_llm(&fixture, &gpus[2], "a40", "gpu_profiles/vidur/a40__Llama-2-7b__dense_ops.csv") &&
        CHECK_EQ_INT(profile_fixture_join(&fixture), 0) &&
        read_llm(&fixture, &gpus[3], "a6000", "gpu_profiles/llmservingsim/A6000__Llama-3.1-8B__tp1__layers.csv")) {
        const struct fit_model model = fit_model_of(KERNEL_GEMM);
        union kernel_params params = fit_model_initial(&model);
        const struct profile *unseen = &fixture.files[3];
        struct fit_error error;
        thin(&fixture.joined, 4);
        CHECK_EQ_INT(fit_class(KERNEL_GEMM, fixture.joined.rows, fixture.joined.n, NULL, &params, &fixture.diag), 0);
        CHECK_EQ_INT(fit_measure(KERNEL_GEMM, unseen->rows, unseen->n, &params, 0.0, (double)INFINITY, &error), 0);
        CHECK(error.median <= 0.075);
        CHECK(error.p90 <= 0.18);
    }
}

struct isolated_bars {
    enum kernel_class class;
    const char *gpu, *file;
    double median, p90, large_median, large_p90; /* large: n, k >= 512 */
    const char *table;
};

static const struct isolated_bars isolated[] = {
    {KERNEL_GEMM, "a100-80-sxm", "a100_sxm", 0.072, 0.25, 0.056, 0.185, "vllm0.14.0__gemm_perf.csv"},
    {KERNEL_GEMM, "h100-sxm", "h100_sxm", 0.058, 0.25, 0.056, 0.185, "vllm0.14.0__gemm_perf.csv"},
    {KERNEL_GEMM_FP8, "h100-sxm", "h100_sxm", 0.065, 0.17, 0.06, 0.16, "vllm0.14.0__gemm_perf.csv"},
    {KERNEL_GEMM_NVFP4, "b200-sxm", "b200_sxm", 0.07, 0.20, 0.07, 0.20, "vllm0.24.0__gemm_perf.csv.gz"},
};

static void check_isolated(const struct isolated_bars *bars)
{
    SCOPED(profile_fixture) fixture = {0};
    struct fold_report report;
    char name[128];
    MUST(profile_fixture_init(&fixture, bars->gpu) == 0);
    snprintf(name, sizeof name, "gpu_profiles/aiconfigurator/%s__%s", bars->file, bars->table);
    const char *path = test_shared(name);
    if (path != NULL && CHECK_EQ_INT(profile_fixture_read(&fixture, path), 0) && profile_fixture_join(&fixture) == 0) {
        thin(&fixture.joined, 6);
        if (run_folds(&fixture, bars->class, &report)) {
            CHECK(report.held_out.cuts[CUT_ALL].median <= bars->median);
            CHECK(report.held_out.cuts[CUT_ALL].p90 <= bars->p90);
            CHECK(report.held_out.cuts[CUT_LARGE].median <= bars->large_median);
            CHECK(report.held_out.cuts[CUT_LARGE].p90 <= bars->large_p90);
        }
    }
}

TEST_OPTIMISED(isolated_on_a100)
{
    check_isolated(&isolated[0]);
}

TEST_OPTIMISED(isolated_on_h100)
{
    check_isolated(&isolated[1]);
}

TEST_OPTIMISED(narrow_on_h100)
{
    check_isolated(&isolated[2]);
}

TEST(four_bits_on_b200)
{
    check_isolated(&isolated[3]);
}

/* Errors of a sample of the products of a class that a set has, in folds by shape. */
static bool measure_named(const char *gpu, const char *file, const char *set, enum kernel_class class,
                          struct fold_report *report)
{
    SCOPED(profile_fixture) fixture = {0};
    if (!CHECK(profile_fixture_init(&fixture, gpu) == 0)) return false;
    char name[128];
    snprintf(name, sizeof name, "gpu_profiles/aiconfigurator/%s__gemm_perf.csv.gz", file);
    const char *path = test_shared(name);
    if (path == NULL || !CHECK_EQ_INT(profile_fixture_read(&fixture, path), 0)) return false;
    fixture.files[0].set = set;
    if (profile_fixture_join(&fixture) != 0) return false;
    thin(&fixture.joined, 6);
    return run_folds(&fixture, class, report);
}

/* vLLM chooses the tile of a product in fp8 by its rows. A law that does, too, predicts shapes better that no fit has
 * seen than the best tile does: on two GPUs, and for SGLang, whose kernels come from the same library. TensorRT-LLM's
 * come from another one, and its fit takes the best tile. */
TEST_OPTIMISED(tiles_by_rows_are_those_of_the_engine)
{
    static const struct {
        const char *gpu, *file;
        bool by_rows;
    } tables[] = {{"b200-sxm", "b200_sxm__vllm0.24.0", true},
                  {"h100-sxm", "h100_sxm__vllm0.24.0", true},
                  {"h100-sxm", "h100_sxm__sglang0.5.14", true},
                  {"b200-sxm", "b200_sxm__trtllm1.3.0rc20", false}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct fold_report named, plain;
        if (!measure_named(tables[i].gpu, tables[i].file, "named", KERNEL_GEMM_FP8, &named)) continue;
        CHECK(named.params.gemm.tiles_by_rows == tables[i].by_rows);
        CHECK_EQ_INT(named.params.gemm.step_s > 0.0, tables[i].by_rows);
        if (!tables[i].by_rows || !measure_named(tables[i].gpu, tables[i].file, "isolated", KERNEL_GEMM_FP8, &plain))
            continue;
        CHECK(plain.params.gemm.tiles_by_rows == 0.0);
        CHECK(named.held_out.cuts[CUT_ALL].median < plain.held_out.cuts[CUT_ALL].median);
        CHECK(named.held_out.cuts[CUT_ALL].p90 < 0.8 * plain.held_out.cuts[CUT_ALL].p90);
        CHECK(named.held_out.cuts[CUT_ALL].median <= 0.07);
        CHECK(named.held_out.cuts[CUT_ALL].p90 <= 0.20);
    }
}

/* Products in nvfp4 walk along k step by step and are not split. Shapes that no fit has seen are predicted better. */
TEST_OPTIMISED(four_bits_go_step_by_step)
{
    static const char table[] = "b200_sxm__vllm0.24.0";
    struct fold_report steps, plain;
    if (!measure_named("b200-sxm", table, "named", KERNEL_GEMM_NVFP4, &steps) ||
        !measure_named("b200-sxm", table, "isolated", KERNEL_GEMM_NVFP4, &plain))
        return;
    const struct fit_error *now = &steps.held_out.cuts[CUT_ALL], *before = &plain.held_out.cuts[CUT_ALL];
    CHECK(plain.params.gemm.step_s == 0.0);
    CHECK(steps.params.gemm.step_s > 0.0);
    CHECK(now->median < before->median);
    CHECK(now->p90 < before->p90);
    CHECK(now->median <= 0.07);
    CHECK(now->p90 <= 0.20);
}

/* Products of few rows and small weights, which stay in the cache, by m, n, k. */
static bool is_small(const struct profile_row *row, enum kernel_class class)
{
    const struct gemm_shape *shape = &row->call.shape.gemm;
    return row->call.class == class && shape->m <= 64.0 && shape->n * shape->k <= 4e6;
}

/* Differences of equal shapes of a class, sorted. Returns how many. */
static size_t differences(const struct profile *one, const struct profile *other, enum kernel_class class, double *out)
{
    size_t n = 0;
    for (size_t i = 0; i < one->n; i++) {
        if (!is_small(&one->rows[i], class)) continue;
        const struct gemm_shape *a = &one->rows[i].call.shape.gemm;
        for (size_t j = 0; j < other->n; j++) {
            const struct gemm_shape *b = &other->rows[j].call.shape.gemm;
            if (other->rows[j].call.class != class || a->m != b->m || a->n != b->n || a->k != b->k) continue;
            out[n++] = one->rows[i].measured_s - other->rows[j].measured_s;
            break;
        }
    }
    qsort(out, n, sizeof *out, real_compare);
    return n;
}

/* Of nvfp4 vLLM's collector replays one product per CUDA graph and SGLang's six, by one kernel of FlashInfer; of bf16
 * both replay six. So the difference is five sixths of a graph's start (configs/calibration/releases/README.md). */
TEST(the_start_of_a_graph)
{
    static const char *const names[] = {"gpu_profiles/aiconfigurator/b200_sxm__vllm0.24.0__gemm_perf.csv.gz",
                                        "gpu_profiles/aiconfigurator/b200_sxm__sglang0.5.14__gemm_perf.csv.gz"};
    SCOPED(profile_fixture) fixture = {0};
    static double start_s[2000], control_s[2000];
    MUST(profile_fixture_init(&fixture, "b200-sxm") == 0);
    for (int i = 0; i < 2; i++) {
        const char *path = test_shared(names[i]);
        if (path == NULL) return;
        MUST(profile_fixture_read(&fixture, path) == 0);
    }
    const size_t n = differences(&fixture.files[0], &fixture.files[1], KERNEL_GEMM_NVFP4, start_s);
    const size_t n_control = differences(&fixture.files[0], &fixture.files[1], KERNEL_GEMM, control_s);
    MUST(n > 300 && n_control > 300);
    CHECK(start_s[n / 10] > 0.4e-6);
    CHECK_NEAR(1.2 * start_s[n / 2], 2.7e-6, 0.2e-6);
    CHECK_NEAR(control_s[n_control / 2], 0.0, 0.1e-6);
}
