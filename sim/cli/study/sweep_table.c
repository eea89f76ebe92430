#include "sim/cli/study/sweep_table.h"

#include "sim/cli/table.h"
#include "sim/core/json_write.h"
#include "sim/study/axes.h"
#include "sim/study/outcome.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_KEYS = 8, MAX_METRICS = 6, MAX_SHOWN_ROWS = 200 };

/* Shown when a study names none: those of them that the runs have. */
static const char *const usual_metrics[] = {"request.ttft_s.p99", "request.tpot_s.p99", "request.finished",
                                            "job.jct_s.mean",     "job.finished",       "cluster.gpu_util"};
enum { N_USUAL = sizeof usual_metrics / sizeof *usual_metrics };

/* The columns of a table under construction. */
struct columns {
    size_t n;
    struct table_column columns[TABLE_MAX_COLUMNS];
};

static void add_column(struct columns *columns, const char *title, enum column_align align)
{
    columns->columns[columns->n++] = (struct table_column){.title = title, .align = align};
}

/* The last name of a key that no other key ends in: "routing" of "services.chat.routing". */
static const char *short_key(const struct study *study, size_t i)
{
    const char *key = axes_param(study->axes, 0, i).key, *dot = strrchr(key, '.'), *name = dot != NULL ? dot + 1 : key;
    for (size_t other = 0; other < axes_keys(study->axes); other++) {
        const char *rival = axes_param(study->axes, 0, other).key, *rival_dot = strrchr(rival, '.');
        if (other != i && strcmp(rival_dot != NULL ? rival_dot + 1 : rival, name) == 0) return key;
    }
    return name;
}

static size_t count_keys(const struct study *study)
{
    size_t n = axes_keys(study->axes);
    return n < MAX_KEYS ? n : MAX_KEYS;
}

/* What there is no room for in a table. */
static void print_left_out(const struct study *study, size_t n_metrics, FILE *out)
{
    size_t n_keys = axes_keys(study->axes) - count_keys(study);
    if (n_keys > 0) fprintf(out, "... and %zu more keys of the axes: --json has all\n", n_keys);
    if (n_metrics > 0) fprintf(out, "... and %zu more metrics: --json has all\n", n_metrics);
}

static void add_key_columns(struct columns *columns, const struct study *study)
{
    for (size_t i = 0; i < count_keys(study); i++) add_column(columns, short_key(study, i), COLUMN_LEFT);
}

static void add_key_cells(struct table *table, const struct study *study, size_t point)
{
    for (size_t i = 0; i < count_keys(study); i++) table_text(table, axes_param(study->axes, point, i).value);
}

/* The values at a point as a member: {"services.chat.replicas": 2}. */
static int write_params(struct json_writer *json, const struct study *study, size_t point)
{
    struct arena arena;
    arena_init(&arena);
    const char *params = outcome_point(study, point, &arena);
    json_write_key(json, "params");
    text_add(json->text, params != NULL ? params : "");
    arena_fini(&arena);
    return params != NULL ? 0 : SIM_E_NOMEM;
}

static int print_text(struct text *text, FILE *out)
{
    int code = text->failed ? SIM_E_NOMEM : 0;
    if (code == 0) fprintf(out, "%s\n", text->chars);
    text_fini(text);
    return code;
}

/* --- The list of runs --- */

static int print_runs_json(const struct study *study, FILE *out)
{
    struct json_writer json;
    struct text text;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open(&json, NULL, '[');
    int code = 0;
    for (size_t i = 0; code == 0 && i < study->n_runs; i++) {
        json_write_open_row(&json, NULL, '{');
        json_write_number(&json, study->search != NULL ? "point" : "run", (double)i + 1);
        code = write_params(&json, study, i / study->n_seeds);
        json_write_number(&json, "seed", (double)study->seeds[i % study->n_seeds]);
        json_write_close(&json, '}');
    }
    json_write_close(&json, ']');
    int print_code = print_text(&text, out);
    return code != 0 ? code : print_code;
}

int sweep_table_runs(const struct study *study, bool as_json, FILE *out)
{
    struct columns columns = {0};
    struct table table;
    if (as_json) return print_runs_json(study, out);
    if (study->search != NULL)
        fprintf(out, "a search for '%s': at each point and seed at most %zu runs\n", study->search->key,
                search_max_steps(study->search));
    else
        add_column(&columns, "run", COLUMN_RIGHT);
    add_key_columns(&columns, study);
    add_column(&columns, "seed", COLUMN_RIGHT);
    table_init(&table, columns.columns, columns.n);
    for (size_t i = 0; i < study->n_runs; i++) {
        if (study->search == NULL) table_number(&table, (double)i + 1);
        add_key_cells(&table, study, i / study->n_seeds);
        table_number(&table, (double)study->seeds[i % study->n_seeds]);
    }
    int code = table_write(&table, false, out);
    print_left_out(study, 0, out);
    table_fini(&table);
    return code;
}

