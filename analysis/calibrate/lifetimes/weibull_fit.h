/* Weibull distributions of lifetimes from field data: censored on the right, truncated on the left, or with unknown
 * dates of deployment.
 *
 *     hazard  (k/s) (t/s)^(k-1)        shape k, scale s, mean s Gamma(1 + 1/k)
 *
 * A unit is observed from age `from` (0: since it was new) to age `to`, at which it failed or left the observation. Its
 * likelihood is h(to)^failed exp(-(to/s)^k + (from/s)^k) (Nelson, Applied Life Data Analysis, 1982, chapter 8). For a
 * given shape the best scale has a closed form, so the likelihood is maximised over the shape alone. Intervals are
 * those of the normal approximation for the logarithms, by the observed information.
 *
 * Units that were shipped, deployed at an unknown later date, and are known only if they failed under monitoring: Ye
 * and Ng, arXiv 1412.1331, by stochastic expectation-maximisation. The lag from shipping to deployment is exponential.
 * Each round draws lag and lifetime of all units that were not returned, from the present law, given that they were
 * not; the fit of the completed data is the next law. Estimates are means over the rounds after a burn-in. The mean
 * lifetime is that of the law so estimated. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_LIFETIMES_WEIBULL_FIT_H
#define ORRERY_ANALYSIS_CALIBRATE_LIFETIMES_WEIBULL_FIT_H

#include "sim/core/err.h"
#include "sim/core/rng.h"

#include <stdbool.h>
#include <stddef.h>

/* A unit under observation. Ages in any one unit of time. */
struct observed_life {
    double from, to; /* 0 <= from < to */
    bool failed;
};

/* Estimate with the ends of its 95 % interval. */
struct weibull_estimate {
    double value, low, high;
};

struct weibull_fit {
    size_t units, failures;
    struct weibull_estimate shape, scale, mean;
};

double weibull_mean(double shape, double scale);

/* Maximum likelihood; at least 2 failures at different ages. Returns 0, SIM_E_DATA if there are fewer or the likelihood
 * has no maximum for a shape from 0.02 to 100, or SIM_E_NOMEM. */
int weibull_fit(const struct observed_life *lives, size_t n, struct weibull_fit *fit);

/* A unit that was shipped at `shipped`. If it failed within `window` of its deployment, and before `end`, it was
 * returned: `lag` and `life` are known. Else both are NAN. */
struct shipped_unit {
    double shipped, end, window, lag, life;
};

struct shipped_fit {
    size_t units, returned;
    double shape, scale, lag;                   /* means over the chain */
    double mean;                                /* of the law with this shape and scale */
    double shape_sd, scale_sd, mean_sd, lag_sd; /* standard deviations over the chain; mean_sd: of its laws' means */
};

/* `rounds` of which the first `burn` are dropped. Returns 0, SIM_E_DATA with fewer than 2 returns, or SIM_E_NOMEM. */
int shipped_fit(const struct shipped_unit *units, size_t n, int rounds, int burn, struct rng *rng,
                struct shipped_fit *fit);

#endif
