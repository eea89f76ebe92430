/* Intervals and tests for what simulations say. All are deterministic: resampling draws from a named stream of a seed. */
#ifndef ORRERY_ANALYSIS_STATS_STATS_H
#define ORRERY_ANALYSIS_STATS_STATS_H

#include <stddef.h>
#include <stdint.h>

struct interval {
    double mean, low, high; /* NAN when there are too few values */
};

/* Student's t interval of the mean of n independent values, at `level` (0.95); low and high are NAN for n < 2. */
struct interval stats_mean_interval(const double *values, size_t n, double level);

/* Percentile bootstrap of the mean of n independent values, over `resamples` resamples drawn under `seed`. Returns 0 or
 * SIM_E_NOMEM. Source: Efron and Tibshirani 1993, chapter 13. */
int stats_bootstrap_mean(const double *values, size_t n, double level, int resamples, uint64_t seed,
                         struct interval *interval);

/* The same of the difference of the q-quantiles of two paired samples: pairs are resampled together. */
int stats_bootstrap_quantile_difference(const double *base, const double *changed, size_t n, double q, double level,
                                        int resamples, uint64_t seed, struct interval *interval);

/* Two-sided p-value of the paired t test that the mean of the differences is zero. 1 when all differences are zero;
 * NAN for n < 2. */
double stats_paired_t_p(const double *differences, size_t n);

/* Holm's step-down correction: replaces p-values by adjusted ones. NANs stay, and count as no test. Source: Holm 1979.
 * Returns 0 or SIM_E_NOMEM. */
int stats_holm(double *p, size_t n);

/* How many values at the start of a series are warm-up: MSER-5 (White 1997), a multiple of 5, at most half of the series. */
size_t stats_mser5(const double *values, size_t n);

/* Interval of the mean of a stationary, correlated series by `batches` non-overlapping batch means (Law 2015, 9.5.3); the
 * values left over at the end are dropped. NANs when there are fewer than two values per batch. */
struct interval stats_batch_means(const double *values, size_t n, size_t batches, double level);

/* The q-quantile of n sorted values, linear between order statistics (type 7). NAN for n == 0. */
double stats_quantile(const double *sorted, size_t n, double q);

#endif