/* --- Results --- */

struct results_view {
    const struct study *study;
    struct merge merge;
    struct diag *diag;
    size_t n_metrics, n_rows;
    const char *const *metrics;
    const char *usual[N_USUAL];
};

/* The seeds of a point whose runs are there and did not fail. */
static size_t count_seeds(const struct results_view *view, size_t point)
{
    size_t n = 0;
    for (size_t seed = 0; seed < view->study->n_seeds; seed++) {
        const struct merge_run *run = merge_find(&view->merge, outcome_run_id(view->study, point, 0, seed));
        n += run != NULL && !run->failed;
    }
    return n;
}

/* The mean of a metric over those; NAN when one of them lacks it, or there are none. */
static int find_mean(const struct results_view *view, size_t point, const char *metric, double *mean)
{
    const struct study *study = view->study;
    double sum = 0;
    int code = 0;
    for (size_t seed = 0; code == 0 && seed < study->n_seeds; seed++) {
        double value = 0;
        const struct merge_run *run = merge_find(&view->merge, outcome_run_id(study, point, 0, seed));
        if (run != NULL && !run->failed) code = merge_metric(&view->merge, run, metric, &value, view->diag);
        sum += value;
    }
    size_t n = count_seeds(view, point);
    *mean = n > 0 ? sum / (double)n : (double)NAN;
    return code;
}

/* What the study shows; else those of the usual metrics that a point has. */
static int choose_metrics(struct results_view *view)
{
    const struct study *study = view->study;
    int code = 0;
    view->n_metrics = study->n_show;
    view->metrics = study->n_show > 0 ? study->show : view->usual;
    for (size_t i = 0; study->n_show == 0 && code == 0 && i < N_USUAL; i++) {
        double mean = (double)NAN;
        for (size_t point = 0; code == 0 && isnan(mean) && point < view->n_rows; point++)
            code = find_mean(view, point, usual_metrics[i], &mean);
        if (!isnan(mean)) view->usual[view->n_metrics++] = usual_metrics[i];
    }
    return code;
}

static size_t count_shown(const struct results_view *view)
{
    return view->n_metrics < MAX_METRICS ? view->n_metrics : MAX_METRICS;
}

static int print_points(struct results_view *view, FILE *out)
{
    const struct study *study = view->study;
    struct columns columns = {0};
    struct table table;
    int code = 0;
    add_key_columns(&columns, study);
    add_column(&columns, "seeds", COLUMN_RIGHT);
    for (size_t i = 0; i < count_shown(view); i++) add_column(&columns, view->metrics[i], COLUMN_RIGHT);
    table_init(&table, columns.columns, columns.n);
    for (size_t point = 0; code == 0 && point < view->n_rows; point++) {
        add_key_cells(&table, study, point);
        table_number(&table, (double)count_seeds(view, point));
        for (size_t i = 0; code == 0 && i < count_shown(view); i++) {
            double mean = (double)NAN;
            code = find_mean(view, point, view->metrics[i], &mean);
            if (isnan(mean))
                table_undefined(&table);
            else
                table_number(&table, mean);
        }
    }
    if (code == 0) code = table_write(&table, false, out);
    if (view->n_rows < study->n_points) fprintf(out, "... and %zu more points\n", study->n_points - view->n_rows);
    print_left_out(study, view->n_metrics - count_shown(view), out);
    table_fini(&table);
    return code;
}

static int print_search(const struct results_view *view, FILE *out)
{
    const struct study *study = view->study;
    struct columns columns = {0};
    struct table table;
    struct arena arena;
    int code = 0;
    arena_init(&arena);
    add_key_columns(&columns, study);
    add_column(&columns, study->search->is_largest ? "largest" : "smallest", COLUMN_RIGHT);
    add_column(&columns, "steps", COLUMN_RIGHT);
    add_column(&columns, "note", COLUMN_LEFT);
    table_init(&table, columns.columns, columns.n);
    for (size_t point = 0; code == 0 && point < view->n_rows; point++) {
        struct bisection state;
        code = outcome_replay(&view->merge, study, point, &state, view->diag);
        add_key_cells(&table, study, point);
        if (isnan(state.good))
            table_undefined(&table);
        else
            table_text(&table, range_show(&study->search->range, state.good, &arena));
        table_number(&table, (double)state.step);
        table_text(&table, search_note(study->search, &state));
    }
    fprintf(out, "%s %s that meets", study->search->is_largest ? "largest" : "smallest", study->search->key);
    for (size_t i = 0; i < study->search->n_conditions; i++) {
        const struct search_condition *condition = &study->search->conditions[i];
        fprintf(out, "%s %s %s %.12g", i > 0 ? " and" : "", condition->metric,
                condition->is_at_most ? "at most" : "at least", condition->limit);
    }
    fprintf(out, " (%s)\n", study->search->is_every_seed ? "under every seed" : "mean over the seeds");
    if (code == 0) code = table_write(&table, false, out);
    print_left_out(study, 0, out);
    table_fini(&table);
    arena_fini(&arena);
    return code;
}

