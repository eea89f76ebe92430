/* Curves with more points than a page can show, and the fewer that look the same. */
#ifndef ORRERY_ANALYSIS_REPORT_CURVE_H
#define ORRERY_ANALYSIS_REPORT_CURVE_H

#include "sim/core/mem.h"
#include "sim/core/tally.h"

#include <stddef.h>

/* In an arena. */
struct curve {
    size_t n;
    double *x, *y;
};

/* Cumulative shares: of `n` points with rising y in (0, 1], those that are 1/250 apart, and finer towards 1, where the
 * percentiles are that people ask for: 1 - y falls by at most a quarter from one point to the next. The last one stays.
 * Returns 0 or SIM_E_NOMEM. */
int curve_thin_shares(const double *x, const double *y, size_t n, struct arena *arena, struct curve *curve);

/* The same of a histogram: the share of values below each bucket's upper end. */
int curve_of_histogram(const struct histogram *histogram, struct arena *arena, struct curve *curve);

/* Of points in order of x: at most about `most`, among them the lowest and the highest of each of most / 2 equal stretches
 * of x, in their order, and the first and the last of all. */
int curve_thin_extremes(const double *x, const double *y, size_t n, size_t most, struct arena *arena,
                        struct curve *curve);

/* Means over time of a step function, which holds y[i] from x[i] to x[i + 1] and its last value to `end`: means[k] is that
 * of the k-th of n_bins equal parts of start .. end; NAN before its first point. */
void curve_bin_means(const double *x, const double *y, size_t n, double start, double end, size_t n_bins,
                     double *means);

#endif
