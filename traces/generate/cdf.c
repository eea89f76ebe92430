#include "traces/generate/cdf.h"

#include <math.h>

#define TWO_PI 6.283185307179586
#define SQRT_2 1.4142135623730951

size_t cdf_find(const struct cdf_point *points, size_t n, double frac)
{
    size_t first = 0;
    for (size_t left = n - 1; left > 0;) {
        const size_t half = (left + 1) / 2;
        first = points[first + half - 1].cdf_frac < frac ? first + half : first; /* branch-free: unpredictable */
        left -= half;
    }
    return first;
}

double cdf_quantile(const struct cdf_point *points, size_t n, enum cdf_shape shape, double frac)
{
    size_t i = cdf_find(points, n, frac);
    const struct cdf_point *high = &points[i];
    if (i == 0 || shape == CDF_STEPS) return high->value;
    const struct cdf_point *low = high - 1;
    double share = (frac - low->cdf_frac) / (high->cdf_frac - low->cdf_frac);
    if (shape == CDF_LOG) return low->value * pow(high->value / low->value, share);
    return low->value + share * (high->value - low->value);
}

double normal_draw(struct rng *rng)
{
    double u = rng_uniform(rng), v = rng_uniform(rng);
    return sqrt(-2 * log(u)) * cos(TWO_PI * v);
}

double normal_cdf(double z)
{
    return erfc(-z / SQRT_2) / 2;
}