/* The rows of the table outcome: point, key, value, run and note, as an object's members each. */
static int write_outcomes(struct json_writer *json, const struct results_view *view)
{
    static const char sql[] = "SELECT point, key, value, run_id, note FROM outcome ORDER BY rowid";
    const struct database *database = &view->merge.inputs[0];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, "read the outcomes", view->diag), step;
    if (code != 0) return code;
    json_write_open(json, "outcomes", '[');
    while ((step = sqlite3_step(select)) == SQLITE_ROW) {
        json_write_open_row(json, NULL, '{');
        json_write_key(json, "params");
        text_add(json->text, (const char *)sqlite3_column_text(select, 0));
        json_write_string(json, "key", (const char *)sqlite3_column_text(select, 1));
        json_write_string(json, "value", (const char *)sqlite3_column_text(select, 2));
        json_write_number(json, "run", sqlite3_column_double(select, 3));
        json_write_string(json, "note", (const char *)sqlite3_column_text(select, 4));
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
    if (step != SQLITE_DONE) code = database_error(database, "read the outcomes", view->diag);
    sqlite3_finalize(select);
    return code;
}

static int write_point(struct json_writer *json, const struct results_view *view, size_t point)
{
    json_write_open_row(json, NULL, '{');
    int code = write_params(json, view->study, point);
    json_write_number(json, "seeds", (double)count_seeds(view, point));
    json_write_open_row(json, "metrics", '{');
    for (size_t i = 0; code == 0 && i < view->n_metrics; i++) {
        double mean = (double)NAN;
        code = find_mean(view, point, view->metrics[i], &mean);
        json_write_number(json, view->metrics[i], mean);
    }
    json_write_close(json, '}');
    json_write_close(json, '}');
    return code;
}

static int print_json(const struct results_view *view, FILE *out)
{
    struct json_writer json;
    struct text text;
    int code = 0;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open(&json, NULL, '{');
    json_write_string(&json, "study", view->study->name);
    json_write_number(&json, "runs", (double)view->merge.n_runs);
    json_write_open(&json, "points", '[');
    for (size_t point = 0; code == 0 && view->study->search == NULL && point < view->study->n_points; point++)
        code = write_point(&json, view, point);
    json_write_close(&json, ']');
    if (code == 0) code = write_outcomes(&json, view);
    json_write_close(&json, '}');
    int print_code = print_text(&text, out);
    return code != 0 ? code : print_code;
}

/* The points of the Pareto front, below the table. */
static int print_front(const struct results_view *view, FILE *out)
{
    static const char sql[] = "SELECT point, value FROM outcome WHERE key = 'pareto' ORDER BY rowid";
    const struct database *database = &view->merge.inputs[0];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, "read the outcomes", view->diag), step;
    if (code != 0) return code;
    fprintf(out, "\nPareto front:\n");
    while ((step = sqlite3_step(select)) == SQLITE_ROW)
        fprintf(out, "  %s  %s\n", (const char *)sqlite3_column_text(select, 0),
                (const char *)sqlite3_column_text(select, 1));
    if (step != SQLITE_DONE) code = database_error(database, "read the outcomes", view->diag);
    sqlite3_finalize(select);
    return code;
}

int sweep_table_results(const struct study *study, const char *output, bool as_json, FILE *out, struct diag *diag)
{
    struct results_view view = {.study = study, .diag = diag};
    view.n_rows = study->n_points < MAX_SHOWN_ROWS ? study->n_points : MAX_SHOWN_ROWS;
    int code = merge_open(&view.merge, &output, 1, study->hash, diag);
    if (code == 0 && study->search == NULL) code = choose_metrics(&view);
    if (code == 0 && as_json)
        code = print_json(&view, out);
    else if (code == 0)
        code = study->search != NULL ? print_search(&view, out) : print_points(&view, out);
    if (code == 0 && !as_json && study->n_pareto > 0) code = print_front(&view, out);
    merge_close(&view.merge);
    return code;
}
