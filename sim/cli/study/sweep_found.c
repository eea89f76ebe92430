/* Tables of what searches found, and of the points on a Pareto front. */
#include "sim/cli/study/sweep_view.h"
#include "sim/study/axes.h"

#include <math.h>
#include <string.h>

/* --- Searches --- */

/* Describes the search. NULL when out of memory. */
static const char *describe_search(const struct study_search *search, struct arena *arena)
{
    const char *text = arena_printf(arena, "%s %s that meets", search->is_largest ? "largest" : "smallest",
                                    search->key);
    for (size_t i = 0; text != NULL && i < search->n_conditions; i++) {
        const struct search_condition *condition = &search->conditions[i];
        text = arena_printf(arena, "%s%s %s %s %.12g", text, i > 0 ? " and" : "", condition->metric,
                            condition->is_at_most ? "at most" : "at least", condition->limit);
    }
    if (text == NULL) return NULL;
    return arena_printf(arena, "%s (%s)", text, search->is_every_seed ? "under every seed" : "mean over the seeds");
}

/* What was found at a point, and the shown metrics there. */
static int add_found(const struct sweep_view *view, const struct sweep_columns *columns, size_t point,
                     struct answer_table *table, struct arena *arena)
{
    struct bisection state;
    const struct study *study = view->study;
    int code = outcome_replay(&view->merge, study, point, &state, view->diag);
    const bool is_met = code == 0 && !isnan(state.good);
    sweep_add_values(columns, table, study, point, arena);
    table_text(table, code == 0 ? search_show_good(study->search, &state, arena) : NULL);
    table_text(table, code == 0 ? search_show_bad(study->search, &state, arena) : NULL);
    table_number(table, (double)state.step);
    for (size_t i = 0; code == 0 && i < sweep_count_shown(view); i++) {
        if (is_met)
            code = sweep_add_mean(view, outcome_run_id(study, point, state.good_step, 0), view->metrics[i], table);
        else
            table_undefined(table);
    }
    const char *note = "";
    if (code == 0) code = outcome_note(&view->merge, study, point, &state, arena, &note, view->diag);
    table_text(table, note);
    return code;
}

int sweep_show_search(const struct sweep_view *view, struct answer *answer)
{
    const struct study *study = view->study;
    struct sweep_columns columns = {0};
    struct answer_table table;
    struct arena arena;
    int code = 0;
    arena_init(&arena);
    sweep_add_keys(&columns, study, &arena);
    sweep_add_column(&columns, study->search->is_largest ? "largest" : "smallest", COLUMN_RIGHT);
    sweep_add_column(&columns, "fails at", COLUMN_RIGHT);
    sweep_add_column(&columns, "steps", COLUMN_RIGHT);
    for (size_t i = 0; i < sweep_count_shown(view); i++) sweep_add_column(&columns, view->metrics[i], COLUMN_RIGHT);
    sweep_add_column(&columns, "note", COLUMN_LEFT);
    table_init(&table, columns.columns, columns.n);
    for (size_t point = 0; code == 0 && point < view->n_rows; point++)
        code = add_found(view, &columns, point, &table, &arena);
    answer_add(answer, NULL, describe_search(study->search, &arena), &table);
    sweep_say_common(&columns, study, answer);
    sweep_say_left_out(study, view->n_metrics - sweep_count_shown(view), answer);
    arena_fini(&arena);
    return code;
}

/* --- The Pareto front --- */

/* The metrics of the front, then the shown ones that are not among them. Returns their number. */
static size_t list_metrics(const struct sweep_view *view, const char *metrics[SWEEP_MAX_METRICS])
{
    const struct study *study = view->study;
    size_t n = 0;
    for (size_t i = 0; i < study->n_pareto + study->n_show && n < SWEEP_MAX_METRICS; i++) {
        const char *metric = i < study->n_pareto ? study->pareto[i] : study->show[i - study->n_pareto];
        bool is_new = true;
        for (size_t j = 0; j < n; j++) is_new = is_new && strcmp(metrics[j], metric) != 0;
        if (is_new) metrics[n++] = metric;
    }
    return n;
}

/* "Pareto front, with request.tpot_s.p99 at most 0.05:" */
static const char *describe_front(const struct study *study, struct arena *arena)
{
    const char *text = "Pareto front";
    for (size_t i = 0; text != NULL && i < study->n_conditions; i++) {
        const struct search_condition *condition = &study->conditions[i];
        text = arena_printf(arena, "%s%s %s %s %.12g", text, i > 0 ? " and" : ", with", condition->metric,
                            condition->is_at_most ? "at most" : "at least", condition->limit);
    }
    return text != NULL ? arena_printf(arena, "%s:", text) : NULL;
}

