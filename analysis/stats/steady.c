/* The steady state of one long series: where its warm-up ends, and how sure its mean is although neighbours resemble each
 * other. */
#include "analysis/stats/stats.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>

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
