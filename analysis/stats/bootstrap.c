#include "analysis/stats/stats.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Means --- */

enum { DRAWN = 128 };

static const double FARTHEST = 1e9; /* used for a resample of equal values, which has no standard error */

struct sample {
    size_t n, n_far;
    double mean, error;   /* of the sample, and its standard error */
    double *far;          /* distances from the mean of the values drawn one by one */
    double near_mean;     /* mean distance of the other values, and its central moments */
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

/* Sorts the farthest distances at both ends. */
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

/* Keeps the farthest distances, at both ends, in `far`; sums up the others. */
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

/* The t statistic of one resample: its mean above the sample's, in its own standard errors. */
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

/* --- Quantiles --- */

enum { REACH = 5, CROWD = 64, EXPECTED = 20 };

/* Class 0 is below the window, class i is window[i - 1], class n_window + 1 is above it. */
struct margin {
    double *window; /* distinct values, ascending */
    size_t n_window;
    size_t *drawn; /* count of each class in the resample */
};

struct cell {
    uint32_t base, changed; /* classes */
    size_t n;               /* pairs */
};

struct quantiles {
    size_t n, n_cells, n_crowds, n_single; /* crowded cells come first; n_single: pairs in the others */
    double q;
    struct margin base, changed;
    struct cell *cells;
    uint32_t *singles;   /* the cell of every pair drawn one by one */
};

static size_t class_of(const struct margin *margin, double value)
{
    size_t low = 0, high = margin->n_window;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (margin->window[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == margin->n_window) return low + 1;
    return margin->window[low] == value ? low + 1 : 0; /* all values between two of the window are in it */
}

static int find_window(struct margin *margin, const double *values, size_t n, double q)
{
    const double middle = q * (double)(n - 1), reach = REACH * sqrt((double)n * q * (1 - q)) + 2;
    const size_t first = middle > reach ? (size_t)(middle - reach) : 0;
    const size_t last = middle + reach < (double)(n - 1) ? (size_t)(middle + reach) : n - 1;
    double *sorted = mem_alloc(n * sizeof *sorted);
    margin->window = mem_alloc((last - first + 1) * sizeof *margin->window);
    if (sorted == NULL || margin->window == NULL) {
        mem_free(sorted);
        return SIM_E_NOMEM;
    }
    for (size_t i = 0; i < n; i++) sorted[i] = values[i];
    stats_select(sorted, n, first); /* only the window needs to be in order */
    stats_select(sorted + first, n - first, last - first);
    gsl_sort(sorted + first, 1, last - first + 1);
    for (size_t i = first; i <= last; i++)
        if (i == first || sorted[i] > sorted[i - 1]) margin->window[margin->n_window++] = sorted[i];
    mem_free(sorted);
    margin->drawn = mem_alloc((margin->n_window + 2) * sizeof *margin->drawn);
    return margin->drawn != NULL ? 0 : SIM_E_NOMEM;
}

static int compare_classes(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    if (a->base != b->base) return a->base < b->base ? -1 : 1;
    return (a->changed > b->changed) - (a->changed < b->changed);
}

static int compare_crowds(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    return compare_classes(left, right);
}

/* Most pairs lie outside both windows and are counted at once. The others are drawn one by one, and those of one
 * cell are collected. */
static void gather_cells(struct quantiles *of, const double *base, const double *changed)
{
    const size_t above_base = of->base.n_window + 1, above_changed = of->changed.n_window + 1;
    size_t corners[2][2] = {{0}}, n = 0;
    for (size_t i = 0; i < of->n; i++) {
        const size_t b = class_of(&of->base, base[i]), c = class_of(&of->changed, changed[i]);
        if ((b == 0 || b == above_base) && (c == 0 || c == above_changed))
            corners[b > 0][c > 0]++;
        else
            of->cells[n++] = (struct cell){(uint32_t)b, (uint32_t)c, 1};
    }
    if (n > 0) qsort(of->cells, n, sizeof *of->cells, compare_classes);
    for (size_t i = 0; i < n; i++) {
        if (of->n_cells > 0 && compare_classes(&of->cells[of->n_cells - 1], &of->cells[i]) == 0)
            of->cells[of->n_cells - 1].n++;
        else
            of->cells[of->n_cells++] = of->cells[i];
    }
    for (size_t i = 0; i < 4; i++) {
        const size_t b = i / 2 * above_base, c = i % 2 * above_changed, here = corners[i / 2][i % 2];
        if (here > 0) of->cells[of->n_cells++] = (struct cell){(uint32_t)b, (uint32_t)c, here};
    }
}

static int find_cells(struct quantiles *of, const double *base, const double *changed)
{
    of->cells = mem_alloc((of->n + 4) * sizeof *of->cells);
    if (of->cells == NULL) return SIM_E_NOMEM;
    gather_cells(of, base, changed);
    qsort(of->cells, of->n_cells, sizeof *of->cells, compare_crowds);
    while (of->n_crowds < of->n_cells && of->cells[of->n_crowds].n >= CROWD) of->n_crowds++;
    for (size_t i = of->n_crowds; i < of->n_cells; i++) of->n_single += of->cells[i].n;
    of->singles = mem_alloc((of->n_single + 1) * sizeof *of->singles);
    if (of->singles == NULL) return SIM_E_NOMEM;
    size_t next = 0;
    for (size_t i = of->n_crowds; i < of->n_cells; i++)
        for (size_t k = 0; k < of->cells[i].n; k++) of->singles[next++] = (uint32_t)i;
    return 0;
}

static void count(struct quantiles *of, size_t cell, size_t times)
{
    of->base.drawn[of->cells[cell].base] += times;
    of->changed.drawn[of->cells[cell].changed] += times;
}

static void draw(struct quantiles *of, struct rng *rng)
{
    const gsl_rng gsl = rng_gsl(rng);
    size_t draws = of->n, pairs = of->n; /* that are left */
    for (size_t i = 0; i < of->base.n_window + 2; i++) of->base.drawn[i] = 0;
    for (size_t i = 0; i < of->changed.n_window + 2; i++) of->changed.drawn[i] = 0;
    for (size_t i = 0; i < of->n_crowds; i++) {
        const size_t here = of->cells[i].n;
        const size_t times = here == pairs ? draws
                                           : gsl_ran_binomial(&gsl, (double)here / (double)pairs, (unsigned)draws);
        count(of, i, times);
        draws -= times;
        pairs -= here;
    }
    for (; draws > 0; draws--) count(of, of->singles[rng_below(rng, of->n_single)], 1);
}

/* The value of a rank (from 0) in the resample. A rank beyond the window (probability about one in a million) gets
 * the value at its edge. */
static double value_at(const struct margin *margin, size_t rank)
{
    size_t seen = margin->drawn[0], i = 0;
    while (i + 1 < margin->n_window && seen + margin->drawn[i + 1] <= rank) seen += margin->drawn[++i];
    return margin->window[i];
}

static double quantile_of(const struct margin *margin, size_t n, double q)
{
    const double rank = q * (double)(n - 1);
    const size_t below = (size_t)rank;
    const double low = value_at(margin, below);
    return below + 1 < n ? low + (rank - (double)below) * (value_at(margin, below + 1) - low) : low;
}

static double difference(const struct quantiles *of)
{
    return quantile_of(&of->changed, of->n, of->q) - quantile_of(&of->base, of->n, of->q);
}

/* The sample itself, as if it were a resample. */
static double observed_difference(struct quantiles *of)
{
    for (size_t i = 0; i < of->base.n_window + 2; i++) of->base.drawn[i] = 0;
    for (size_t i = 0; i < of->changed.n_window + 2; i++) of->changed.drawn[i] = 0;
    for (size_t i = 0; i < of->n_cells; i++) count(of, i, of->cells[i].n);
    return difference(of);
}

/* The ends are the order statistics beyond which the p-value is below 1 - level. */
static void read_resamples(const double *sorted, size_t n, double level, struct interval *interval, double *p)
{
    const size_t rank = (size_t)((double)(n + 1) * (1 - level) / 2), first = rank > 0 ? rank - 1 : 0;
    size_t n_below = 0, n_above = 0; /* or at zero */
    while (n_below < n && sorted[n_below] <= 0) n_below++;
    while (n_above < n && sorted[n - 1 - n_above] >= 0) n_above++;
    const size_t fewer = n_below < n_above ? n_below : n_above;
    interval->low = sorted[first];
    interval->high = sorted[n - 1 - first];
    if (p != NULL) *p = fmin(1, 2 * (double)(fewer + 1) / (double)(n + 1));
}

static int quantile_interval(struct quantiles *of, double level, int resamples, uint64_t seed,
                             struct interval *interval, double *p)
{
    double *differences = mem_alloc((size_t)resamples * sizeof *differences);
    struct rng rng;
    if (differences == NULL) return SIM_E_NOMEM;
    rng_init(&rng, seed, 0, "bootstrap quantile", 0);
    for (int i = 0; i < resamples; i++) {
        draw(of, &rng);
        differences[i] = difference(of);
    }
    gsl_sort(differences, 1, (size_t)resamples);
    read_resamples(differences, (size_t)resamples, level, interval, p);
    mem_free(differences);
    return 0;
}

int stats_bootstrap_quantile_difference(const double *base, const double *changed, size_t n, double q, double level,
                                        int resamples, uint64_t seed, struct interval *interval, double *p)
{
    struct quantiles of = {.n = n, .q = q};
    *interval = (struct interval){(double)NAN, (double)NAN, (double)NAN};
    if (p != NULL) *p = (double)NAN;
    if (n == 0 || resamples < 1) return 0;
    int code = find_window(&of.base, base, n, q);
    if (code == 0) code = find_window(&of.changed, changed, n, q);
    if (code == 0) code = find_cells(&of, base, changed);
    if (code == 0) interval->mean = observed_difference(&of);
    if (code == 0 && (double)n * fmin(q, 1 - q) >= EXPECTED - 1e-9)
        code = quantile_interval(&of, level, resamples, seed, interval, p);
    mem_free(of.base.window);
    mem_free(of.base.drawn);
    mem_free(of.changed.window);
    mem_free(of.changed.drawn);
    mem_free(of.cells);
    mem_free(of.singles);
    return code;
}
