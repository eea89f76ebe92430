/* The steady state of one long series: where its warm-up ends, and how sure its mean is although neighbours resemble each
 * other. */
#include "analysis/stats/stats.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

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

/* The cut d minimizes sum((y_i - mean)^2) / (k - d)^2 over the means y_d ... y_k-1 of five values each, summed up from the
 * end (Welford 1962); of equals the shortest cut. */
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
