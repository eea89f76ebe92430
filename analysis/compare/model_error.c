/* Whether the change of a metric exceeds the error of the cost models, of two runs that have intervals of it.
 *
 * Runs of one system (LLM, GPU, engine) have one error in common: both are fast, or both are slow. So the change is
 * taken at equal ends. Else each run may be anywhere in its interval, and so may energy and power, whose error is that
 * of a GPU. */
#include "analysis/compare/work.h"
#include "analysis/intervals.h"
#include "sim/core/text.h"

#include <math.h>
#include <string.h>

struct errors {
    struct run_intervals base, changed;
    bool is_common; /* one system */
};

/* The least and the largest change that the errors allow, in the unit of the metric. Returns whether they are known. */
static bool find_change(const struct errors *errors, const char *metric, double change[2])
{
    const struct metric_interval *base = intervals_of(&errors->base, metric);
    const struct metric_interval *changed = intervals_of(&errors->changed, metric);
    const bool is_power = strncmp(metric, "energy.", 7) == 0 || strncmp(metric, "power.", 6) == 0;
    if (base == NULL || changed == NULL) return false;
    if (errors->is_common && !is_power) {
        const double fast = changed->fast - base->fast, slow = changed->slow - base->slow;
        change[0] = fmin(fast, slow);
        change[1] = fmax(fast, slow);
    } else {
        change[0] = changed->low - base->high;
        change[1] = changed->high - base->low;
    }
    return true;
}

/* Whether the comparison says that the metric moved. */
static bool has_moved(const struct compare_row *row)
{
    return row->point == NULL && row->is_primary && !(row->delta.low == 0.0 && row->delta.high == 0.0);
}

enum { MOST_NAMED = 2 };

static void add_metric(const struct compare_row *row, const double change[2], size_t n_before, struct text *text)
{
    const double delta = row->changed - row->base;
    const double low = fmin(change[0], delta), high = fmax(change[1], delta);
    if (n_before >= MOST_NAMED) return;
    text_printf(text, "%s%s", n_before > 0 ? ", " : "", row->metric);
    if (stats_is_multiple(row->base, row->changed))
        text_printf(text, " (%.3g .. %.3gx)", 1.0 + low / row->base, 1.0 + high / row->base);
    else if (row->base > 0.0)
        text_printf(text, " (%+.3g .. %+.3g %%)", 100.0 * low / row->base, 100.0 * high / row->base);
    else
        text_printf(text, " (%+.3g .. %+.3g)", low, high);
}

int work_remark_model_error(struct compare_work *work, const struct compare_run *base,
                            const struct compare_run *changed)
{
    struct errors errors;
    struct text within, beyond;
    size_t n_within = 0, n_beyond = 0;
    int code = intervals_read(base->database, base->id, work->arena, &errors.base, work->diag);
    if (code == 0) code = intervals_read(changed->database, changed->id, work->arena, &errors.changed, work->diag);
    if (code != 0 || errors.base.basis == NULL || errors.changed.basis == NULL) return code;
    errors.is_common = strcmp(errors.base.systems, errors.changed.systems) == 0;
    text_init(&within);
    text_init(&beyond);
    for (size_t i = 0; i < work->comparison->n_rows; i++) {
        const struct compare_row *row = &work->comparison->rows[i];
        double change[2];
        if (!has_moved(row) || !find_change(&errors, row->metric, change)) continue;
        const double delta = row->changed - row->base;
        if (fmin(change[0], delta) <= 0.0 && fmax(change[1], delta) >= 0.0)
            add_metric(row, change, n_within++, &within);
        else
            add_metric(row, change, n_beyond++, &beyond);
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
