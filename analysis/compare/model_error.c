/* Whether the change of a metric exceeds the error of the cost models, of runs that have intervals of it.
 *
 * Runs of one system (LLM, GPU, engine) have one error in common: all are fast, or all are slow. So the change is
 * taken at equal ends. Else each run may be anywhere in its interval. So may energy and power in all cases, as the
 * error of the power model depends on the work. Of groups of runs the change is that of their means. */
#include "analysis/compare/work.h"
#include "analysis/intervals.h"
#include "sim/core/text.h"

#include <math.h>
#include <string.h>

struct errors {
    struct run_intervals *base, *changed; /* [n_base], [n_changed] */
    size_t n_base, n_changed, n_without;  /* runs without intervals */
    bool is_common;                       /* all runs are of one system */
};

/* The means of a metric, in its unit, at two ends: all runs fast, and all slow; or the base high and the others low,
 * and the other way about. */
struct ends {
    double base[2], changed[2];
};

/* The mean over some runs, at the fast and the slow end, or at the low and the high end. Returns whether it is
 * known. */
static bool find_means(const struct run_intervals *runs, size_t n, const char *metric, bool by_speed, double means[2])
{
    means[0] = means[1] = 0.0;
    for (size_t i = 0; i < n; i++) {
        const struct metric_interval *interval = intervals_of(&runs[i], metric);
        if (interval == NULL) return false;
        means[0] += (by_speed ? interval->fast : interval->low) / (double)n;
        means[1] += (by_speed ? interval->slow : interval->high) / (double)n;
    }
    return true;
}

static bool is_of_power(const char *metric)
{
    return strncmp(metric, "energy.", 7) == 0 || strncmp(metric, "power.", 6) == 0;
}

static bool find_ends(const struct errors *errors, const char *metric, struct ends *ends)
{
    const bool by_speed = errors->is_common && !is_of_power(metric);
    double base[2];
    if (!find_means(errors->base, errors->n_base, metric, by_speed, base) ||
        !find_means(errors->changed, errors->n_changed, metric, by_speed, ends->changed))
        return false;
    ends->base[0] = base[by_speed ? 0 : 1];
    ends->base[1] = base[by_speed ? 1 : 0];
    return true;
}

/* Reads the intervals of some runs. */
static int read_all(struct compare_work *work, const struct compare_run *const *runs, size_t n, struct errors *errors,
                    struct run_intervals **intervals)
{
    int code = 0;
    *intervals = arena_alloc(work->arena, (n + 1) * sizeof **intervals);
    if (*intervals == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n && code == 0; i++) {
        code = intervals_read(runs[i]->database, runs[i]->id, work->arena, &(*intervals)[i], work->diag);
        errors->n_without += (*intervals)[i].basis == NULL;
    }
    return code;
}

static bool have_one_system(const struct run_intervals *runs, size_t n, const struct run_intervals *first)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(runs[i].systems, first->systems) != 0) return false;
    return true;
}

static int read_errors(struct compare_work *work, struct errors *errors)
{
    const struct compared_runs *runs = &work->runs;
    *errors = (struct errors){.n_base = runs->n_base, .n_changed = runs->n_changed};
    int code = read_all(work, runs->base, runs->n_base, errors, &errors->base);
    if (code == 0) code = read_all(work, runs->changed, runs->n_changed, errors, &errors->changed);
    if (code != 0 || errors->n_without > 0 || runs->n_base == 0) return code;
    errors->is_common = have_one_system(errors->base, errors->n_base, errors->base) &&
                        have_one_system(errors->changed, errors->n_changed, errors->base);
    return 0;
}

/* Whether the comparison says that the metric moved. */
static bool has_moved(const struct compare_row *row)
{
    return row->point == NULL && row->is_primary && !(row->delta.low == 0.0 && row->delta.high == 0.0);
}

enum { MOST_NAMED = 2 };

/* Metrics that moved, in words. */
struct moved {
    struct text text;
    size_t n, n_of_power;
};

/* The least and the largest of the change at both ends and of that without errors. */
static void find_range(const double at_ends[2], double without_errors, double range[2])
{
    range[0] = fmin(fmin(at_ends[0], at_ends[1]), without_errors);
    range[1] = fmax(fmax(at_ends[0], at_ends[1]), without_errors);
}

