#include "sim/cli/study/sweep_table.h"

#include "sim/study/axes.h"
#include "sim/study/outcome.h"

#include <math.h>
#include <string.h>

enum { MAX_KEYS = 8, MAX_METRICS = 6, MAX_SHOWN_ROWS = 200 };

/* Metrics shown, where the runs have them, if the study names none. */
static const char *const usual_metrics[] = {"request.ttft_s.p99", "request.tpot_s.p99", "request.finished",
                                            "job.jct_s.mean",     "job.finished",       "cluster.gpu_util"};
enum { N_USUAL = sizeof usual_metrics / sizeof *usual_metrics };

/* The columns of a table under construction. */
struct columns {
    size_t n;
    struct table_column columns[ANSWER_MAX_COLUMNS];
};

static void add_column(struct columns *columns, const char *title, enum column_align align)
{
    columns->columns[columns->n++] = (struct table_column){.title = title, .align = align};
}

/* The last name of a key, if unique among the last names of all keys: "routing" of "services.chat.routing". */
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

/* Notes the keys and metrics that the table omits. */
static void say_left_out(const struct study *study, size_t n_metrics, struct answer *answer)
{
    size_t n_keys = axes_keys(study->axes) - count_keys(study);
    if (n_keys > 0) answer_say(answer, "... and %zu more keys of the axes: --json has all\n", n_keys);
    if (n_metrics > 0) answer_say(answer, "... and %zu more metrics: --json has all\n", n_metrics);
}

static void add_key_columns(struct columns *columns, const struct study *study)
{
    for (size_t i = 0; i < count_keys(study); i++) add_column(columns, short_key(study, i), COLUMN_LEFT);
}

static void add_key_cells(struct answer_table *table, const struct study *study, size_t point)
{
    for (size_t i = 0; i < count_keys(study); i++) table_text(table, axes_param(study->axes, point, i).value);
}

/* Writes the values at a point as a member: {"services.chat.replicas": 2}. */
static void write_params(const struct study *study, size_t point, struct answer *answer)
{
    struct arena arena;
    arena_init(&arena);
    const char *params = outcome_point(study, point, &arena);
    answer->failed |= params == NULL;
    answer_json(answer, "params", params != NULL ? params : "");
    arena_fini(&arena);
}

/* --- The list of runs --- */

static void write_runs(const struct study *study, struct answer *answer)
{
    answer_open(answer, NULL, '[');
    for (size_t i = 0; i < study->n_runs; i++) {
        answer_open_row(answer, NULL, '{');
        answer_number(answer, study->search != NULL ? "point" : "run", (double)i + 1);
        write_params(study, i / study->n_seeds, answer);
        answer_number(answer, "seed", (double)study->seeds[i % study->n_seeds]);
        answer_close(answer, '}');
    }
    answer_close(answer, ']');
}

static void show_runs(const struct study *study, struct answer *answer)
{
    struct columns columns = {0};
    struct answer_table table;
    char heading[DIAG_TEXT_CHARS];
    if (study->search != NULL)
        snprintf(heading, sizeof heading, "a search for '%s': at each point and seed at most %zu runs",
                 study->search->key, search_max_steps(study->search));
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
    answer_add(answer, NULL, study->search != NULL ? heading : NULL, &table);
    say_left_out(study, 0, answer);
}

int sweep_table_runs(const struct study *study, enum answer_form form, FILE *out, struct diag *diag)
{
    struct answer answer;
    answer_init(&answer, form, NULL);
    (answer_is_data(form) ? write_runs : show_runs)(study, &answer);
    return answer_end(&answer, 0, out, diag);
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

/* The number of seeds of a point whose runs exist and did not fail. */
static size_t count_seeds(const struct results_view *view, size_t point)
{
    size_t n = 0;
    for (size_t seed = 0; seed < view->study->n_seeds; seed++) {
        const struct merge_run *run = merge_find(&view->merge, outcome_run_id(view->study, point, 0, seed));
        n += run != NULL && !run->failed;
    }
    return n;
}

/* The mean of a metric over these seeds; NAN if one of them lacks it, or there are none. */
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

/* The metrics that the study shows; else the usual metrics that a point has. */
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

static int show_points(const struct results_view *view, struct answer *answer)
{
    const struct study *study = view->study;
    struct columns columns = {0};
    struct answer_table table;
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
    answer_add(answer, NULL, NULL, &table);
    if (view->n_rows < study->n_points) answer_say(answer, "... and %zu more points\n", study->n_points - view->n_rows);
    say_left_out(study, view->n_metrics - count_shown(view), answer);
    return code;
}

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

static int show_search(const struct results_view *view, struct answer *answer)
{
    const struct study *study = view->study;
    struct columns columns = {0};
    struct answer_table table;
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
    answer_add(answer, NULL, describe_search(study->search, &arena), &table);
    say_left_out(study, 0, answer);
    arena_fini(&arena);
    return code;
}

/* Passes the rows of the table outcome to `take`. */
static int each_outcome(const struct results_view *view, const char *sql,
                        void (*take)(sqlite3_stmt *row, struct answer *answer), struct answer *answer)
{
    const struct database *database = &view->merge.inputs[0];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, "read the outcomes", view->diag), step;
    if (code != 0) return code;
    while ((step = sqlite3_step(select)) == SQLITE_ROW) take(select, answer);
    if (step != SQLITE_DONE) code = database_error(database, "read the outcomes", view->diag);
    sqlite3_finalize(select);
    return code;
}

