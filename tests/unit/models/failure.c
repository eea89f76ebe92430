/* Laws of lifetimes. */
#include "models/failure.h"
#include "tests/support/harness.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>

static const struct lifetime laws[] = {
    {LIFETIME_EXPONENTIAL, 100.0, 0.0}, {LIFETIME_WEIBULL, 100.0, 0.6},   {LIFETIME_WEIBULL, 100.0, 1.0},
    {LIFETIME_WEIBULL, 100.0, 3.5},     {LIFETIME_LOGNORMAL, 100.0, 0.3}, {LIFETIME_LOGNORMAL, 100.0, 2.0}};
enum { N_LAWS = sizeof laws / sizeof *laws };

/* The share that has failed by a time. */
static double failed_frac(const struct lifetime *law, double t_s)
{
    const double mean_s = law->mean_s, shape = law->shape;
    switch (law->kind) {
    case LIFETIME_EXPONENTIAL: return gsl_cdf_exponential_P(t_s, mean_s);
    case LIFETIME_WEIBULL: return gsl_cdf_weibull_P(t_s, mean_s / tgamma(1.0 + 1.0 / shape), shape);
    case LIFETIME_LOGNORMAL: return gsl_cdf_lognormal_P(t_s, log(mean_s) - 0.5 * shape * shape, shape);
    case LIFETIME_CONSTANT: break;
    }
    return t_s >= mean_s;
}

TEST(quantiles_invert_the_distribution_of_the_textbook)
{
    const double fracs[] = {1e-9, 1e-4, 0.02, 0.3, 0.5, 0.7, 0.99, 1.0 - 1e-9};
    for (int i = 0; i < N_LAWS; i++)
        for (size_t k = 0; k < sizeof fracs / sizeof *fracs; k++) {
            const double t = lifetime_quantile_s(&laws[i], fracs[k]);
            CHECK_NEAR(failed_frac(&laws[i], t) / fracs[k], 1.0, 1e-9);
        }
}

static double quantile(double frac, void *law)
{
    return lifetime_quantile_s(law, frac);
}

/* The mean is the integral of the quantiles. */
TEST(means_are_as_given)
{
    gsl_integration_workspace *space = gsl_integration_workspace_alloc(1000);
    for (int i = 0; i < N_LAWS; i++) {
        struct lifetime law = laws[i];
        gsl_function f = {.function = quantile, .params = &law};
        double mean, error;
        gsl_integration_qags(&f, 0.0, 1.0, 1e-6, 1e-9, 1000, space, &mean, &error);
        CHECK_NEAR(mean, 100.0, 1e-4);
    }
    gsl_integration_workspace_free(space);
}

TEST(lognormal_from_mean_and_median)
{
    const struct lifetime law = lifetime_lognormal(95.6, 0.2);
    CHECK_NEAR(lifetime_quantile_s(&law, 0.5), 0.2, 1e-12);
    CHECK_NEAR(law.mean_s, 95.6, 0.0);
    const struct lifetime fixed = lifetime_lognormal(2.8, 2.8);
    CHECK_NEAR(lifetime_quantile_s(&fixed, 0.9), 2.8, 1e-15);
}
