/* Whether the change of a metric exceeds the error of the cost models, of runs that have intervals of it.
 *
 * Runs of one system (LLM, GPU, engine) have one error in common: both are fast, or both are slow. So the change is
 * taken at equal ends. Else each run may be anywhere in its interval, and so may energy and power, whose error is that
 * of a GPU. Of several pairs of runs the change is that of their sums; without pairs, of each run with each. */
#include "analysis/compare/work.h"
#include "analysis/intervals.h"
#include "sim/core/text.h"

#include <math.h>
#include <string.h>

struct errors {
    struct run_intervals *base, *changed; /* [n_base], [n_changed] */
    size_t n_base, n_changed;
    bool has_pairs;
    bool is_common; /* all runs are of one system, or both of each pair */
};

static bool has_one_system(const struct run_intervals *base, const struct run_intervals *changed)
{
    return strcmp(base->systems, changed->systems) == 0;
}

/* The values of a metric, in its unit, at which its change is the least [0] and the largest [1] that the errors allow.
 * Of several pairs of runs they are sums. */
struct extremes {
    double base[2], changed[2];
};

static void add_extreme(struct extremes *extremes, int end, double base, double changed)
{
    extremes->base[end] += base;
    extremes->changed[end] += changed;
}

/* Adds those of one run against another. Returns whether they are known. */
static bool add_extremes(const struct run_intervals *of_base, const struct run_intervals *of_changed,
                         const char *metric, struct extremes *extremes)
{
    const struct metric_interval *base = intervals_of(of_base, metric), *changed = intervals_of(of_changed, metric);
    const bool is_power = strncmp(metric, "energy.", 7) == 0 || strncmp(metric, "power.", 6) == 0;
    if (base == NULL || changed == NULL) return false;
    if (has_one_system(of_base, of_changed) && !is_power) {
        const int fast = changed->fast - base->fast <= changed->slow - base->slow ? 0 : 1;
        add_extreme(extremes, fast, base->fast, changed->fast);
        add_extreme(extremes, 1 - fast, base->slow, changed->slow);
    } else {
        add_extreme(extremes, 0, base->high, changed->low);
        add_extreme(extremes, 1, base->low, changed->high);
    }
    return true;
}

/* Whether run i of the base counts with run k of the others. */
static bool counts(const struct errors *errors, size_t i, size_t k)
{
    return !errors->has_pairs || i == k;
}

static bool find_extremes(const struct errors *errors, const char *metric, struct extremes *extremes)
{
    *extremes = (struct extremes){0};
    for (size_t i = 0; i < errors->n_base; i++)
        for (size_t k = 0; k < errors->n_changed; k++)
            if (counts(errors, i, k) && !add_extremes(&errors->base[i], &errors->changed[k], metric, extremes))
                return false;
    return true;
}

/* Reads the intervals of some runs. `has_all` becomes false if one has none. */
static int read_all(struct compare_work *work, const struct compare_run *const *runs, size_t n,
                    struct run_intervals **intervals, bool *has_all)
{
    int code = 0;
    *intervals = arena_alloc(work->arena, (n + 1) * sizeof **intervals);
    if (*intervals == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n && code == 0 && *has_all; i++) {
        code = intervals_read(runs[i]->database, runs[i]->id, work->arena, &(*intervals)[i], work->diag);
        *has_all = (*intervals)[i].basis != NULL;
    }
    return code;
}

static int read_errors(struct compare_work *work, struct errors *errors, bool *has_all)
{
    const struct compared_runs *runs = &work->runs;
    *errors = (struct errors){
        .n_base = runs->n_base, .n_changed = runs->n_changed, .has_pairs = runs->has_pairs, .is_common = true};
    *has_all = runs->n_base > 0 && runs->n_changed > 0;
    int code = read_all(work, runs->base, runs->n_base, &errors->base, has_all);
    if (code == 0) code = read_all(work, runs->changed, runs->n_changed, &errors->changed, has_all);
    if (code != 0 || !*has_all) return code;
    for (size_t i = 0; i < errors->n_base; i++)
        for (size_t k = 0; k < errors->n_changed; k++)
            if (counts(errors, i, k)) errors->is_common &= has_one_system(&errors->base[i], &errors->changed[k]);
    return 0;
}

/* Whether the comparison says that the metric moved. */
static bool has_moved(const struct compare_row *row)
{
    return row->point == NULL && row->is_primary && !(row->delta.low == 0.0 && row->delta.high == 0.0);
}

enum { MOST_NAMED = 2 };

/* The change without errors lies within the range that is printed. Changes are relative to the base at their own
 * end. */
static void add_metric(const struct compare_row *row, const struct extremes *extremes, size_t n_before,
                       struct text *text)
{
    if (n_before >= MOST_NAMED) return;
    text_printf(text, "%s%s", n_before > 0 ? ", " : "", row->metric);
    if (row->base > 0.0 && extremes->base[0] > 0.0 && extremes->base[1] > 0.0) {
        const double ratio = row->changed / row->base;
        const double low = fmin(extremes->changed[0] / extremes->base[0], ratio);
        const double high = fmax(extremes->changed[1] / extremes->base[1], ratio);
        if (stats_is_multiple(row->base, row->changed))
            text_printf(text, " (%.3g .. %.3gx)", low, high);
        else
            text_printf(text, " (%+.3g .. %+.3g %%)", 100.0 * (low - 1.0), 100.0 * (high - 1.0));
    } else {
        text_printf(text, " (from %.3g to %.3g)", row->base, row->changed);
    }
}

/* Whether no change at all lies between the least and the largest change. */
static bool may_be_none(const struct compare_row *row, const struct extremes *extremes)
{
    const double delta = row->changed - row->base;
    return fmin(extremes->changed[0] - extremes->base[0], delta) <= 0.0 &&
           fmax(extremes->changed[1] - extremes->base[1], delta) >= 0.0;
}

int work_remark_model_error(struct compare_work *work)
{
    struct errors errors;
    struct text within, beyond;
    size_t n_within = 0, n_beyond = 0;
    bool has_all;
    int code = read_errors(work, &errors, &has_all);
    if (code != 0 || !has_all) return code;
    text_init(&within);
    text_init(&beyond);
    for (size_t i = 0; i < work->comparison->n_rows; i++) {
        const struct compare_row *row = &work->comparison->rows[i];
        struct extremes extremes;
        if (!has_moved(row) || !find_extremes(&errors, row->metric, &extremes)) continue;
        if (may_be_none(row, &extremes))
            add_metric(row, &extremes, n_within++, &within);
        else
            add_metric(row, &extremes, n_beyond++, &beyond);
    }
    if (n_within > MOST_NAMED) text_printf(&within, " and %zu more", n_within - MOST_NAMED);
    if (n_beyond > MOST_NAMED) text_printf(&beyond, " and %zu more", n_beyond - MOST_NAMED);
    const char *common = errors.is_common ? "one for both runs" : "one for each run";
    if (within.failed || beyond.failed) code = SIM_E_NOMEM;
    if (code == 0 && n_within > 0)
        code = work_remark(work, "within the error of the cost models (%s), maybe none on hardware: %s", common,
                           within.chars);
    if (code == 0 && n_beyond > 0)
        code = work_remark(work, "beyond the error of the cost models (%s): %s", common, beyond.chars);
    text_fini(&within);
    text_fini(&beyond);
    return code;
}
