/* Experts of DeepSeek-V3 on one of up to 256 GPUs, behind low-latency dispatch: SGLang 0.5.10's masked kernels as
 * aiconfigurator measured them (analysis/calibrate/profile/profile_masked.c).
 *
 * Bars, set with the rows known and before the first fit of a law to them: fitted to up to 64 GPUs, a law is judged on
 * 128 and 256. Held out by the number of GPUs, it is judged on each. */
#include "analysis/calibrate/folds.h"
#include "sim/catalog/calibration.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

static const char *const tables[][2] = {
    {"h100-sxm", "gpu_profiles/aiconfigurator/h100_sxm__sglang0.5.10__wideep_generation_moe_perf.csv"},
    {"b200-sxm", "gpu_profiles/aiconfigurator/b200_sxm__sglang0.5.10__wideep_generation_moe_perf.csv"}};

enum { TABLES = sizeof tables / sizeof *tables, MOST_ROWS = 512 };

/* On 128 GPUs or more, of a fit to fewer; on each number of GPUs, of a fit to the others. */
static const double wide_median_bar = 0.15, wide_p90_bar = 0.35, median_bar = 0.10, p90_bar = 0.30;

static const enum kernel_class masked = KERNEL_MOE_FP8_MASKED;

static bool is_wide(const struct profile_row *row)
{
    return row->call.shape.moe.held <= 2.0;
}

/* False when the file is absent; in every case profile_fixture_fini is due. */
static bool read_table(struct profile_fixture *fixture, const char *const table[2])
{
    const char *path = test_shared(table[1]);
    if (!CHECK(profile_fixture_init(fixture, table[0]) == 0) || path == NULL) return false;
    return CHECK_EQ_INT(profile_fixture_read(fixture, path), 0) && CHECK(fixture->files[0].n <= MOST_ROWS);
}

static struct fit_error wide_error(const struct profile *profile, const union kernel_params *params,
                                   const struct gpu_spec *gpu, enum kernel_class class)
{
    double errors[MOST_ROWS];
    size_t n = 0;
    for (size_t i = 0; i < profile->n; i++) {
        struct kernel_call call = profile->rows[i].call;
        call.class = class;
        if (is_wide(&profile->rows[i]))
            errors[n++] = kernel_call_time(params, gpu, &call).seconds / profile->rows[i].measured_s - 1.0;
    }
    return fit_error_of(errors, n);
}

/* SGLang's fused kernel sorts, narrows and sums up choices itself, and leaves SMs idle with few experts: its law is
 * far off. */
TEST(the_fused_kernel_is_not_that_of_many_gpus)
{
    for (size_t i = 0; i < TABLES; i++) {
        SCOPED(profile_fixture) fixture;
        if (!read_table(&fixture, tables[i])) continue;
        struct calibration calibration;
        CHECK_EQ_INT(
            calibration_load(&fixture.catalog, tables[i][0], "sglang-0.5", &fixture.arena, &calibration, &fixture.diag),
            0);
        const struct fit_error error = wide_error(&fixture.files[0], &calibration.kernels.params[KERNEL_MOE_FP8],
                                                  &fixture.gpu, KERNEL_MOE_FP8);
        CHECK(error.bias > wide_median_bar && error.p90 > wide_p90_bar);
    }
}

/* What few GPUs take says what many take, who hold an expert or two each. */
TEST_OPTIMISED(many_gpus_are_predicted_from_few)
{
    for (size_t i = 0; i < TABLES; i++) {
        SCOPED(profile_fixture) fixture;
        if (!read_table(&fixture, tables[i])) continue;
        const struct profile *profile = &fixture.files[0];
        const struct fit_model model = fit_model_of(masked);
        union kernel_params params = fit_model_initial(&model);
        bool held_out[MOST_ROWS] = {false};
        for (size_t k = 0; k < profile->n; k++) held_out[profile->rows[k].group] |= is_wide(&profile->rows[k]);
        CHECK_EQ_INT(fit_model_to(&model, profile->rows, profile->n, held_out, &params, &fixture.diag), 0);
        const struct fit_error error = wide_error(profile, &params, &fixture.gpu, masked);
        CHECK(error.rows == 96 && error.median < wide_median_bar && error.p90 < wide_p90_bar);
    }
}

/* On H100s. On B200s two GPUs, which hold 128 experts each, miss the bar: the page has both. */
TEST_OPTIMISED(each_number_of_gpus_is_predicted_from_the_others)
{
    SCOPED(profile_fixture) fixture;
    struct fold_report report = {0};
    if (!read_table(&fixture, tables[0])) return;
    CHECK_EQ_INT(folds_run(masked, &fixture.files[0], FOLD_BY_GROUP, &fixture.arena, &report, &fixture.diag), 0);
    CHECK(report.n_folds == 7);
    for (size_t i = 0; i < report.n_folds; i++) {
        const struct fit_error *error = &report.folds[i].errors.cuts[CUT_ALL];
        CHECK(error->median < median_bar && error->p90 < p90_bar);
    }
}
