/* Intervals and tests for results of simulations. All are deterministic: resampling draws from a named stream of a
 * seed. Whether values are independent is for the caller to know: the requests of one run are not, runs under
 * different seeds are. */
#ifndef ORRERY_ANALYSIS_STATS_STATS_H
#define ORRERY_ANALYSIS_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    double mean, low, high; /* mean: the estimate, also of a quantile; NAN: too few values */
};

/* NAN for n = 0. */
double stats_mean(const double *values, size_t n);

/* Student's t interval of the mean of n independent values, at `level` (0.95); low and high are NAN for n < 2. */
struct interval stats_mean_interval(const double *values, size_t n, double level);

/* Bootstrap-t interval of the mean of n independent values, over `resamples` resamples drawn under `seed`. On skewed
 * values it covers more than percentiles of resampled means do (lognormal of sigma 1, n = 20: 91 % instead of 85; n
 * = 100: 93 instead of 91), but less than nominal: of sigma 1.5, 88 % at n = 20 and 92 to 93 at n = 1,000. Time O(n
 * + resamples), memory O(n): see bootstrap.c. low and high are NAN for n < 2, and if too few values differ. Returns
 * 0 or SIM_E_NOMEM. Source: Efron and Tibshirani 1993, section 12.5. */
int stats_bootstrap_mean(const double *values, size_t n, double level, int resamples, uint64_t seed,
                         struct interval *interval);

/* Percentile bootstrap of the difference (changed - base) of the q-quantiles of two paired samples: pairs are
 * resampled together. Only the pairs near the quantiles are drawn one by one, so that a resample costs O(sqrt(n)):
 * see bootstrap.c. *p, unless NULL, gets the two-sided p-value of a zero difference, from the same resamples: it is
 * below 1 - level exactly if the interval leaves zero out, and at least 2 / (resamples + 1). It errs to the wide
 * side: with 20 to 100 pairs beyond the quantile, 95 to 98 of 100 cover. NANs below 20 pairs on either side of it
 * (with 10, 91 of 100 cover). Returns 0 or SIM_E_NOMEM. Source: Efron and Tibshirani 1993, chapter 13; Davison and
 * Hinkley 1997, 4.2. */
int stats_bootstrap_quantile_difference(const double *base, const double *changed, size_t n, double q, double level,
                                        int resamples, uint64_t seed, struct interval *interval, double *p);

/* Two-sided p-value of the paired t test that the mean of the differences is zero. 1 when all differences are zero,
 * 0 when all are the same but not zero; NAN for n < 2. */
double stats_paired_t_p(const double *differences, size_t n);

/* Interval from n bootstrap replicates of one sample, such as runs whose trace is a block bootstrap of one trace. The
 * spread of the replicates is the sampling error of that sample: it does not shrink by sqrt(n), as the replicates hold
 * no new data. With enough of them (40 at 95 %) the interval is that of percentiles, between two of the replicates.
 * With fewer it is mean +- t(n - 1) sd sqrt(1 + 1/n), in which 1/n is the error of the mean of the replicates. *p,
 * unless NULL, gets the two-sided p-value that the estimated quantity is zero; with percentiles at least 2 / (n + 1).
 * NANs for n < 2. Reorders the values. Source: Efron and Tibshirani 1993, chapters 6 and 13; the factor is that of the
 * prediction interval of one more value. */
struct interval stats_replicate_interval(double *values, size_t n, double level, double *p);

/* Interval of changed / base over n pairs of replicates, from the ratio of each pair: percentiles of these, or with few
 * replicates the spread of their logarithms. It cannot fall below 0. Its mean is that of the changed values over that
 * of the base. The ends are NAN where a pair has no such ratio, or where they would contradict the ratio of the means
 * or the interval of the differences. Uses scratch[n]. */
struct interval stats_replicate_ratio(const double *base, const double *changed, size_t n, double level,
                                      double *scratch);

/* Whether people read a change as a ratio, 12.1x: it is beyond +200 % of a positive base. */
bool stats_is_multiple(double base, double changed);

/* The least p-value that stats_replicate_interval can give: 2 / (n + 1) with percentiles, else 0. */
double stats_replicate_least_p(size_t n, double level);

/* Interval of mean(changed) - mean(base) of two independent samples with unequal variances. *p, unless NULL, gets
 * the two-sided p-value of a zero difference. NANs below two values in either. Source: Welch 1947. */
struct interval stats_welch_interval(const double *base, size_t n_base, const double *changed, size_t n_changed,
                                     double level, double *p);

/* Holm's step-down correction: replaces p-values by adjusted ones. NANs stay, and count as no test. Source: Holm 1979.
 * Returns 0 or SIM_E_NOMEM. */
int stats_holm(double *p, size_t n);

/* The number of warm-up values at the start of a series: MSER-5 (White 1997), a multiple of 5, at most half of the
 * series. A cut at half means that no steady state was found. */
size_t stats_mser5(const double *values, size_t n);

/* The largest cut that stats_mser5 may return for n values. */
size_t stats_mser5_limit(size_t n);

/* Interval of the mean of a stationary, correlated series by `batches` non-overlapping batch means (Law 2015,
 * 9.5.3); values left over at the end are dropped. NANs below two values per batch. *p, unless NULL, gets the
 * two-sided p-value of a zero mean; *lag1, unless NULL, the autocorrelation of the batch means, which should be
 * small. Returns 0 or SIM_E_NOMEM. */
int stats_batch_means(const double *values, size_t n, size_t batches, double level, struct interval *interval,
                      double *p, double *lag1);

/* Interval of the difference (changed - base) of the q-quantiles of two paired, stationary, correlated series: the
 * quantiles of `batches` batches estimate the error of the whole's (sectioning: Asmussen and Glynn 2007, III.5a).
 * NANs below 5 values beyond the quantile in each batch. Returns 0 or SIM_E_NOMEM. */
int stats_batch_quantile_difference(const double *base, const double *changed, size_t n, size_t batches, double q,
                                    double level, struct interval *interval, double *p);

/* The number of independent values that estimate the mean as well as the n values of a stationary, correlated
 * series: at most n. From the variances of the means of 400 and of 100 blocks, each corrected for the correlation of
 * neighbours as that of an autoregressive series of first order; the lesser of both. n if all values are equal; 0
 * below two values. Source: Law and Carson 1979, whose test of 400 batches it generalizes. */
double stats_effective_n(const double *values, size_t n);

/* Autocorrelation of a series with itself one step later. 0 when all values are equal, NAN for n < 2. */
double stats_lag1(const double *values, size_t n);

/* The q-quantile of n sorted values, linear between order statistics (type 7). NAN for n == 0. */
double stats_quantile(const double *sorted, size_t n, double q);

/* Partially sorts: the k-th smallest value (from 0) at its place, none larger before it, none smaller after it; k <
 * n. O(n). No NANs. */
void stats_select(double *values, size_t n, size_t k);

/* stats_quantile of n values in any order, which it reorders. O(n). */
double stats_select_quantile(double *values, size_t n, double q);

#endif
