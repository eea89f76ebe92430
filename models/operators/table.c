#include "models/operators/table.h"

#include <stdlib.h>

static int compare_points(const void *left, const void *right)
{
    const struct table_point *a = left, *b = right;
    if (a->tokens != b->tokens) return a->tokens < b->tokens ? -1 : 1;
    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

size_t table_reduce(struct table_point *points, size_t n)
{
    qsort(points, n, sizeof *points, compare_points);
    size_t kept = 0;
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first; next < n && points[next].tokens == points[first].tokens; next++) {
        }
        const size_t middle = first + (next - first) / 2;
        const bool odd = (next - first) % 2 == 1;
        const double median_s = odd ? points[middle].seconds
                                    : 0.5 * (points[middle - 1].seconds + points[middle].seconds);
        points[kept++] = (struct table_point){points[first].tokens, median_s};
    }
    return kept;
}

/* Index of the left end of the segment that holds `tokens`, or of the outer segment next to it. */
static size_t find_segment(const struct table_curve *curve, double tokens)
{
    size_t low = 0, high = curve->n - 1;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (curve->points[middle].tokens <= tokens)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double table_curve_s(const struct table_curve *curve, double tokens, bool *extrapolated)
{
    *extrapolated = tokens < curve->points[0].tokens || tokens > curve->points[curve->n - 1].tokens;
    if (curve->n == 1) return curve->points[0].seconds;
    const struct table_point *left = &curve->points[find_segment(curve, tokens)], *right = left + 1;
    const double slope = (right->seconds - left->seconds) / (right->tokens - left->tokens);
    const double seconds = left->seconds + slope * (tokens - left->tokens);
    return seconds > 0.0 ? seconds : 0.0;
}

void table_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct table *table = model;
    const double tokens = (double)(work->prefill_tokens + work->decode_sequences);
    const bool prompts = work->prefill_sequences > 0;
    *cost = (struct iteration_cost){.until = prompts ? 1 : INT64_MAX};
    bool extrapolated;
    cost->first_s = table_curve_s(prompts ? &table->prefill : &table->decode, tokens, &extrapolated);
    cost->extrapolated_frac = extrapolated ? 1.0 : 0.0;
    if (prompts && work->decode_sequences > 0) cost->first_s *= table->mixed_factor;
}
