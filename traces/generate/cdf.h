/* Distribution functions given by points, and normal numbers. */
#ifndef ORRERY_TRACES_GENERATE_CDF_H
#define ORRERY_TRACES_GENERATE_CDF_H

#include "sim/core/rng.h"

#include <stddef.h>

/* This share of the values is at most `value`. */
struct cdf_point {
    double value, cdf_frac;
};

enum cdf_shape {
    CDF_LINEAR, /* constant density between two points */
    CDF_LOG,    /* constant density of the logarithm; values are above 0 */
    CDF_STEPS   /* only the values of the points occur */
};

/* The index of the first of `n` points at or above `frac`; the last point has cdf_frac 1. */
size_t cdf_find(const struct cdf_point *points, size_t n, double frac);

/* The value at which the function over `n` rising points, the last one with cdf_frac 1, reaches `frac`; that of the
 * first point for all below it. */
double cdf_quantile(const struct cdf_point *points, size_t n, enum cdf_shape shape, double frac);

/* A normal number of mean 0 and variance 1 (Box and Muller 1958), and the share of such numbers that are at most
 * `z`. */
double normal_draw(struct rng *rng);
double normal_cdf(double z);

#endif