/* The front's points are known by their first runs. */
static int add_front(const struct sweep_view *view, const struct sweep_columns *columns, const char *const *metrics,
                     size_t n_metrics, struct answer_table *table, struct arena *arena)
{
    static const char sql[] = "SELECT run_id FROM outcome WHERE key = 'pareto' ORDER BY rowid";
    static const char what[] = "read the front";
    const struct study *study = view->study;
    const struct database *database = &view->merge.inputs[0];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, what, view->diag), step = SQLITE_DONE;
    if (code != 0) return code;
    while (code == 0 && (step = sqlite3_step(select)) == SQLITE_ROW) {
        const int64_t run_id = sqlite3_column_int64(select, 0);
        if (run_id < 1 || (uint64_t)run_id > study->n_runs) continue;
        sweep_add_values(columns, table, study, (size_t)(run_id - 1) / study->n_seeds, arena);
        for (size_t i = 0; code == 0 && i < n_metrics; i++) code = sweep_add_mean(view, run_id, metrics[i], table);
    }
    if (code == 0 && step != SQLITE_DONE) code = database_error(database, what, view->diag);
    sqlite3_finalize(select);
    return code;
}

int sweep_show_front(const struct sweep_view *view, struct answer *answer)
{
    const char *metrics[SWEEP_MAX_METRICS];
    const size_t n_metrics = list_metrics(view, metrics);
    struct sweep_columns columns = {0};
    struct answer_table table;
    struct arena arena;
    arena_init(&arena);
    sweep_add_keys(&columns, view->study, &arena);
    for (size_t i = 0; i < n_metrics; i++) sweep_add_column(&columns, metrics[i], COLUMN_RIGHT);
    table_init(&table, columns.columns, columns.n);
    const int code = add_front(view, &columns, metrics, n_metrics, &table, &arena);
    const bool is_empty = table.n_cells == 0;
    answer_add(answer, NULL, describe_front(view->study, &arena), &table);
    if (is_empty) answer_say(answer, "\nno point is on the Pareto front\n");
    arena_fini(&arena);
    return code;
}

/* --- For programs --- */

static int write_outcome(const struct sweep_view *view, sqlite3_stmt *row, struct answer *answer)
{
    int code = 0;
    const int64_t run_id = sqlite3_column_int64(row, 3);
    answer_open_row(answer, NULL, '{');
    answer_json(answer, "params", (const char *)sqlite3_column_text(row, 0));
    answer_text(answer, "key", (const char *)sqlite3_column_text(row, 1));
    answer_text(answer, "value", (const char *)sqlite3_column_text(row, 2));
    answer_number(answer, "run", (double)run_id);
    if (view->study->n_show > 0) code = sweep_write_means(view, run_id, answer);
    answer_text(answer, "note", (const char *)sqlite3_column_text(row, 4));
    answer_close(answer, '}');
    return code;
}

/* A value of the bracket as it ran, with all its digits; null: it has none. */
static void write_bound(const char *key, double value, const char *shown, struct answer *answer)
{
    answer->failed |= shown == NULL;
    answer_text(answer, key, isnan(value) ? NULL : shown);
}

/* What a search found at a point, if it has ended. */
static int write_found(const struct sweep_view *view, size_t point, struct arena *arena, struct answer *answer)
{
    const struct range *range = &view->study->search->range;
    struct bisection state;
    const struct study *study = view->study;
    const char *note = "";
    int code = outcome_replay(&view->merge, study, point, &state, view->diag);
    if (code != 0 || !state.is_done) return code;
    const int64_t run_id = isnan(state.good) ? 0 : outcome_run_id(study, point, state.good_step, 0);
    const char *params = outcome_point(study, point, arena);
    answer->failed |= params == NULL;
    answer_open_row(answer, NULL, '{');
    answer_json(answer, "params", params != NULL ? params : "{}");
    answer_text(answer, "key", study->search->key);
    write_bound("value", state.good, range_show(range, state.good, arena), answer);
    write_bound("fails_at", state.bad, range_show(range, state.bad, arena), answer);
    answer_number(answer, "run", (double)run_id);
    if (study->n_show > 0) code = sweep_write_means(view, run_id, answer);
    if (code == 0) code = outcome_note(&view->merge, study, point, &state, arena, &note, view->diag);
    answer_text(answer, "note", note);
    answer_close(answer, '}');
    return code;
}

static int write_search(const struct sweep_view *view, struct answer *answer)
{
    struct arena arena;
    int code = 0;
    arena_init(&arena);
    for (size_t point = 0; code == 0 && point < view->study->n_points; point++)
        code = write_found(view, point, &arena, answer);
    arena_fini(&arena);
    return code;
}

int sweep_write_outcomes(const struct sweep_view *view, struct answer *answer)
{
    if (view->study->search != NULL) return write_search(view, answer);
    /* The points of a database from elsewhere may be no JSON. */
    static const char sql[] =
        "SELECT CASE WHEN json_valid(point) THEN point ELSE json_quote(CAST(point AS TEXT)) END, key, value, run_id, note "
        "FROM outcome ORDER BY rowid";
    static const char what[] = "read the outcomes";
    const struct database *database = &view->merge.inputs[0];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, what, view->diag), step = SQLITE_DONE;
    if (code != 0) return code;
    while (code == 0 && (step = sqlite3_step(select)) == SQLITE_ROW) code = write_outcome(view, select, answer);
    if (code == 0 && step != SQLITE_DONE) code = database_error(database, what, view->diag);
    sqlite3_finalize(select);
    return code;
}
