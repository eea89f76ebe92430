/* Measured attention: how far the law is off on pairs of heads that it was not fitted to (ai-dynamo/aiconfigurator), on
 * one LLM's chunks and sequences (casys-kaist/LLMServingSim), and on the published speed of FlashAttention-2. */
#include "tests/harness.h"

#include "analysis/calibrate/folds.h"
#include "tests/profile_fixture.h"

#include <math.h>

#define AICONFIGURATOR "gpu_profiles/aiconfigurator/"
#define LLMSERVINGSIM "gpu_profiles/llmservingsim/"

/* Keeps every fifth row, so that a fit takes a fraction of the time. */
static void thin(struct profile *profile)
{
    size_t kept = 0;
    for (size_t i = 0; i < profile->n; i += 5) profile->rows[kept++] = profile->rows[i];
    profile->n = kept;
}

static void check_held_out(const char *gpu, enum kernel_class class, const char *path_below_data, double median,
                           double p90)
{
    const char *path = test_shared(path_below_data);
    if (path == NULL) return;
    struct profile_fixture fixture;
    struct fold_report report;
    MUST(profile_fixture_init(&fixture, gpu) == 0 && profile_fixture_read(&fixture, path) == 0);
    thin(&fixture.files[0]);
    MUST(folds_run(class, &fixture.files[0], FOLD_BY_GROUP, &fixture.arena, &report, &fixture.diag) == 0);
    const struct fit_error *error = &report.held_out.cuts[CUT_ALL], *roofline = &report.roofline.cuts[CUT_ALL];
    CHECK(error->rows > 1000);
    CHECK(error->median <= median && error->p90 <= p90);
    CHECK(error->median < 0.6 * roofline->median && error->p90 < 0.7 * roofline->p90);
    profile_fixture_fini(&fixture);
}

static void unseen_heads_of_an_a100(void)
{
    check_held_out("a100-80-sxm", KERNEL_PREFILL_ATTENTION,
                   AICONFIGURATOR "a100_sxm__vllm0.14.0__context_attention_perf.csv", 0.058, 0.265);
    check_held_out("a100-80-sxm", KERNEL_DECODE_ATTENTION,
                   AICONFIGURATOR "a100_sxm__vllm0.14.0__generation_attention_perf.csv", 0.052, 0.195);
}

static void unseen_heads_of_an_h100(void)
{
    check_held_out("h100-sxm", KERNEL_PREFILL_ATTENTION,
                   AICONFIGURATOR "h100_sxm__vllm0.14.0__context_attention_perf.csv", 0.088, 0.32);
    check_held_out("h100-sxm", KERNEL_DECODE_ATTENTION,
                   AICONFIGURATOR "h100_sxm__vllm0.14.0__generation_attention_perf.csv", 0.063, 0.26);
}

/* Fits a class to a whole file; its median and p90 are at most these. */
static void check_fit(struct profile_fixture *fixture, enum kernel_class class, double median, double p90)
{
    const struct profile *profile = &fixture->files[0];
    struct kernel_set set;
    struct fit_error error;
    kernel_set_init(&set);
    union kernel_params params = set.params[class];
    MUST(fit_class(class, profile->rows, profile->n, NULL, &params, &fixture->diag) == 0);
    MUST(fit_measure(class, profile->rows, profile->n, &params, 0.0, (double)INFINITY, &error) == 0);
    CHECK(error.rows > 0 && error.median <= median && error.p90 <= p90);
}

/* One pair of heads, chunks on top of up to 16384 tokens: a fit, not a prediction. */
static void chunks_and_sequences_of_one_llm(void)
{
    static const char *const files[][2] = {
        {"rtx-4090", LLMSERVINGSIM "RTX4090__Llama-3.1-8B__bf16_tp1__attention.csv"},
        {"rtx-pro-6000", LLMSERVINGSIM "RTXPRO6000__Llama-3.1-8B__bf16_tp1__attention.csv"},
    };
    for (size_t i = 0; i < 2; i++) {
        const char *path = test_shared(files[i][1]);
        if (path == NULL) return;
        struct profile_fixture fixture;
        MUST(profile_fixture_init(&fixture, files[i][0]) == 0 && profile_fixture_read(&fixture, path) == 0);
        check_fit(&fixture, KERNEL_PREFILL_ATTENTION, 0.03, 0.10);
        check_fit(&fixture, KERNEL_DECODE_ATTENTION, 0.05, 0.15);
        profile_fixture_fini(&fixture);
    }
}

/* Dao 2023, figure 5b: 122, 157, 200, 224, 222 and 225 TFLOP/s for 512 to 16384 tokens of 16384 in all. The parameters
 * are fitted to these six points. */
static void flash_attention_2_forward(void)
{
    static const double tflop_per_s[] = {122.0, 157.0, 200.0, 224.0, 222.0, 225.0};
    struct profile_fixture fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    MUST(profile_fixture_read(&fixture, "configs/calibration/measured/flash-attention-2.csv") == 0);
    const struct profile *points = &fixture.files[0];
    MUST(points->n == 6);
    CHECK_EQ_STR(points->set, "flash-attention-2");
    struct kernel_set set;
    kernel_set_init(&set);
    union kernel_params params = set.params[KERNEL_PREFILL_ATTENTION];
    MUST(fit_class(KERNEL_PREFILL_ATTENTION, points->rows, points->n, NULL, &params, &fixture.diag) == 0);
    for (size_t i = 0; i < 6; i++) {
        const struct kernel_time time = kernel_call_time(&params, &fixture.gpu, &points->rows[i].call);
        CHECK_NEAR(points->rows[i].measured_s * tflop_per_s[i] * 1e12 / time.flop, 1.0, 1e-4);
        CHECK_NEAR(time.flop / time.seconds / 1e12, tflop_per_s[i], 0.12 * tflop_per_s[i]);
    }
    profile_fixture_fini(&fixture);
}

TEST_SUITE(attention_measured)
{
    TEST(unseen_heads_of_an_a100);
    TEST(unseen_heads_of_an_h100);
    TEST(chunks_and_sequences_of_one_llm);
    TEST(flash_attention_2_forward);
}
