/* Errors of replays by hand, and constants that a search has to find again. */
#include "analysis/replay/errors.h"
#include "analysis/replay/refit.h"
#include "tests/support/harness.h"

TEST(errors_by_hand)
{
    const double nan_s = (double)NAN;
    const double measured[] = {1.0, 2.0, 4.0, nan_s, 0.0, 3.0}, simulated[] = {1.5, 1.0, 4.0, 7.0, 1.0, nan_s};
    struct replay_errors errors;
    CHECK_EQ_INT(replay_errors(measured, simulated, 6, &errors), 0);
    CHECK_EQ_INT(errors.n, 4);
    CHECK_NEAR(errors.statistics[0].measured, 1.75, 1e-15);
    CHECK_NEAR(errors.statistics[0].simulated, 1.875, 1e-15);
    CHECK_NEAR(errors.statistics[0].error_frac, 0.125 / 1.75, 1e-15);
    CHECK_NEAR(errors.statistics[1].measured, 1.5, 1e-15);   /* of 0 1 2 4 */
    CHECK_NEAR(errors.statistics[1].simulated, 1.25, 1e-15); /* of 1 1 1.5 4 */
    CHECK_NEAR(errors.bias_s, 0.125, 1e-15);
    CHECK_NEAR(errors.mean_abs_s, 0.625, 1e-15);
    CHECK_NEAR(errors.mean_abs_frac, (0.5 + 0.5 + 0.0) / 3.0, 1e-15); /* without the one that was measured as 0 */
    CHECK_EQ_INT(errors.n_worst, REPLAY_WORST);
    CHECK_EQ_INT(errors.worst[0], 1); /* 1 s off, as is 4: by index */
    CHECK_EQ_INT(errors.worst[1], 4);
    CHECK_EQ_INT(errors.worst[2], 0);
}

TEST(no_errors)
{
    const double times[] = {3.0, 1.0, 2.0};
    struct replay_errors errors;
    CHECK_EQ_INT(replay_errors(times, times, 3, &errors), 0);
    for (int i = 0; i < REPLAY_STATISTICS; i++) CHECK(errors.statistics[i].error_frac == 0.0);
    CHECK(errors.bias_s == 0.0 && errors.mean_abs_s == 0.0 && errors.mean_abs_frac == 0.0);
    CHECK_EQ_INT(replay_errors(times, times, 0, &errors), 0);
    CHECK_EQ_INT(errors.n, 0);
    CHECK(isnan(errors.statistics[0].measured) && isnan(errors.bias_s) && isnan(errors.mean_abs_frac));
    mem_fail_after(0);
    CHECK_EQ_INT(replay_errors(times, times, 3, &errors), SIM_E_NOMEM);
    mem_fail_never();
}

/* Durations that are sums of what the constants are multiplied with; one in ten is an outlier. */
struct law {
    const double *truth;
    double outlier;
    int calls, fails_at;
};

enum { ROWS = 200 };

static int law_residuals(void *context, const double *values, double *residuals)
{
    struct law *law = context;
    if (++law->calls == law->fails_at) return SIM_E_POLICY;
    for (int i = 0; i < ROWS; i++) {
        const double factors[] = {1.0, 1.0 + i % 17, 0.1 * (i % 5)};
        double simulated = 20e-3, measured = 20e-3;
        for (int k = 0; k < 3; k++) {
            simulated += values[k] * factors[k];
            measured += law->truth[k] * factors[k];
        }
        if (i % 10 == 3) measured *= law->outlier;
        residuals[i] = log(simulated / measured);
    }
    return 0;
}

static struct refit law_search(struct law *law)
{
    return (struct refit){.n = 3, .units = {1e-3, 1e-5, 1e-3}, .n_residuals = ROWS, .residuals = law_residuals,
                          .context = law};
}

static void constants_are_found(const double *truth, double outlier, double tolerance)
{
    struct law law = {.truth = truth, .outlier = outlier};
    const struct refit search = law_search(&law);
    struct refit_result found, again;
    CHECK_EQ_INT(refit_search(&search, &found), 0);
    CHECK_EQ_INT(found.evaluations, law.calls);
    for (int k = 0; k < 3; k++) {
        const double scale = fmax(truth[k], search.units[k]);
        CHECK_NEAR(found.values[k] / scale, truth[k] / scale, tolerance);
        CHECK(found.values[k] >= 0.0);
    }
    CHECK_EQ_INT(refit_search(&search, &again), 0);
    for (int k = 0; k < 3; k++) CHECK(found.values[k] == again.values[k]);
}

TEST(constants)
{
    constants_are_found((const double[]){2.5e-3, 4e-5, 6e-3}, 1.0, 1e-3);
    constants_are_found((const double[]){0.0, 2e-5, 0.0}, 1.0, 1e-3);
    constants_are_found((const double[]){2.5e-3, 4e-5, 6e-3}, 3.0, 0.3); /* a tenth is three times as long */
}

TEST(failing_searches)
{
    const double truth[] = {1e-3, 1e-5, 1e-3};
    for (int at = 1; at < 40; at += 13) {
        struct law law = {.truth = truth, .outlier = 1.0, .fails_at = at};
        const struct refit search = law_search(&law);
        struct refit_result found;
        CHECK_EQ_INT(refit_search(&search, &found), SIM_E_POLICY);
    }
    struct law law = {.truth = truth, .outlier = 1.0};
    const struct refit search = law_search(&law);
    struct refit_result found;
    mem_fail_after(0);
    CHECK_EQ_INT(refit_search(&search, &found), SIM_E_NOMEM);
    mem_fail_never();
}
