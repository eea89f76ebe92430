/* Order statistics without sorting everything. */
#include "analysis/stats/stats.h"

#include <math.h>

static void swap(double *a, double *b)
{
    const double value = *a;
    *a = *b;
    *b = value;
}

/* The middle one of the first, the middle and the last value: sorted input takes no longer than any other. */
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
