#include "analysis/stats/stats.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>

struct moments {
    double mean, variance; /* of one value, unbiased */
};

/* Two passes: the second one also takes back what rounding left of the mean. */
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

/* That a mean of this standard error is zero. */
static double two_sided_p(double mean, double error, double degrees)
{
    if (error > 0) return 2 * gsl_cdf_tdist_Q(fabs(mean) / error, degrees);
    return mean == 0 ? 1 : 0;
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

/* By blocks of equal length; what is left over at the end counts by its length. */
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
