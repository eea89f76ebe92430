/* The recorded trace beside the pairs of runs whose seeds replicate it. Its change answers another question: what
 * would have happened on that one trace. The interval of the pairs is of traces like it. */
#include "analysis/compare/work.h"
#include "sim/core/text.h"

#include <math.h>

int recorded_read(struct compare_work *work, const struct compare_run *const *runs, size_t n_runs)
{
    static const char sql[] = "SELECT name, value FROM metric_recorded WHERE run_id = ?1 ORDER BY name";
    const struct metric_set *set = &work->metrics;
    int code = n_runs > 0 ? replicates_read(runs[0]->database, work->arena, &work->replicates, work->diag) : 0;
    if (code != 0 || !work->replicates.has_recorded) return code;
    work->recorded = arena_alloc(work->arena, (n_runs * set->n + 1) * sizeof *work->recorded);
    if (work->recorded == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n_runs * set->n; i++) work->recorded[i] = (double)NAN;
    for (size_t run = 0; code == 0 && run < n_runs; run++) {
        struct query_answer answer;
        code = query_run(runs[run]->database, sql, &runs[run]->id, 1, "read metrics", work->arena, &answer, work->diag);
        for (size_t row = 0; code == 0 && row < answer.n_rows; row++) {
            const size_t found = metrics_find(set, answer.columns[0].texts[row]);
            if (found < set->n && replicates_compares(&work->replicates, set->names[found]))
                work->recorded[run * set->n + found] = answer.columns[1].numbers[row];
        }
    }
    return code;
}

/* Whether the recorded change lies outside of the row's interval. */
static bool is_outside(const struct compare_row *row)
{
    const bool has_ratio = !isnan(row->ratio_low);
    const struct interval interval = {.low = has_ratio ? (row->ratio_low - 1) * row->recorded_base : row->delta.low,
                                      .high = has_ratio ? (row->ratio_high - 1) * row->recorded_base : row->delta.high};
    return replicates_beyond(&interval, row->recorded_changed - row->recorded_base) > 0;
}

enum { MOST_NAMED = 4 };

static void add_change(const struct compare_row *row, size_t n_before, struct text *text)
{
    char base[32], changed[32];
    if (n_before >= MOST_NAMED) return;
    text_show_number(row->recorded_base, base, sizeof base);
    text_show_number(row->recorded_changed, changed, sizeof changed);
    text_printf(text, "%s%s %s to %s", n_before > 0 ? ", " : "", row->metric, base, changed);
    if (stats_is_multiple(row->recorded_base, row->recorded_changed))
        text_printf(text, " (%.3gx)", row->recorded_changed / row->recorded_base);
    else if (row->recorded_base > 0)
        text_printf(text, " (%+.3g %%)", 100 * (row->recorded_changed / row->recorded_base - 1));
}

int work_remark_recorded(struct compare_work *work)
{
    struct text all;
    char parts[REPLICATES_CHARS];
    const char *outside = NULL;
    size_t n = 0;
    int code = 0;
    text_init(&all);
    for (size_t i = 0; i < work->comparison->n_rows; i++) {
        const struct compare_row *row = &work->comparison->rows[i];
        if (row->point != NULL || !row->is_primary || isnan(row->recorded_changed)) continue;
        if (row->recorded_changed == row->recorded_base) continue;
        add_change(row, n++, &all);
        if (outside == NULL && is_outside(row)) outside = row->metric;
    }
    if (n > MOST_NAMED) text_printf(&all, " and %zu more", n - MOST_NAMED);
    if (all.failed) code = SIM_E_NOMEM;
    replicates_parts(&work->replicates, parts);
    if (code == 0 && n > 0) code = work_remark(work, "the recorded trace itself, one run of each: %s", all.chars);
    if (code == 0 && n > 0)
        code = work_remark(work,
                           "these are two questions: the recorded trace says what that one trace would have done, the "
                           "%s what to expect of traces made of such parts",
                           parts);
    if (code == 0 && outside != NULL)
        code = work_remark(work,
                           "the recorded change of %s lies outside of the interval: %s break up what lasts longer, "
                           "take longer ones",
                           outside, parts);
    text_fini(&all);
    return code;
}
