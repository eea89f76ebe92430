/* Errors of simulated times against measured ones, request by request and in distribution.
 *
 * Both are needed: a simulator may have every quantile right and every request wrong. A queue that is a little too long
 * moves all requests behind it although each was served correctly. */
#ifndef ORRERY_ANALYSIS_REPLAY_ERRORS_H
#define ORRERY_ANALYSIS_REPLAY_ERRORS_H

#include <stddef.h>

enum { REPLAY_STATISTICS = 4, REPLAY_WORST = 3 };

/* A statistic of both distributions. */
struct replay_statistic {
    const char *name; /* "mean", "p50", "p90", "p99" */
    double measured, simulated;
    double error_frac; /* simulated / measured - 1; NAN if measured is 0 */
};

struct replay_errors {
    size_t n; /* requests with both values */
    struct replay_statistic statistics[REPLAY_STATISTICS];
    double bias_s;        /* mean of simulated - measured */
    double mean_abs_s;    /* mean of |simulated - measured| */
    double mean_abs_frac; /* mean of |simulated - measured| / measured, over requests with measured > 0 */
    size_t n_worst;
    size_t worst[REPLAY_WORST]; /* the requests with the largest |simulated - measured|, largest first, then by index */
};

/* Computes the errors over the `n` requests without NAN values. All values are 0 or more. NANs if there are none.
 * Returns 0 or SIM_E_NOMEM. */
int replay_errors(const double *measured, const double *simulated, size_t n, struct replay_errors *errors);

#endif
