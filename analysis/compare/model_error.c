/* Whether the change of a metric exceeds the error of the cost models, of two runs that have intervals of it.
 *
 * Runs whose intervals rest on the same measurements have one error in common: both are fast, or both are slow. So
 * the change is taken at equal ends. Else each run may be anywhere in its interval, and so may energy and power, whose
 * error is that of a GPU. */
#include "analysis/compare/work.h"
#include "analysis/intervals.h"
#include "sim/core/text.h"

#include <math.h>
#include <string.h>

/* Whether the run has an interval of the metric, above 0. */
static bool find_ends(const struct run_intervals *intervals, const char *metric, double found[2])
{
    const struct metric_interval *interval = intervals_of(intervals, metric);
    if (interval == NULL) return false;
    found[0] = interval->low;
    found[1] = interval->high;
    return found[0] > 0.0;
}

/* The least and the largest change, as a share of the base, that the errors allow. */
static bool find_change(const struct run_intervals *base, const struct run_intervals *changed,
                        const struct compare_row *row, double change[2])
{
    double from[2], to[2];
    if (!find_ends(base, row->metric, from) || !find_ends(changed, row->metric, to)) return false;
    const bool is_power = strncmp(row->metric, "energy.", 7) == 0 || strncmp(row->metric, "power.", 6) == 0;
    const bool is_common = !is_power && strcmp(base->basis, changed->basis) == 0;
    const double low = is_common ? to[0] / from[0] : to[0] / from[1],
                 high = is_common ? to[1] / from[1] : to[1] / from[0];
    const double predicted = is_common && row->base > 0.0 ? row->changed / row->base : low;
    change[0] = fmin(fmin(low, high), predicted) - 1.0;
    change[1] = fmax(fmax(low, high), predicted) - 1.0;
    return true;
}

/* Whether the comparison says that the metric moved. */
static bool has_moved(const struct compare_row *row)
{
    return row->point == NULL && row->is_primary && !(row->delta.low == 0.0 && row->delta.high == 0.0);
}

int work_remark_model_error(struct compare_work *work, const struct compare_run *base,
                            const struct compare_run *changed)
{
    struct run_intervals ends[2];
    struct text within;
    size_t n = 0, n_within = 0;
    int code = intervals_read(base->database, base->id, work->arena, &ends[0], work->diag);
    if (code == 0) code = intervals_read(changed->database, changed->id, work->arena, &ends[1], work->diag);
    if (code != 0 || ends[0].basis == NULL || ends[1].basis == NULL) return code;
    text_init(&within);
    for (size_t i = 0; i < work->comparison->n_rows; i++) {
        const struct compare_row *row = &work->comparison->rows[i];
        double change[2];
        if (!has_moved(row) || !find_change(&ends[0], &ends[1], row, change)) continue;
        n++;
        if (change[0] > 0.0 || change[1] < 0.0) continue;
        text_printf(&within, "%s%s (%+.3g .. %+.3g %%)", n_within++ > 0 ? ", " : "", row->metric, 100.0 * change[0],
                    100.0 * change[1]);
    }
    const char *common = strcmp(ends[0].basis, ends[1].basis) == 0 ? "the same error in both runs"
                                                                   : "an error of each run";
    if (within.failed)
        code = SIM_E_NOMEM;
    else if (n_within > 0)
        code = work_remark(work, "inside the error of the cost models (%g %%, %s), so perhaps none on hardware: %s",
                           100.0 * ends[0].share, common, within.chars);
    else if (n > 0)
        code = work_remark(work,
                           "beyond the error of the cost models (%g %%, %s): every change of a metric above that "
                           "has an interval of it",
                           100.0 * ends[0].share, common);
    text_fini(&within);
    return code;
}