static void find_differences(const struct compare_row *row, const struct ends *ends, double range[2])
{
    const double at_ends[2] = {ends->changed[0] - ends->base[0], ends->changed[1] - ends->base[1]};
    find_range(at_ends, row->changed - row->base, range);
}

/* Changes are relative to the base at their own end. */
static void add_metric(const struct compare_row *row, const struct ends *ends, struct moved *moved)
{
    double range[2];
    struct text *text = &moved->text;
    moved->n_of_power += is_of_power(row->metric);
    if (moved->n++ >= MOST_NAMED) return;
    text_printf(text, "%s%s", moved->n > 1 ? ", " : "", row->metric);
    if (!(row->base > 0.0 && ends->base[0] > 0.0 && ends->base[1] > 0.0)) {
        find_differences(row, ends, range);
        text_printf(text, " (%+.3g .. %+.3g)", range[0], range[1]);
        return;
    }
    const double at_ends[2] = {ends->changed[0] / ends->base[0], ends->changed[1] / ends->base[1]};
    find_range(at_ends, row->changed / row->base, range);
    if (stats_is_multiple(row->base, row->changed))
        text_printf(text, " (%.3g .. %.3gx)", range[0], range[1]);
    else
        text_printf(text, " (%+.3g .. %+.3g %%)", 100.0 * (range[0] - 1.0), 100.0 * (range[1] - 1.0));
}

static bool may_be_none(const struct compare_row *row, const struct ends *ends)
{
    double range[2];
    find_differences(row, ends, range);
    return range[0] <= 0.0 && range[1] >= 0.0;
}

/* Which runs have an error in common; power has none. */
static const char *in_common(const struct errors *errors, const struct moved *moved)
{
    const bool is_pair = errors->n_base + errors->n_changed == 2;
    if (!errors->is_common || moved->n_of_power == moved->n) return "one for each run";
    if (moved->n_of_power == 0) return is_pair ? "one for both runs" : "one for all runs";
    return is_pair ? "one for both runs, power apart" : "one for all runs, power apart";
}

static int remark(struct compare_work *work, const struct errors *errors, struct moved *moved, const char *where,
                  const char *says)
{
    if (moved->n > MOST_NAMED) text_printf(&moved->text, " and %zu more", moved->n - MOST_NAMED);
    int code = moved->text.failed ? SIM_E_NOMEM : 0;
    if (code == 0 && moved->n > 0)
        code = work_remark(work, "%s the error of the cost models (%s)%s: %s", where, in_common(errors, moved), says,
                           moved->text.chars);
    return code;
}

/* Which runs of a study have intervals, where several seeds of one are compared. */
static const char *without_why(const struct compare_work *work)
{
    const struct compared_runs *runs = &work->runs;
    return runs->n_base + runs->n_changed > 2
               ? "; in a study with \"intervals\" only the first seed of each point has one: compare DB:RUN DB:RUN of "
                 "that seed"
               : "";
}

int work_remark_model_error(struct compare_work *work)
{
    struct errors errors;
    struct moved within = {.n = 0}, beyond = {.n = 0};
    int code = read_errors(work, &errors);
    const size_t n_runs = errors.n_base + errors.n_changed;
    if (code == 0 && errors.n_without > 0 && errors.n_without < n_runs)
        code = work_remark(work,
                           "%zu of %zu runs have no interval, so changes are not held against the models' error%s",
                           errors.n_without, n_runs, without_why(work));
    if (code != 0 || errors.n_without > 0 || errors.n_base == 0) return code;
    text_init(&within.text);
    text_init(&beyond.text);
    for (size_t i = 0; i < work->comparison->n_rows; i++) {
        const struct compare_row *row = &work->comparison->rows[i];
        struct ends ends;
        if (!has_moved(row) || !find_ends(&errors, row->metric, &ends)) continue;
        add_metric(row, &ends, may_be_none(row, &ends) ? &within : &beyond);
    }
    code = remark(work, &errors, &within, "within", ", maybe none on hardware");
    if (code == 0) code = remark(work, &errors, &beyond, "beyond", "");
    text_fini(&within.text);
    text_fini(&beyond.text);
    return code;
}
