#include "analysis/stats/stats.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

/* --- Selection --- */

static void swap(double *a, double *b)
{
    const double value = *a;
    *a = *b;
    *b = value;
}

/* The median of the first, the middle and the last value: sorted input takes no longer than any other. */
static double pivot_of(const double *values, size_t low, size_t high)
{
    const double a = values[low], b = values[low + (high - low) / 2], c = values[high];
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Hoare's FIND (1961), between two bounds that close in on k. */
void stats_select(double *values, size_t n, size_t k)
{
    size_t low = 0, high = n > 0 ? n - 1 : 0;
    while (low < high) {
        const double pivot = pivot_of(values, low, high);
        size_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot) i++;
            while (values[j] > pivot) j--;
            if (i > j) break;
            swap(&values[i++], &values[j]);
            if (j == 0) break;
            j--;
        }
        if (k > j && k < i) return;
        if (k <= j)
            high = j;
        else
            low = i;
    }
}

double stats_select_quantile(double *values, size_t n, double q)
{
    if (n == 0) return (double)NAN;
    const double rank = q * (double)(n - 1);
    const size_t below = (size_t)rank;
    stats_select(values, n, below);
    if (below + 1 >= n) return values[below];
    stats_select(values + below + 1, n - below - 1, 0);
    return values[below] + (rank - (double)below) * (values[below + 1] - values[below]);
}

/* --- Intervals --- */

struct moments {
    double mean, variance; /* of one value, unbiased */
};

/* Two passes: the second also corrects the rounding of the mean. */
static struct moments moments_of(const double *values, size_t n)
{
    struct moments moments = {0};
    double left = 0, squares = 0;
    for (size_t i = 0; i < n; i++) moments.mean += values[i];
    moments.mean /= (double)n;
    for (size_t i = 0; i < n; i++) {
        left += values[i] - moments.mean;
        squares += (values[i] - moments.mean) * (values[i] - moments.mean);
    }
    moments.variance = n > 1 ? fmax(0, squares - left * left / (double)n) / (double)(n - 1) : 0;
    moments.mean += left / (double)n;
    return moments;
}

static struct interval around(double mean, double error, double degrees, double level)
{
    const double reach = gsl_cdf_tdist_Pinv(0.5 + level / 2, degrees) * error;
    return (struct interval){mean, mean - reach, mean + reach};
}

static struct interval unknown(double mean)
{
    return (struct interval){mean, (double)NAN, (double)NAN};
}

/* The two-sided p-value that a mean with this standard error is zero. */
static double two_sided_p(double mean, double error, double degrees)
{
    if (error > 0) return 2 * gsl_cdf_tdist_Q(fabs(mean) / error, degrees);
    return mean == 0 ? 1 : 0;
}

double stats_mean(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    return n > 0 ? sum / (double)n : (double)NAN;
}

struct interval stats_mean_interval(const double *values, size_t n, double level)
{
    if (n == 0) return unknown((double)NAN);
    const struct moments moments = moments_of(values, n);
    if (n < 2) return unknown(moments.mean);
    return around(moments.mean, sqrt(moments.variance / (double)n), (double)(n - 1), level);
}

double stats_paired_t_p(const double *differences, size_t n)
{
    if (n < 2) return (double)NAN;
    const struct moments moments = moments_of(differences, n);
    return two_sided_p(moments.mean, sqrt(moments.variance / (double)n), (double)(n - 1));
}

/* Between the k-th smallest and the k-th largest value, each with a share of (1 - level) / 2 beyond it. */
static struct interval percentiles(double *values, size_t n, size_t k, double *p)
{
    size_t n_above = 0, n_below = 0;
    struct interval interval = {.mean = moments_of(values, n).mean};
    for (size_t i = 0; i < n; i++) {
        n_above += values[i] >= 0;
        n_below += values[i] <= 0;
    }
    stats_select(values, n, k - 1);
    interval.low = values[k - 1];
    stats_select(values, n, n - k);
    interval.high = values[n - k];
    const size_t least = n_above < n_below ? n_above : n_below;
    if (p != NULL) *p = fmin(1, 2 * (double)(least + 1) / (double)(n + 1));
    return interval;
}

/* How many of n replicates lie beyond each end of their percentile interval; 0: too few for percentiles. */
static size_t n_beyond(size_t n, double level)
{
    return (size_t)((double)(n + 1) * (1 - level) / 2 - 1e-9);
}

double stats_replicate_least_p(size_t n, double level)
{
    return n_beyond(n, level) > 0 ? 2 / (double)(n + 1) : 0;
}

