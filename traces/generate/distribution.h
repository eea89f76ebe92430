/* Distribution functions given by points, normal numbers, and distributions of lengths. */
#ifndef ORRERY_TRACES_GENERATE_DISTRIBUTION_H
#define ORRERY_TRACES_GENERATE_DISTRIBUTION_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/rng.h"

#include <stddef.h>
#include <stdint.h>

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

/* The value at which the function over `n` rising points, the last one with cdf_frac 1, reaches `frac`; below the first
 * point the value of that point. */
double cdf_quantile(const struct cdf_point *points, size_t n, enum cdf_shape shape, double frac);

/* A standard normal number (Box and Muller 1958), and the share of such numbers that are at most `z`. */
double normal_draw(struct rng *rng);
double normal_cdf(double z);

/* Distributions of lengths in tokens. The family "length" of configurations, tag "distribution". */
struct length_distribution {
    const char *name, *summary;
    const struct config_field *params;
    size_t params_bytes;
    int (*check)(const void *params, const char *where, struct diag *diag); /* checks beyond ranges; may be NULL */
    double (*draw)(const void *params, struct rng *rng);
};

extern const struct length_distribution length_empirical;

/* All of them, in listing order, NULL at the end. */
extern const struct length_distribution *const length_distributions[];

struct empirical_params {
    struct config_list points; /* of struct cdf_point, rising, the last one with cdf_frac 1 */
};

/* A length of at least 1 and at most INT32_MAX tokens. */
int32_t length_draw(const struct length_distribution *distribution, const void *params, struct rng *rng);

#endif
