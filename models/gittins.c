#include "models/gittins.h"

#include <math.h>

void gittins_sum(const double *sizes, size_t n, double *sums)
{
    sums[0] = 0;
    for (size_t i = 0; i < n; i++) sums[i + 1] = sums[i] + sizes[i];
}

size_t gittins_ended(const struct gittins *gittins, double attained)
{
    size_t low = 0, high = gittins->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gittins->sizes[middle] <= attained)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double gittins_index(const struct gittins *gittins, double attained, double quantum)
{
    const size_t n = gittins->n, from = gittins_ended(gittins, attained),
                 to = gittins_ended(gittins, attained + quantum);
    if (to == from) return 0;
    const double ending = gittins->sums[to] - gittins->sums[from] - (double)(to - from) * attained;
    const double going_on = to < n ? (double)(n - to) * quantum : 0;
    return (double)(to - from) / (fmax(ending, 0) + going_on);
}

/* Total service until the first i jobs have ended: each its size, or the size of the i-th. */
static double service_until(const struct gittins *gittins, size_t i)
{
    return i == 0 ? 0 : gittins->sums[i] + (double)(gittins->n - i) * gittins->sizes[i - 1];
}

/* Between equal sizes lies no service: there the index is INFINITY, or as high as the rounding of sums makes it. */
static double index_between(const struct gittins *gittins, size_t from, size_t to)
{
    return (double)(to - from) / fmax(service_until(gittins, to) - service_until(gittins, from), 0);
}

void gittins_best(const struct gittins *gittins, struct gittins_quantum *best)
{
    best[gittins->n] = (struct gittins_quantum){.index = 0, .end = gittins->n};
    for (size_t i = gittins->n; i-- > 0;) {
        size_t end = i + 1;
        double index = index_between(gittins, i, end);
        while (best[end].index > index) {
            end = best[end].end;
            index = index_between(gittins, i, end);
        }
        best[i] = (struct gittins_quantum){.index = index, .end = end};
    }
}

static double round_to(double value, double unit)
{
    return round(value * unit) / unit;
}

double gittins_index_released(const struct gittins *gittins, double attained, double quantum)
{
    const size_t n = gittins->n, from = gittins_ended(gittins, attained);
    if (from == n) return 0;
    const double left = (double)(n - from), next = gittins->sizes[from] - 1 + quantum;
    const size_t to = next > gittins->sizes[n - 1] - 1 ? n - 1 : gittins_ended(gittins, next);
    if (to <= from) return 0;
    const double chance = round_to((double)(to - from) / left, 1e5);
    const double service = floor((gittins->sums[to] - gittins->sums[from] + quantum * (double)(n - to)) / left);
    return service > 0 ? round_to(chance * 1e6 / service, 1e4) : 0;
}