struct interval stats_replicate_interval(double *values, size_t n, double level, double *p)
{
    const size_t k = n_beyond(n, level);
    if (p != NULL) *p = (double)NAN;
    if (n == 0) return unknown((double)NAN);
    if (k > 0) return percentiles(values, n, k, p);
    const struct moments moments = moments_of(values, n);
    if (n < 2) return unknown(moments.mean);
    const double error = sqrt(moments.variance * (1 + 1 / (double)n)), degrees = (double)(n - 1);
    if (p != NULL) *p = two_sided_p(moments.mean, error, degrees);
    return around(moments.mean, error, degrees, level);
}

bool stats_is_multiple(double base, double changed)
{
    return base > 0 && changed > 3 * base;
}

struct interval stats_replicate_ratio(const double *base, const double *changed, size_t n, double level,
                                      double *scratch)
{
    const struct interval none = unknown(stats_mean(changed, n) / stats_mean(base, n));
    const bool by_logarithm = stats_replicate_least_p(n, level) == 0;
    for (size_t i = 0; i < n; i++) scratch[i] = changed[i] - base[i];
    const struct interval delta = stats_replicate_interval(scratch, n, level, NULL);
    for (size_t i = 0; i < n; i++) {
        if (!(base[i] > 0) || !(changed[i] >= 0) || (by_logarithm && changed[i] == 0)) return none;
        scratch[i] = by_logarithm ? log(changed[i] / base[i]) : changed[i] / base[i];
    }
    const struct interval found = stats_replicate_interval(scratch, n, level, NULL);
    const double low = by_logarithm ? exp(found.low) : found.low, high = by_logarithm ? exp(found.high) : found.high;
    if (!(low <= none.mean && none.mean <= high)) return none;
    if ((low > 1) != (delta.low > 0) || (high < 1) != (delta.high < 0)) return none;
    return (struct interval){none.mean, low, high};
}

struct interval stats_welch_interval(const double *base, size_t n_base, const double *changed, size_t n_changed,
                                     double level, double *p)
{
    if (p != NULL) *p = (double)NAN;
    if (n_base == 0 || n_changed == 0) return unknown((double)NAN);
    const struct moments of_base = moments_of(base, n_base), of_changed = moments_of(changed, n_changed);
    const double difference = of_changed.mean - of_base.mean;
    if (n_base < 2 || n_changed < 2) return unknown(difference);
    const double v = of_base.variance / (double)n_base, w = of_changed.variance / (double)n_changed;
    double degrees = (double)(n_base + n_changed - 2);
    if (v + w > 0) degrees = (v + w) * (v + w) / (v * v / (double)(n_base - 1) + w * w / (double)(n_changed - 1));
    if (p != NULL) *p = two_sided_p(difference, sqrt(v + w), degrees);
    return around(difference, sqrt(v + w), degrees, level);
}

int stats_holm(double *p, size_t n)
{
    double *tested = mem_alloc((n + 1) * sizeof *tested);
    size_t *where = mem_alloc((n + 1) * sizeof *where), *order = mem_alloc((n + 1) * sizeof *order);
    const int code = tested != NULL && where != NULL && order != NULL ? 0 : SIM_E_NOMEM;
    size_t n_tested = 0;
    for (size_t i = 0; code == 0 && i < n; i++) {
        if (isnan(p[i])) continue;
        where[n_tested] = i;
        tested[n_tested++] = p[i];
    }
    if (code == 0) gsl_sort_index(order, tested, 1, n_tested);
    double largest = 0;
    for (size_t rank = 0; code == 0 && rank < n_tested; rank++) {
        largest = fmax(largest, (double)(n_tested - rank) * tested[order[rank]]);
        p[where[order[rank]]] = fmin(1, largest);
    }
    mem_free(tested);
    mem_free(where);
    mem_free(order);
    return code;
}

double stats_lag1(const double *values, size_t n)
{
    if (n < 2) return (double)NAN;
    const double mean = moments_of(values, n).mean;
    double products = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
        if (i > 0) products += (values[i] - mean) * (values[i - 1] - mean);
    }
    return squares > 0 ? products / squares : 0;
}

/* By blocks of equal length; the remainder counts by its length. */
static double worth_in_blocks(const double *values, size_t n, size_t most_blocks)
{
    enum { MOST = 400 };
    double means[MOST] = {0};
    const size_t each = n > most_blocks ? n / most_blocks : 1;
    const size_t n_blocks = n > most_blocks ? most_blocks : n;
    for (size_t i = 0; i < n_blocks * each; i++) means[i / each] += values[i] / (double)each;
    const double of_values = moments_of(values, n).variance, of_means = moments_of(means, n_blocks).variance;
    const double lag1 = fmax(0, stats_lag1(means, n_blocks));
    if (!(of_means > 0)) return (double)n;
    const double independent = (double)n_blocks * of_values / of_means * (1 - lag1) / (1 + lag1);
    return independent * (double)n / (double)(n_blocks * each);
}

