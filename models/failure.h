/* Failure models: distributions of lifetimes.
 *
 * A lifetime has a mean and a shape:
 *
 *     exponential   no memory: constant hazard 1/mean; takes no shape
 *     Weibull       shape < 1: hazard falls (infant mortality), > 1: it grows (wear-out)
 *     lognormal     shape: standard deviation of the logarithm; hazard rises, then falls. Also usual for repair times
 *     constant      always the mean; takes no shape
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

/* The time by which a share 0 < frac < 1 has failed. */
double lifetime_quantile_s(const struct lifetime *lifetime, double frac);

#endif
