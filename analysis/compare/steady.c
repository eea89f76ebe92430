#include "analysis/compare/steady.h"

#include <math.h>
#include <string.h>

enum { BATCHES = 20, ENOUGH = 150, ENOUGH_BEYOND = 25 };

struct series steady_part(const struct series *all)
{
    const size_t base = stats_mser5(all->base, all->n), changed = stats_mser5(all->changed, all->n);
    const size_t cut = base > changed ? base : changed;
    if (cut > 0 && cut >= stats_mser5_limit(all->n)) return (struct series){.scratch = all->scratch};
    const size_t n = (all->n - cut) / BATCHES * BATCHES;
    return (struct series){n, all->base + cut, all->changed + cut, all->delta + cut, all->scratch};
}

/* The number of independent values that a series is worth; 0 if even its batch means correlate. */
static int count_independent(const double *values, size_t n, double *independent)
{
    struct interval interval;
    double lag1;
    *independent = stats_effective_n(values, n);
    const int code = stats_batch_means(values, n, BATCHES, 0.95, &interval, NULL, &lag1);
    if (lag1 > 2 / sqrt(BATCHES)) *independent = 0;
    return code;
}

/* As above, for the indicator of a value being beyond the quantile. */
static int count_independent_beyond(const struct series *steady, const double *values, double q, double *independent)
{
    memcpy(steady->scratch, values, steady->n * sizeof *values);
    const double quantile = stats_select_quantile(steady->scratch, steady->n, q);
    for (size_t i = 0; i < steady->n; i++) steady->scratch[i] = values[i] > quantile;
    return count_independent(steady->scratch, steady->n, independent);
}

/* Refuses runs that are short against their correlation time: their intervals would be too narrow. */
static int check_length(const struct series *steady, double q, struct arena *arena, struct compare_row *row)
{
    double needed = ENOUGH, worth = 0, other = HUGE_VAL;
    int code;
    if (isnan(q)) {
        code = count_independent(steady->delta, steady->n, &worth);
    } else {
        needed = fmax(ENOUGH, ENOUGH_BEYOND / fmin(q, 1 - q));
        code = count_independent_beyond(steady, steady->base, q, &worth);
        if (code == 0) code = count_independent_beyond(steady, steady->changed, q, &other);
        worth = fmin(worth, other);
    }
    if (code != 0 || worth >= needed * (1 - 1e-9)) return code;
    row->note = worth > 0
                    ? arena_printf(arena, "the run is too short for its correlation (worth %.0f values, not %.0f)",
                                   floor(worth), needed)
                    : "the run is too short for its correlation";
    return row->note != NULL ? 0 : SIM_E_NOMEM;
}

int steady_estimate(const struct compare_options *options, const struct series *steady, double q, struct arena *arena,
                    struct compare_row *row)
{
    row->method = COMPARE_BATCH_MEANS;
    row->n = BATCHES;
    if (steady->n == 0) {
        row->note = "no steady state: the warm-up does not end";
        return 0;
    }
    int code = check_length(steady, q, arena, row);
    if (code != 0 || row->note != NULL) return code;
    if (isnan(q)) {
        code = stats_batch_means(steady->delta, steady->n, BATCHES, options->level, &row->delta, &row->p, NULL);
    } else {
        code = stats_batch_quantile_difference(steady->base, steady->changed, steady->n, BATCHES, q, options->level,
                                               &row->delta, &row->p);
        if (isnan(row->delta.low)) row->note = "too few pairs beyond this percentile";
    }
    return code;
}