double stats_effective_n(const double *values, size_t n)
{
    if (n < 2) return 0;
    return fmin((double)n, fmin(worth_in_blocks(values, n, 400), worth_in_blocks(values, n, 100)));
}

double stats_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0) return (double)NAN;
    const double rank = q * (double)(n - 1);
    const size_t below = (size_t)rank;
    if (below + 1 >= n) return sorted[n - 1];
    return sorted[below] + (rank - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* --- Steady state --- */

enum { GROUP = 5 }; /* the 5 of MSER-5 */

size_t stats_mser5_limit(size_t n)
{
    return n / GROUP / 2 * GROUP;
}

static double group_mean(const double *values, size_t group)
{
    double sum = 0;
    for (size_t i = 0; i < GROUP; i++) sum += values[group * GROUP + i];
    return sum / GROUP;
}

/* The cut d minimizes sum((y_i - mean)^2) / (k - d)^2 over the means y_d ... y_k-1 of five values each, summed up
 * from the end (Welford 1962); of equals the shortest cut. */
size_t stats_mser5(const double *values, size_t n)
{
    const size_t n_groups = n / GROUP;
    size_t best = 0;
    double least = HUGE_VAL, mean = 0, squares = 0;
    for (size_t d = n_groups; d-- > 0;) {
        const double count = (double)(n_groups - d), value = group_mean(values, d), off = value - mean;
        mean += off / count;
        squares += off * (value - mean);
        if (d > n_groups / 2 || squares / (count * count) > least) continue;
        least = squares / (count * count);
        best = d;
    }
    return best * GROUP;
}

int stats_batch_means(const double *values, size_t n, size_t batches, double level, struct interval *interval,
                      double *p, double *lag1)
{
    const size_t each = batches > 0 ? n / batches : 0;
    *interval = (struct interval){(double)NAN, (double)NAN, (double)NAN};
    if (p != NULL) *p = (double)NAN;
    if (lag1 != NULL) *lag1 = (double)NAN;
    if (each < 2 || batches < 2) return 0;
    double *means = mem_zalloc(batches, sizeof *means);
    if (means == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < batches * each; i++) means[i / each] += values[i] / (double)each;
    *interval = stats_mean_interval(means, batches, level);
    if (p != NULL) *p = stats_paired_t_p(means, batches);
    if (lag1 != NULL) *lag1 = stats_lag1(means, batches);
    mem_free(means);
    return 0;
}

/* The q-quantile of n values, by way of `scratch`, which has room for them. */
static double quantile_of(const double *values, size_t n, double q, double *scratch)
{
    memcpy(scratch, values, n * sizeof *scratch);
    return stats_select_quantile(scratch, n, q);
}

static double quantile_difference(const double *base, const double *changed, size_t n, double q, double *scratch)
{
    return quantile_of(changed, n, q, scratch) - quantile_of(base, n, q, scratch);
}

int stats_batch_quantile_difference(const double *base, const double *changed, size_t n, size_t batches, double q,
                                    double level, struct interval *interval, double *p)
{
    enum { BEYOND = 5 };
    const size_t each = batches > 0 ? n / batches : 0;
    *interval = (struct interval){(double)NAN, (double)NAN, (double)NAN};
    *p = (double)NAN;
    if (batches < 2 || (double)each * fmin(q, 1 - q) < BEYOND - 1e-9) return 0;
    double *scratch = mem_alloc(n * sizeof *scratch), squares = 0;
    if (scratch == NULL) return SIM_E_NOMEM;
    const double whole = quantile_difference(base, changed, batches * each, q, scratch);
    for (size_t i = 0; i < batches; i++)
        squares += pow(quantile_difference(base + i * each, changed + i * each, each, q, scratch) - whole, 2);
    mem_free(scratch);
    const double degrees = (double)(batches - 1), error = sqrt(squares / (double)batches / degrees);
    const double reach = error * gsl_cdf_tdist_Pinv(0.5 + level / 2, degrees);
    *interval = (struct interval){whole, whole - reach, whole + reach};
    *p = error > 0 ? 2 * gsl_cdf_tdist_Q(fabs(whole) / error, degrees) : whole == 0 ? 1 : 0;
    return 0;
}