static void write_outcome(sqlite3_stmt *row, struct answer *answer)
{
    answer_open_row(answer, NULL, '{');
    answer_json(answer, "params", (const char *)sqlite3_column_text(row, 0));
    answer_text(answer, "key", (const char *)sqlite3_column_text(row, 1));
    answer_text(answer, "value", (const char *)sqlite3_column_text(row, 2));
    answer_number(answer, "run", sqlite3_column_double(row, 3));
    answer_text(answer, "note", (const char *)sqlite3_column_text(row, 4));
    answer_close(answer, '}');
}

static int write_point(const struct results_view *view, size_t point, struct answer *answer)
{
    int code = 0;
    answer_open_row(answer, NULL, '{');
    write_params(view->study, point, answer);
    answer_number(answer, "seeds", (double)count_seeds(view, point));
    answer_open_row(answer, "metrics", '{');
    for (size_t i = 0; code == 0 && i < view->n_metrics; i++) {
        double mean = (double)NAN;
        code = find_mean(view, point, view->metrics[i], &mean);
        answer_number(answer, view->metrics[i], mean);
    }
    answer_close(answer, '}');
    answer_close(answer, '}');
    return code;
}

static int write_results(const struct results_view *view, struct answer *answer)
{
    /* The points of a database from elsewhere may be no JSON. */
    static const char outcomes[] =
        "SELECT CASE WHEN json_valid(point) THEN point ELSE json_quote(CAST(point AS TEXT)) END, key, value, run_id, note "
        "FROM outcome ORDER BY rowid";
    int code = 0;
    answer_text(answer, "study", view->study->name);
    answer_number(answer, "runs", (double)view->merge.n_runs);
    answer_open(answer, "points", '[');
    for (size_t point = 0; code == 0 && view->study->search == NULL && point < view->study->n_points; point++)
        code = write_point(view, point, answer);
    answer_close(answer, ']');
    answer_open(answer, "outcomes", '[');
    if (code == 0) code = each_outcome(view, outcomes, write_outcome, answer);
    answer_close(answer, ']');
    return code;
}

static void say_front_point(sqlite3_stmt *row, struct answer *answer)
{
    answer_say(answer, "  %s  %s\n", (const char *)sqlite3_column_text(row, 0),
               (const char *)sqlite3_column_text(row, 1));
}

static int show_results(const struct results_view *view, struct answer *answer)
{
    static const char front[] =
        "SELECT coalesce(point, ''), coalesce(value, '') FROM outcome WHERE key = 'pareto' ORDER BY rowid";
    const int code = view->study->search != NULL ? show_search(view, answer) : show_points(view, answer);
    if (code != 0 || view->study->n_pareto == 0) return code;
    answer_say(answer, "\nPareto front:\n");
    return each_outcome(view, front, say_front_point, answer);
}

int sweep_table_results(const struct study *study, const char *output, enum answer_form form, FILE *out,
                        struct diag *diag)
{
    struct results_view view = {.study = study, .diag = diag};
    struct answer answer;
    view.n_rows = study->n_points < MAX_SHOWN_ROWS ? study->n_points : MAX_SHOWN_ROWS;
    answer_init(&answer, form, study->search != NULL ? "outcomes" : "points");
    int code = merge_open(&view.merge, &output, 1, study->hash, diag);
    if (code == 0 && study->search == NULL) code = choose_metrics(&view);
    if (code == 0) code = (answer_is_data(form) ? write_results : show_results)(&view, &answer);
    merge_close(&view.merge);
    return answer_end(&answer, code, out, diag);
}
