/* How waiting and latency went on over the time of arrival, and whether waiting grew without end. */
#ifndef ORRERY_ANALYSIS_REPORT_TREND_H
#define ORRERY_ANALYSIS_REPORT_TREND_H

#include "sim/core/tally.h"

#include <stdbool.h>
#include <stddef.h>

enum { TREND_BINS = 128 };

struct trend_bin {
    double n, wait_sum_s;
    struct histogram latency_s;
};

struct trend {
    double start_s, width_s; /* of a bin */
    struct trend_bin bins[TREND_BINS];
};

/* Arrivals come from start to end. Returns 0 or SIM_E_NOMEM; trend_fini is needed either way. */
int trend_init(struct trend *trend, double start_s, double end_s);
void trend_fini(struct trend *trend);

/* One that arrived at t, waited, and had this latency; NAN: unknown. */
int trend_add(struct trend *trend, double t_s, double wait_s, double latency_s);

/* Mean waits of those that arrived in the second and in the last quarter of the arrivals' time, and how fast waiting grew
 * between them, in seconds per second. An endless queue with load rho grows by 1 - 1 / rho. */
struct trend_growth {
    double early_s, late_s; /* NAN: fewer than 20 arrived */
    double rate;
    bool is_saturated; /* it more than doubled, and at no less than one second per hundred */
};
struct trend_growth trend_growth(const struct trend *trend);

#endif
