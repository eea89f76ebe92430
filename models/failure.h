/* Failure models: distributions of lifetimes, and shocks that hit several components at once.
 *
 * A lifetime has a mean and a shape:
 *
 *     exponential   no memory: constant hazard 1/mean; takes no shape
 *     Weibull       shape < 1: hazard falls (infant mortality), > 1: it grows (wear-out)
 *     lognormal     shape: standard deviation of the logarithm; hazard rises, then falls. Also usual for repair times
 *     constant      always the mean; takes no shape
 *
 * The binomial failure rate model of common causes (Atwood, "The Binomial Failure Rate Common Cause Model",
 * Technometrics 28, 1986): m like components, each of which fails by itself at rate `own`; shocks at rate `shock`, each
 * of which hits every component with probability `hit_frac`, independently, possibly none; and lethal shocks at rate
 * `lethal`, which hit all.
 *
 * Leaves out age at the start: all components are new. */
#ifndef ORRERY_MODELS_FAILURE_H
#define ORRERY_MODELS_FAILURE_H

enum lifetime_kind { LIFETIME_EXPONENTIAL, LIFETIME_WEIBULL, LIFETIME_LOGNORMAL, LIFETIME_CONSTANT };

struct lifetime {
    enum lifetime_kind kind;
    double mean_s; /* > 0 */
    double shape;  /* of Weibull and lognormal: > 0 */
};

/* The lognormal distribution with this mean and median; shape 0, without spread, unless mean > median > 0. */
struct lifetime lifetime_lognormal(double mean_s, double median_s);

/* Probability of failing within `t_s` >= 0, and the time by which a share 0 < frac < 1 has failed. */
double lifetime_cdf(const struct lifetime *lifetime, double t_s);
double lifetime_quantile_s(const struct lifetime *lifetime, double frac);

/* Rates per second. */
struct common_cause {
    int components;
    double own_per_s, shock_per_s, hit_frac, lethal_per_s;
};

/* Rate of events in which exactly `k` of the components fail; k = 0: of shocks that hit no component. */
double common_cause_rate_per_s(const struct common_cause *cause, int k);

#endif
