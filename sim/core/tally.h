/* Streaming statistics: mean and variance, time-weighted mean, and a log-bucketed histogram. Nothing is stored per
 * value; levels and histograms are exact counts, a tally depends on the order of its values in the last digits only. */
#ifndef ORRERY_CORE_TALLY_H
#define ORRERY_CORE_TALLY_H

#include "sim/core/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Count, mean, variance, extremes (Welford 1962; merge: Chan, Golub and LeVeque 1979). */
struct tally {
    uint64_t count;
    double mean, m2, min, max, sum; /* sum is compensated (Neumaier 1974) */
    double sum_error;
};

void tally_init(struct tally *tally);

static inline void tally_add_to_sum(struct tally *tally, double value)
{
    const double sum = tally->sum + value;
    const bool value_is_smaller = fabs(tally->sum) >= fabs(value);
    tally->sum_error += value_is_smaller ? (tally->sum - sum) + value : (value - sum) + tally->sum;
    tally->sum = sum;
}

static inline void tally_add(struct tally *tally, double value)
{
    if (tally->count == 0 || value < tally->min) tally->min = value;
    if (tally->count == 0 || value > tally->max) tally->max = value;
    tally->count++;
    const double delta = value - tally->mean;
    tally->mean += delta / (double)tally->count;
    tally->m2 += delta * (value - tally->mean);
    tally_add_to_sum(tally, value);
}

void tally_merge(struct tally *into, const struct tally *from);
double tally_sum(const struct tally *tally);
double tally_variance(const struct tally *tally); /* unbiased; 0 below two values */

__extension__ typedef __int128 tally_int128;

/* The integral over time of a step function, exact for integer values: 128-bit sum of value * ns. */
struct level {
    sim_ns start_ns, since_ns;
    int64_t value, max;    /* max: of all values ever set, however briefly */
    tally_int128 integral; /* value * ns up to since_ns */
};

void level_init(struct level *level, sim_ns now, int64_t value);
void level_set(struct level *level, sim_ns now, int64_t value); /* now: not before the last call's */
double level_mean(const struct level *level, sim_ns now);       /* over [start, now]; the value when that is empty */
double level_integral_s(const struct level *level, sim_ns now); /* value * seconds; exact where whole and < 2^53 */

/* Mean and integral of a level counted in 1/unit, in whole units: exact if the level was whole at all times. */
double level_mean_in(const struct level *level, sim_ns now, int64_t unit);
double level_integral_s_in(const struct level *level, sim_ns now, int64_t unit);

/* Histogram of non-negative values with 1024 buckets per power of two: a quantile is off by less than 0.1 %.
 * Zero has a bucket of its own; values below 2^-40 count as zero, those of 2^60 and more in the highest bucket.
 * Negative and NaN: SIM_REQUIRE. After SIM_E_NOMEM the histogram is valid, but what was added may be in it in part. */
struct histogram {
    uint64_t count;
    uint64_t zeros;
    uint64_t **octaves; /* 100 octaves of 1024 counters, allocated on first use */
};

int histogram_init(struct histogram *histogram); /* 0 or SIM_E_NOMEM */
void histogram_fini(struct histogram *histogram);
int histogram_add(struct histogram *histogram, double value, uint64_t weight); /* 0 or SIM_E_NOMEM */

/* Adds the n values first, first + step, ... (each `weight` times) in time proportional to the buckets they cross. The
 * counts are exactly those of n calls of histogram_add with first + (double)i * step. The step is finite and may be
 * negative or zero; n < 2^63. */
int histogram_add_series(struct histogram *histogram, double first, double step, uint64_t n, uint64_t weight);
int histogram_merge(struct histogram *into, const struct histogram *from);

/* The q-quantile, 0 <= q <= 1: the middle of the bucket that holds the value of rank ceil(q * count) (1-based, at least
 * 1). 0 when empty. */
double histogram_quantile(const struct histogram *histogram, double q);

/* Visits the non-empty buckets from low to high: lower <= value < upper. */
void histogram_each(const struct histogram *histogram,
                    void (*visit)(void *context, double lower, double upper, uint64_t count), void *context);

#endif
