#include "analysis/report/curve.h"

#include "sim/core/err.h"

#include <math.h>
#include <stdbool.h>

static const double share_step = 1.0 / 250.0, tail_factor = 0.75;

static int reserve(struct curve *curve, size_t n, struct arena *arena)
{
    curve->n = 0;
    curve->x = arena_alloc(arena, (n + 1) * sizeof *curve->x);
    curve->y = arena_alloc(arena, (n + 1) * sizeof *curve->y);
    return curve->x != NULL && curve->y != NULL ? 0 : SIM_E_NOMEM;
}

static void add(struct curve *curve, double x, double y)
{
    curve->x[curve->n] = x;
    curve->y[curve->n++] = y;
}

/* Whether a share is far enough from the one that was kept before it. */
static bool is_apart(double y, double before)
{
    return y - before >= share_step || 1.0 - y <= tail_factor * (1.0 - before);
}

int curve_thin_shares(const double *x, const double *y, size_t n, struct arena *arena, struct curve *curve)
{
    double before = 0.0;
    size_t kept = 0;
    for (size_t pass = 0; pass < 2; pass++) { /* counts, then copies */
        if (pass == 1 && reserve(curve, kept, arena) != 0) return SIM_E_NOMEM;
        before = 0.0;
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && i + 1 < n && !is_apart(y[i], before)) continue;
            if (pass == 0)
                kept++;
            else
                add(curve, x[i], y[i]);
            before = y[i];
        }
    }
    return 0;
}

struct histogram_walk {
    struct curve *curve;
    double n_total;
    uint64_t n_below;
};

static void count_bucket(void *context, double lower, double upper, uint64_t count)
{
    (void)lower, (void)upper, (void)count;
    ++*(size_t *)context;
}

static void add_bucket(void *context, double lower, double upper, uint64_t count)
{
    struct histogram_walk *walk = context;
    walk->n_below += count;
    add(walk->curve, lower > 0.0 ? upper : 0.0, (double)walk->n_below / walk->n_total);
}

int curve_of_histogram(const struct histogram *histogram, struct arena *arena, struct curve *curve)
{
    struct curve all = {0};
    size_t n = 0;
    struct histogram_walk walk = {.curve = &all, .n_total = (double)histogram->count};
    histogram_each(histogram, count_bucket, &n);
    if (reserve(&all, n, arena) != 0) return SIM_E_NOMEM;
    histogram_each(histogram, add_bucket, &walk);
    return curve_thin_shares(all.x, all.y, all.n, arena, curve);
}

/* Adds points i and k, which may be the same, in their order. */
static void add_pair(struct curve *curve, const double *x, const double *y, size_t i, size_t k)
{
    const size_t first = i < k ? i : k, second = i < k ? k : i;
    if (curve->n == 0 || first != 0) add(curve, x[first], y[first]);
    if (second != first) add(curve, x[second], y[second]);
}

int curve_thin_extremes(const double *x, const double *y, size_t n, size_t most, struct arena *arena,
                        struct curve *curve)
{
    const size_t n_parts = most / 2 > 0 ? most / 2 : 1;
    if (reserve(curve, n < most ? n : 2 * n_parts + 2, arena) != 0) return SIM_E_NOMEM;
    if (n <= most) {
        for (size_t i = 0; i < n; i++) add(curve, x[i], y[i]);
        return 0;
    }
    const double width = (x[n - 1] - x[0]) / (double)n_parts;
    add(curve, x[0], y[0]);
    size_t i = 1;
    for (size_t part = 0; part < n_parts && i + 1 < n; part++) {
        const double end = x[0] + width * (double)(part + 1);
        size_t low = i, high = i, from = i;
        for (; i + 1 < n && (x[i] < end || part + 1 == n_parts); i++) {
            if (y[i] < y[low]) low = i;
            if (y[i] > y[high]) high = i;
        }
        if (i > from) add_pair(curve, x, y, low, high);
    }
    add(curve, x[n - 1], y[n - 1]);
    return 0;
}

void curve_bin_means(const double *x, const double *y, size_t n, double start, double end, size_t n_bins, double *means)
{
    const double width = (end - start) / (double)n_bins;
    size_t i = 0; /* the point that holds at the time that has been reached */
    for (size_t bin = 0; bin < n_bins; bin++) {
        const double from = start + width * (double)bin, to = start + width * (double)(bin + 1);
        double sum = 0.0, held = 0.0;
        for (double t = from; n > 0 && t < to;) {
            while (i + 1 < n && x[i + 1] <= t) i++;
            const double next = x[i] > t ? x[i] : i + 1 < n ? x[i + 1] : to;
            const double until = next < to ? next : to;
            if (x[i] <= t && !isnan(y[i])) {
                sum += y[i] * (until - t);
                held += until - t;
            }
            t = until;
        }
        means[bin] = held > 0.0 ? sum / held : (double)NAN;
    }
}
