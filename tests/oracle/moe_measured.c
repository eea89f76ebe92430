/* vLLM's fused mixture-of-experts kernels as aiconfigurator measured them: how far the law is off on shapes that it was
 * not fitted to. Fits here are on thinned rows. */
#include "analysis/calibrate/folds.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

static const double bar = 0.10, block_bar = 0.07; /* held-out medians */

/* Reads every `step`-th row. False when the file is absent; in every case profile_fixture_fini is due. */
static bool read_thinned(struct profile_fixture *fixture, const char *gpu, const char *path_below_data, size_t step)
{
    const char *path = test_shared(path_below_data);
    if (!CHECK(profile_fixture_init(fixture, gpu) == 0) || path == NULL) return false;
    if (!CHECK_EQ_INT(profile_fixture_read(fixture, path), 0)) return false;
    struct profile *profile = &fixture->files[0];
    size_t n = 0;
    for (size_t i = 0; i < profile->n; i += step) profile->rows[n++] = profile->rows[i];
    profile->n = n;
    return true;
}

static double held_out_median(struct profile_fixture *fixture, enum kernel_class class)
{
    struct fold_report report = {0};
    CHECK_EQ_INT(folds_run(class, &fixture->files[0], FOLD_BY_GROUP, &fixture->arena, &report, &fixture->diag), 0);
    CHECK(report.n_rows > 100 && report.n_folds == 5);
    return report.held_out.cuts[CUT_ALL].median;
}

TEST(an_a100_is_predicted)
{
    SCOPED(profile_fixture) fixture;
    if (read_thinned(&fixture, "a100-80-sxm", "gpu_profiles/aiconfigurator/a100_sxm__vllm0.14.0__moe_perf.csv", 31))
        CHECK(held_out_median(&fixture, KERNEL_MOE) < bar);
}

TEST_OPTIMISED(an_h100_is_predicted)
{
    SCOPED(profile_fixture) fixture;
    if (read_thinned(&fixture, "h100-sxm", "gpu_profiles/aiconfigurator/h100_sxm__vllm0.14.0__moe_perf.csv", 75)) {
        CHECK(held_out_median(&fixture, KERNEL_MOE) < bar);
        CHECK(held_out_median(&fixture, KERNEL_MOE_FP8) < block_bar);
    }
}
