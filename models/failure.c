#include "models/failure.h"

#include <math.h>

struct lifetime lifetime_lognormal(double mean_s, double median_s)
{
    const double shape = mean_s > median_s && median_s > 0.0 ? sqrt(2.0 * log(mean_s / median_s)) : 0.0;
    return (struct lifetime){.kind = LIFETIME_LOGNORMAL, .mean_s = mean_s, .shape = shape};
}

static double weibull_scale_s(const struct lifetime *lifetime)
{
    return lifetime->mean_s / tgamma(1.0 + 1.0 / lifetime->shape);
}

static double lognormal_median_s(const struct lifetime *lifetime)
{
    return lifetime->mean_s * exp(-0.5 * lifetime->shape * lifetime->shape);
}

static double normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

/* Coefficients from the highest power down. */
static double polynomial(const double coefficients[5], double last, double x)
{
    double value = coefficients[0];
    for (int i = 1; i < 5; i++) value = value * x + coefficients[i];
    return value * x + last;
}

/* Acklam's rational approximation for p <= 0.5, |error| < 1.2e-9 of z. */
static double normal_quantile_start(double p)
{
    static const double tail[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                  -2.549732539343734e+00, 4.374664141464968e+00};
    static const double under_tail[] = {0.0, 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                        3.754408661907416e+00};
    static const double middle[] = {-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
                                    1.383577518672690e+02, -3.066479806614716e+01};
    static const double under_middle[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                                          6.680131188771972e+01, -1.328068155288572e+01};
    if (p < 0.02425) {
        const double q = sqrt(-2.0 * log(p));
        return polynomial(tail, 2.938163982698783e+00, q) / polynomial(under_tail, 1.0, q);
    }
    const double q = p - 0.5, r = q * q;
    return polynomial(middle, 2.506628277459239e+00, r) * q / polynomial(under_middle, 1.0, r);
}

/* With one step of Halley's method: to rounding. */
static double normal_quantile(double p)
{
    if (p > 0.5) return -normal_quantile(1.0 - p);
    const double z = normal_quantile_start(p);
    const double step = (normal_cdf(z) - p) * sqrt(2.0 * acos(-1.0)) * exp(0.5 * z * z);
    return z - step / (1.0 + 0.5 * z * step);
}

double lifetime_quantile_s(const struct lifetime *lifetime, double frac)
{
    switch (lifetime->kind) {
    case LIFETIME_EXPONENTIAL: return -lifetime->mean_s * log1p(-frac);
    case LIFETIME_WEIBULL: return weibull_scale_s(lifetime) * pow(-log1p(-frac), 1.0 / lifetime->shape);
    case LIFETIME_LOGNORMAL: return lognormal_median_s(lifetime) * exp(lifetime->shape * normal_quantile(frac));
    case LIFETIME_CONSTANT: break;
    }
    return lifetime->mean_s;
}
