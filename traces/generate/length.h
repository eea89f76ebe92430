/* Distributions of lengths in tokens. The family "length" of configurations, tag "distribution". */
#ifndef ORRERY_TRACES_GENERATE_LENGTH_H
#define ORRERY_TRACES_GENERATE_LENGTH_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/rng.h"
#include "traces/generate/cdf.h"

#include <stddef.h>
#include <stdint.h>

struct length_distribution {
    const char *name, *summary;
    const struct config_field *params;
    size_t params_bytes;
    int (*check)(const void *params, const char *where, struct diag *diag); /* what ranges cannot say; may be NULL */
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
