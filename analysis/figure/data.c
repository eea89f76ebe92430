#include "analysis/figure/data.h"

#include "analysis/query.h"
#include "analysis/stats/stats.h"
#include "sim/core/json_doc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Curves --- */

static bool same_x(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

double data_curve_at(const struct data_curve *curve, double x)
{
    for (size_t i = 0; i < curve->n; i++) {
        if (curve->x[i] == x) return curve->y[i];
        if (i + 1 < curve->n && curve->x[i] < x && x < curve->x[i + 1])
            return curve->y[i] + (curve->y[i + 1] - curve->y[i]) * (x - curve->x[i]) / (curve->x[i + 1] - curve->x[i]);
    }
    return (double)NAN;
}

double data_curve_point(const struct data_curve *curve, double x)
{
    for (size_t i = 0; i < curve->n; i++)
        if (same_x(curve->x[i], x)) return curve->y[i];
    return (double)NAN;
}

const struct data_series *data_series_named(const struct figure_data *data, const char *name)
{
    return &data->series[figure_series_index(data->figure, name)];
}

static int make_curve(struct arena *arena, size_t n, bool has_interval, struct data_curve *curve, struct diag *diag)
{
    curve->x = arena_alloc(arena, (n + 1) * sizeof *curve->x);
    curve->y = arena_alloc(arena, (n + 1) * sizeof *curve->y);
    if (has_interval) {
        curve->low = arena_alloc(arena, (n + 1) * sizeof *curve->low);
        curve->high = arena_alloc(arena, (n + 1) * sizeof *curve->high);
        if (curve->low == NULL || curve->high == NULL) return diag_nomem(diag);
    }
    return curve->x != NULL && curve->y != NULL ? 0 : diag_nomem(diag);
}

/* --- Queries --- */

static int run_query(const struct figure_data *data, const char *study, const char *sql, const char *what,
                     struct query_answer *answer, struct diag *diag)
{
    size_t index = figure_study_index(data->figure, study);
    return query_run(&data->databases[index], sql, NULL, 0, what, data->arena, answer, diag);
}

int figure_data_number(const struct figure_data *data, const char *study, const char *sql, double *value,
                       struct diag *diag)
{
    struct query_answer answer;
    int code = run_query(data, study, sql, "evaluate a claim", &answer, diag);
    if (code != 0) return code;
    if (answer.n_rows != 1 || answer.n_columns != 1)
        return diag_error(diag, SIM_E_CONFIG, data->figure->id, "a claim's query gives one number",
                          "a query gave %zu rows of %zu columns: %s", answer.n_rows, answer.n_columns, sql);
    *value = answer.columns[0].numbers[0];
    return 0;
}

struct row {
    double x, y, low, high;
    size_t place;
};

/* By x; rows of one x keep the order of the query. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return p->place < q->place ? -1 : 1;
}

/* The rows of a series' query, sorted. */
static int read_rows(const struct figure_data *data, const struct figure_series *series, const char *sql,
                     struct row **rows, size_t *n, bool *has_interval, struct diag *diag)
{
    struct query_answer answer;
    int code = run_query(data, series->study, sql, "read a series of the figure", &answer, diag);
    if (code != 0) return code;
    const struct query_column *x = query_column(&answer, "x"), *y = query_column(&answer, "y");
    const struct query_column *low = query_column(&answer, "low"), *high = query_column(&answer, "high");
    if (x == NULL || y == NULL)
        return diag_error(diag, SIM_E_CONFIG, data->figure->id, "name the columns: select ... as x, ... as y",
                          "the query of series '%s' has no columns x and y", series->name);
    *has_interval = low != NULL && high != NULL;
    *rows = arena_alloc(data->arena, (answer.n_rows + 1) * sizeof **rows);
    if (*rows == NULL) return diag_nomem(diag);
    *n = 0;
    for (size_t i = 0; i < answer.n_rows; i++) {
        if (isnan(x->numbers[i]) || isnan(y->numbers[i])) continue;
        (*rows)[(*n)++] = (struct row){x->numbers[i], y->numbers[i], *has_interval ? low->numbers[i] : (double)NAN,
                                       *has_interval ? high->numbers[i] : (double)NAN, i};
    }
    qsort(*rows, *n, sizeof **rows, compare_rows);
    if (*n > 0) return 0;
    return diag_error(diag, SIM_E_DATA, data->figure->id, "look at its query, and whether the runs ended well",
                      "the results have no points for series '%s'", series->name);
}

static int fill_curve(const struct figure_data *data, const struct row *rows, size_t n, bool has_interval,
                      struct data_curve *curve, struct diag *diag)
{
    int code = make_curve(data->arena, n, has_interval, curve, diag);
    for (size_t i = 0; code == 0 && i < n; i++) {
        curve->x[i] = rows[i].x;
        curve->y[i] = rows[i].y;
        if (!has_interval) continue;
        curve->low[i] = rows[i].low;
        curve->high[i] = rows[i].high;
    }
    curve->n = code == 0 ? n : 0;
    return code;
}

/* Whether the seeds of the series' study replicate one trace. */
static int read_bootstrap(const struct figure_data *data, struct data_series *out, struct diag *diag)
{
    static const char sql[] = "SELECT coalesce(max(" QUERY_IS_BOOTSTRAP "), 0) FROM run";
    struct query_answer answer;
    const int code = run_query(data, out->series->study, sql, "read a series of the figure", &answer, diag);
    out->is_bootstrap = code == 0 && answer.columns[0].numbers[0] > 0;
    return code;
}

/* The mean of n values with its interval, in the place of `sorted`, which is overwritten. */
static struct interval average(const struct data_series *out, const double *values, size_t n, double *sorted)
{
    if (!out->is_bootstrap) return stats_mean_interval(values, n, out->series->interval);
    memcpy(sorted, values, n * sizeof *sorted);
    return stats_replicate_interval(sorted, n, out->series->interval, NULL);
}

/* One point per x: the mean of its rows, with their t interval, or that of the spread of replicates. */
static int average_rows(const struct figure_data *data, const struct row *rows, size_t n, struct data_series *out,
                        struct diag *diag)
{
    struct data_curve *curve = &out->ours;
    int code = make_curve(data->arena, n, true, curve, diag);
    out->replications = arena_alloc(data->arena, n * sizeof *out->replications);
    out->n_replications = arena_alloc(data->arena, n * sizeof *out->n_replications);
    double *sorted = arena_alloc(data->arena, n * sizeof *sorted);
    if (code != 0 || out->replications == NULL || out->n_replications == NULL || sorted == NULL)
        return diag_nomem(diag);
    code = read_bootstrap(data, out, diag);
    for (size_t i = 0, end; code == 0 && i < n; i = end) {
        for (end = i; end < n && same_x(rows[end].x, rows[i].x); end++) out->replications[end] = rows[end].y;
        const struct interval interval = average(out, out->replications + i, end - i, sorted);
        curve->x[curve->n] = rows[i].x;
        curve->y[curve->n] = interval.mean;
        curve->low[curve->n] = interval.low;
        curve->high[curve->n] = interval.high;
        out->n_replications[curve->n++] = end - i;
    }
    return code;
}

/* --- The paper's points --- */

static int copy_points(const struct figure_data *data, const struct config_list *points, struct data_curve *curve,
                       struct diag *diag)
{
    bool has_interval = false;
    struct row *rows = arena_alloc(data->arena, points->n * sizeof *rows);
    if (rows == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < points->n; i++) {
        const struct figure_point *point = FIGURE_ITEM(struct figure_point, *points, i);
        rows[i] = (struct row){point->x, point->y, point->low, point->high, i};
        has_interval = has_interval || !isnan(point->low);
    }
    qsort(rows, points->n, sizeof *rows, compare_rows);
    return fill_curve(data, rows, points->n, has_interval, curve, diag);
}

static int read_paper(const struct figure_data *data, struct data_series *out, struct diag *diag)
{
    const struct figure_curve *paper = &out->series->paper;
    if (paper->points.n > 0) return copy_points(data, &paper->points, &out->paper, diag);
    if (paper->sql == NULL) return 0;
    struct row *rows = NULL;
    size_t n = 0;
    bool has_interval = false;
    int code = read_rows(data, out->series, paper->sql, &rows, &n, &has_interval, diag);
    return code == 0 ? fill_curve(data, rows, n, has_interval, &out->paper, diag) : code;
}

static int read_series(const struct figure_data *data, struct data_series *out, struct diag *diag)
{
    struct row *rows = NULL;
    size_t n = 0;
    bool has_interval = false;
    int code = read_rows(data, out->series, out->series->sql, &rows, &n, &has_interval, diag);
    if (code == 0 && !isnan(out->series->interval))
        code = average_rows(data, rows, n, out, diag);
    else if (code == 0)
        code = fill_curve(data, rows, n, has_interval, &out->ours, diag);
    return code == 0 ? read_paper(data, out, diag) : code;
}

/* --- Databases --- */

static int read_views(const struct figure *figure, char **sql, struct diag *diag)
{
    size_t bytes;
    *sql = NULL;
    int code = figure->views != NULL ? json_read_file(figure->views, sql, &bytes) : 0;
    if (code == SIM_E_IO) return diag_system_error(diag, figure->views, "cannot read the views of the figure", errno);
    return code == 0 ? 0 : diag_nomem(diag);
}

static int open_databases(const char *const *paths, struct figure_data *data, struct diag *diag)
{
    const struct figure *figure = data->figure;
    char *views;
    int code = read_views(figure, &views, diag);
    data->databases = arena_alloc(data->arena, figure->studies.n * sizeof *data->databases);
    if (code == 0 && data->databases == NULL) code = diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < figure->studies.n; i++) {
        code = database_open_read(&data->databases[i], paths[i], diag);
        data->n_open += code == 0;
        if (code == 0 && views != NULL)
            code = database_run(&data->databases[i], views, "make the figure's views", diag);
    }
    mem_free(views);
    return code;
}

int figure_data_read(const struct figure *figure, const char *const *paths, struct arena *arena,
                     struct figure_data *data, struct diag *diag)
{
    *data = (struct figure_data){.figure = figure, .arena = arena};
    int code = open_databases(paths, data, diag);
    if (code != 0) return code;
    while (figure_series_at(figure, data->n_series) != NULL) data->n_series++;
    data->series = arena_alloc(arena, data->n_series * sizeof *data->series);
    if (data->series == NULL) return diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < data->n_series; i++) {
        data->series[i].series = figure_series_at(figure, i);
        code = read_series(data, &data->series[i], diag);
    }
    return code;
}

void figure_data_fini(struct figure_data *data)
{
    for (size_t i = 0; i < data->n_open; i++) database_close(&data->databases[i], false);
    data->n_open = 0;
}
