#include "sim/cli/study/sweep_view.h"

#include "analysis/compare/policy_params.h"
#include "sim/core/json_doc.h"
#include "sim/study/axes.h"

#include <math.h>

void sweep_add_column(struct sweep_columns *columns, const char *title, enum column_align align)
{
    columns->columns[columns->n++] = (struct table_column){.title = title, .align = align};
}

static size_t count_keys(const struct study *study)
{
    const size_t n = axes_keys(study->axes);
    return n < SWEEP_MAX_KEYS ? n : SWEEP_MAX_KEYS;
}

void sweep_add_keys(struct sweep_columns *columns, const struct study *study)
{
    for (size_t i = 0; i < count_keys(study); i++) sweep_add_column(columns, axes_name(study->axes, i), COLUMN_LEFT);
}

void sweep_add_values(struct answer_table *table, const struct study *study, size_t point, struct arena *arena)
{
    for (size_t i = 0; i < count_keys(study); i++) {
        const char *brief = json_brief(axes_param(study->axes, point, i).value, arena);
        table->failed |= brief == NULL;
        table_text(table, brief);
    }
}

void sweep_say_left_out(const struct study *study, size_t n_metrics, struct answer *answer)
{
    const size_t n_keys = axes_keys(study->axes) - count_keys(study);
    if (n_keys > 0) answer_say(answer, "... and %zu more keys of the axes: --json has all\n", n_keys);
    if (n_metrics > 0) answer_say(answer, "... and %zu more metrics: --json has all\n", n_metrics);
}

int sweep_add_mean(const struct sweep_view *view, int64_t run_id, const char *metric, struct answer_table *table)
{
    double mean = (double)NAN;
    const int code = outcome_mean(&view->merge, view->study, run_id, metric, &mean, view->diag);
    if (isnan(mean))
        table_undefined(table);
    else
        table_number(table, mean);
    return code;
}

size_t sweep_count_shown(const struct sweep_view *view)
{
    return view->n_metrics < SWEEP_MAX_METRICS ? view->n_metrics : SWEEP_MAX_METRICS;
}

int sweep_write_means(const struct sweep_view *view, int64_t run_id, struct answer *answer)
{
    int code = 0;
    answer_open_row(answer, "metrics", '{');
    for (size_t i = 0; code == 0 && i < view->n_metrics; i++) {
        double mean = (double)NAN;
        code = outcome_mean(&view->merge, view->study, run_id, view->metrics[i], &mean, view->diag);
        answer_number(answer, view->metrics[i], mean);
    }
    answer_close(answer, '}');
    return code;
}

int sweep_say_unfit(const struct sweep_view *view, struct answer *answer)
{
    static const char sql[] = "SELECT text, count(*) FROM warning WHERE code = 'unfit' GROUP BY text "
                              "ORDER BY min(run_id)";
    static const char what[] = "read why runs do not fit";
    const struct database *database = &view->merge.inputs[0];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, what, view->diag), step;
    if (code != 0) return code;
    while ((step = sqlite3_step(select)) == SQLITE_ROW) {
        const int n = sqlite3_column_int(select, 1);
        answer_say(answer, "does not fit (%d run%s): %s\n", n, n == 1 ? "" : "s",
                   (const char *)sqlite3_column_text(select, 0));
    }
    if (step != SQLITE_DONE) code = database_error(database, what, view->diag);
    sqlite3_finalize(select);
    return code;
}

int sweep_say_policies(struct sweep_view *view, struct answer *answer)
{
    struct policy_notes notes;
    const int code = policy_notes_of_study(&view->merge.inputs[0], &view->arena, &notes, view->diag);
    if (code != 0) return code;
    answer_open(answer, "notes", '[');
    for (size_t i = 0; i < notes.n; i++) {
        answer_text(answer, NULL, notes.texts[i]);
        answer_say(answer, "note: %s\n", notes.texts[i]);
    }
    answer_close(answer, ']');
    return 0;
}
