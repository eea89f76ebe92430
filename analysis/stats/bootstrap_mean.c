/* Bootstrap of a mean at a price that does not grow with n: of how many standard errors a resample's mean is off, measured
 * by its own standard error (bootstrap-t), which follows the skew of latencies where percentiles of the means do not.
 *
 * A resample of n values is drawn in two parts. The DRAWN values that are farthest from the mean may carry most of the
 * variance and all of the skew: how often they come up is binomial, and which of them, is drawn one by one. Of the others
 * only two sums matter, that of the distances and that of their squares. They have hundreds of terms and no outlier, and
 * are drawn as the pair of normal numbers that they are to well below the noise of the resampling. Up to DRAWN values this
 * is the plain bootstrap. */
#include "analysis/stats/stats.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

enum { DRAWN = 128 };

static const double FARTHEST = 1e9; /* standard errors of a resample that has none, as all its values are equal */

struct sample {
    size_t n, n_far;
    double mean, error;   /* of all, and its standard error */
    double *far;          /* distances from the mean, of those that are drawn */
    double near_mean;     /* of the distances of the others, and their central moments */
    double near_moments[3]; /* second to fourth */
};

static void describe_near(struct sample *sample, const double *near, size_t n)
{
    for (size_t i = 0; i < n; i++) sample->near_mean += near[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double off = near[i] - sample->near_mean;
        sample->near_moments[0] += off * off / (double)n;
        sample->near_moments[1] += off * off * off / (double)n;
        sample->near_moments[2] += off * off * off * off / (double)n;
    }
}

/* Sorts as many of the distances at both ends as may be far. */
static void sort_ends(double *distances, size_t n)
{
    if (n <= 2 * DRAWN) {
        gsl_sort(distances, 1, n);
        return;
    }
    stats_select(distances, n, DRAWN);
    stats_select(distances + DRAWN, n - DRAWN, n - 2 * DRAWN);
    gsl_sort(distances, 1, DRAWN);
    gsl_sort(distances + n - DRAWN, 1, DRAWN);
}

/* The farthest distances stand at both ends: these are left in `far`, the others are summed up. */
static void split(struct sample *sample, double *sorted)
{
    size_t low = 0, high = sample->n;
    while (high > low && sample->n_far < DRAWN) {
        sample->n_far++;
        if (-sorted[low] > sorted[high - 1])
            low++;
        else
            high--;
    }
    describe_near(sample, sorted + low, high - low);
    memmove(sorted + low, sorted + high, (sample->n - high) * sizeof *sorted);
    sample->far = sorted;
}

static void describe(struct sample *sample, const double *values, size_t n, double *distances)
{
    double squares = 0;
    sample->n = n;
    for (size_t i = 0; i < n; i++) sample->mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        distances[i] = values[i] - sample->mean;
        squares += distances[i] * distances[i];
    }
    sample->error = sqrt(squares) / (double)n;
    sort_ends(distances, n);
    split(sample, distances);
}

/* Adds `n` draws of near values to the sums of distances and of their squares. */
static void add_near(const struct sample *sample, const gsl_rng *gsl, double n, double *sum, double *squares)
{
    const double *moments = sample->near_moments;
    if (n == 0) return;
    double off = 0, off_squares = n * moments[0];
    if (moments[0] > 0) {
        const double slope = moments[1] / moments[0];
        const double left = moments[2] - moments[0] * moments[0] - slope * moments[1];
        off = gsl_ran_gaussian(gsl, sqrt(n * moments[0]));
        off_squares += slope * off + (left > 0 ? gsl_ran_gaussian(gsl, sqrt(n * left)) : 0);
    }
    *sum += n * sample->near_mean + off;
    *squares += fmax(0, off_squares) + 2 * sample->near_mean * off + n * sample->near_mean * sample->near_mean;
}

/* How many of its own standard errors the mean of one resample is above that of the sample. */
static double resample(const struct sample *sample, struct rng *rng)
{
    const gsl_rng gsl = rng_gsl(rng);
    const double n = (double)sample->n, far_frac = (double)sample->n_far / n;
    size_t n_far = sample->n;
    if (sample->n_far < sample->n) n_far = gsl_ran_binomial(&gsl, far_frac, (unsigned)sample->n);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n_far; i++) {
        const double distance = sample->far[rng_below(rng, sample->n_far)];
        sum += distance;
        squares += distance * distance;
    }
    add_near(sample, &gsl, n - (double)n_far, &sum, &squares);
    const double variance = squares - sum * sum / n; /* of one value, times n */
    if (variance > 1e-12 * squares) return sum / sqrt(variance);
    return sum > 0 ? FARTHEST : -FARTHEST;
}

static void find_interval(const struct sample *sample, const double *errors, size_t n, double level,
                          struct interval *interval)
{
    const double least = stats_quantile(errors, n, 0.5 - level / 2), most = stats_quantile(errors, n, 0.5 + level / 2);
    interval->mean = sample->mean;
    if (fmax(fabs(least), fabs(most)) >= FARTHEST / 2) return;
    interval->low = sample->mean - most * sample->error;
    interval->high = sample->mean - least * sample->error;
}

int stats_bootstrap_mean(const double *values, size_t n, double level, int resamples, uint64_t seed,
                         struct interval *interval)
{
    *interval = (struct interval){n == 1 ? values[0] : (double)NAN, (double)NAN, (double)NAN};
    if (n < 2 || resamples < 1) return 0;
    struct sample sample = {0};
    double *distances = mem_alloc(n * sizeof *distances);
    double *errors = mem_alloc((size_t)resamples * sizeof *errors);
    const int code = distances != NULL && errors != NULL ? 0 : SIM_E_NOMEM;
    if (code == 0) {
        struct rng rng;
        rng_init(&rng, seed, 0, "bootstrap mean", 0);
        describe(&sample, values, n, distances);
        for (int i = 0; i < resamples && sample.error > 0; i++) errors[i] = resample(&sample, &rng);
        if (sample.error > 0) gsl_sort(errors, 1, (size_t)resamples);
        find_interval(&sample, errors, (size_t)resamples, level, interval);
        if (sample.error == 0) *interval = (struct interval){sample.mean, sample.mean, sample.mean};
    }
    mem_free(distances);
    mem_free(errors);
    return code;
}
