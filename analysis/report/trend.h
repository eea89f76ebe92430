/* How waiting went on over the time of arrival, and whether it grew without end.
 *
 * In a queue that gets more work than it can do, load rho > 1, whoever comes dt later waits (rho - 1) dt longer: the slope of
 * waiting over the time of arrival is rho - 1. A run that is cut short knows the waits of those only who got their turn, so the
 * slope is taken over the arrivals up to the last ones most of whom did. */
#ifndef ORRERY_ANALYSIS_REPORT_TREND_H
#define ORRERY_ANALYSIS_REPORT_TREND_H

#include <stdbool.h>
#include <stddef.h>

enum { TREND_BINS = 128 };

struct trend_bin {
    double n, n_left, wait_sum_s; /* all arrivals; of them those still waiting at the end */
};

struct trend {
    double start_s, width_s; /* of a bin */
    struct trend_bin bins[TREND_BINS];
};

/* Arrivals come from start to end. */
void trend_init(struct trend *trend, double start_s, double end_s);

/* The bin of an arrival at t, -1 for one before the start. */
int trend_bin_at(const struct trend *trend, double t_s);

/* One that arrived at t and waited; NAN: its wait is not known. Who `is_left` has waited so long, and still waits. */
void trend_add(struct trend *trend, double t_s, double wait_s, bool is_left);

struct trend_growth {
    double until_s;         /* arrivals up to then tell the slope; NAN: all do */
    double early_s, late_s; /* mean waits in the second and in the last quarter of that time; NAN: of fewer than 20 */
    double rate;            /* the slope, in seconds per second: the load less one */
    double left_frac;       /* of all arrivals, who still wait at the end */
    bool grows;             /* waits more than doubled, and rose by no less than one second per hundred */
    bool is_saturated;      /* that, or more than 5 % of at least 20 arrivals still wait */
};
struct trend_growth trend_growth(const struct trend *trend);

#endif
