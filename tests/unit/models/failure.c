/* Laws of lifetimes and the binomial failure rate model. */
#include "models/failure.h"
#include "tests/support/harness.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>

static const struct lifetime laws[] = {
    {LIFETIME_EXPONENTIAL, 100.0, 0.0}, {LIFETIME_WEIBULL, 100.0, 0.6},   {LIFETIME_WEIBULL, 100.0, 1.0},
    {LIFETIME_WEIBULL, 100.0, 3.5},     {LIFETIME_LOGNORMAL, 100.0, 0.3}, {LIFETIME_LOGNORMAL, 100.0, 2.0}};
enum { N_LAWS = sizeof laws / sizeof *laws };

TEST(quantiles_invert_the_distribution)
{
    const double fracs[] = {1e-9, 1e-4, 0.02, 0.3, 0.5, 0.7, 0.99, 1.0 - 1e-9};
    for (int i = 0; i < N_LAWS; i++)
        for (size_t k = 0; k < sizeof fracs / sizeof *fracs; k++) {
            const double t = lifetime_quantile_s(&laws[i], fracs[k]);
            CHECK_NEAR(lifetime_cdf(&laws[i], t) / fracs[k], 1.0, 1e-9);
        }
}

static double survival(double t_s, void *law)
{
    return 1.0 - lifetime_cdf(law, t_s);
}

/* The mean is the integral of what survives. */
TEST(means_are_as_given)
{
    gsl_integration_workspace *space = gsl_integration_workspace_alloc(1000);
    for (int i = 0; i < N_LAWS; i++) {
        struct lifetime law = laws[i];
        gsl_function f = {.function = survival, .params = &law};
        double mean, error;
        gsl_integration_qagiu(&f, 0.0, 1e-6, 1e-9, 1000, space, &mean, &error);
        CHECK_NEAR(mean, 100.0, 1e-4);
    }
    gsl_integration_workspace_free(space);
}

TEST(laws_are_those_of_the_textbook)
{
    for (double t = 1.0; t < 1000.0; t *= 2.0) {
        CHECK_NEAR(lifetime_cdf(&laws[0], t), gsl_cdf_exponential_P(t, 100.0), 1e-15);
        CHECK_NEAR(lifetime_cdf(&laws[3], t), gsl_cdf_weibull_P(t, 100.0 / tgamma(1.0 + 1.0 / 3.5), 3.5), 1e-14);
        CHECK_NEAR(lifetime_cdf(&laws[5], t), gsl_cdf_lognormal_P(t, log(100.0) - 2.0, 2.0), 1e-14);
    }
}

TEST(lognormal_from_mean_and_median)
{
    const struct lifetime law = lifetime_lognormal(95.6, 0.2);
    CHECK_NEAR(lifetime_quantile_s(&law, 0.5), 0.2, 1e-12);
    CHECK_NEAR(law.mean_s, 95.6, 0.0);
    const struct lifetime fixed = lifetime_lognormal(2.8, 2.8);
    CHECK_NEAR(lifetime_quantile_s(&fixed, 0.9), 2.8, 1e-15);
    CHECK(lifetime_cdf(&fixed, 2.7) == 0.0 && lifetime_cdf(&fixed, 2.9) == 1.0);
}

/* The worked case of eight components. */
TEST(binomial_failure_rates_of_eight)
{
    const struct common_cause cause = {8, 1e-4, 2e-4, 0.3, 1e-5};
    CHECK_NEAR(common_cause_rate_per_s(&cause, 1), 8.395e-4, 5e-8);
    CHECK_NEAR(common_cause_rate_per_s(&cause, 2), 5.930e-5, 5e-9);
    CHECK_NEAR(common_cause_rate_per_s(&cause, 3), 5.082e-5, 5e-9);
    CHECK_NEAR(common_cause_rate_per_s(&cause, 8), 1.001e-5, 5e-9);
}

/* Counted by component or by event, as many fail; and shocks that hit nobody are shocks. */
TEST(rates_of_events_and_of_components_agree)
{
    const struct common_cause causes[] = {{1, 2.0, 3.0, 0.5, 0.25}, {5, 0.0, 7.0, 0.9, 0.0}, {40, 1e-3, 1e-2, 0.05, 1e-4}};
    for (int i = 0; i < 3; i++) {
        double failures = 0.0, events = 0.0;
        for (int k = 0; k <= causes[i].components; k++) {
            events += common_cause_rate_per_s(&causes[i], k);
            failures += k * common_cause_rate_per_s(&causes[i], k);
        }
        const double component_per_s = causes[i].own_per_s + causes[i].shock_per_s * causes[i].hit_frac +
                                       causes[i].lethal_per_s;
        CHECK_NEAR(failures, causes[i].components * component_per_s, 1e-12);
        CHECK_NEAR(events, causes[i].components * causes[i].own_per_s + causes[i].shock_per_s + causes[i].lethal_per_s,
                   1e-12);
    }
}
