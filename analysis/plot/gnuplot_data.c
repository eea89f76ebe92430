/* The numbers of a chart for gnuplot, all of them: nothing is thinned or cut. */
#include "analysis/plot/gnuplot.h"

#include "analysis/plot/lanes.h"
#include "analysis/plot/mark.h"
#include "sim/core/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

double gnuplot_bar_width(const struct plot_chart *chart)
{
    return BAR_GROUP_SHARE / (double)bar_places(chart);
}

static void add_number(struct text *data, double value, char after)
{
    if (scale_has(PLOT_LINEAR, value))
        text_json_number(data, value);
    else
        text_add(data, "NaN");
    text_add_bytes(data, &after, 1);
}

/* A comment on one line. */
static void add_comment(struct text *data, const char *chars)
{
    text_add(data, "# ");
    for (const char *c = chars != NULL ? chars : "(no name)"; *c != 0; c++)
        text_add_bytes(data, (unsigned char)*c < 0x20 ? " " : c, 1);
    text_add(data, "\n");
}

static void add_heading(struct text *data, const char *name, const char *columns)
{
    add_comment(data, name);
    add_comment(data, columns);
}

static double end_of(const double *ends, size_t i, double otherwise)
{
    return ends != NULL ? ends[i] : otherwise;
}

bool gnuplot_has_data(const struct plot_chart *chart, const struct plot_series *series)
{
    const bool is_bar = chart->kind == PLOT_BAR || chart->kind == PLOT_DOTS;
    const bool needs_y = chart->kind != PLOT_GANTT && (chart->kind != PLOT_CDF || series->is_reference);
    const enum plot_scale y_scale = chart->kind == PLOT_HEATMAP ? chart->z.scale : chart->y.scale;
    if ((!is_bar && series->x == NULL) || (needs_y && series->y == NULL)) return false;
    if (chart->kind == PLOT_GANTT && series->x_end == NULL) return false;
    if ((chart->kind == PLOT_GANTT || chart->kind == PLOT_HEATMAP) && series->row == NULL) return false;
    for (size_t i = 0; i < series->n; i++)
        if ((is_bar || scale_has(chart->x.scale, series->x[i])) && (!needs_y || scale_has(y_scale, series->y[i])))
            return true;
    return false;
}

bool gnuplot_has_front(const struct plot_chart *chart, const struct plot_series *series)
{
    if (chart->kind != PLOT_SCATTER || series->on_front == NULL || series->is_reference) return false;
    if (series->x == NULL || series->y == NULL) return false;
    for (size_t i = 0; i < series->n; i++)
        if (series->on_front[i] && scale_has(chart->x.scale, series->x[i]) && scale_has(chart->y.scale, series->y[i]))
            return true;
    return false;
}

/* --- points --- */

static void add_points(struct text *data, const struct plot_series *series)
{
    add_heading(data, series->name, "x y low high");
    for (size_t i = 0; i < series->n; i++) {
        add_number(data, series->x[i], ' ');
        add_number(data, series->y[i], ' ');
        add_number(data, end_of(series->low, i, series->y[i]), ' ');
        add_number(data, end_of(series->high, i, series->y[i]), '\n');
    }
}

struct point {
    double x, y;
};

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    if (a->x != b->x) return (a->x > b->x) - (a->x < b->x);
    return (a->y > b->y) - (a->y < b->y);
}

static void add_front(struct text *data, const struct plot_series *series)
{
    struct point *points = mem_alloc((series->n + 1) * sizeof *points);
    size_t n = 0;
    add_heading(data, series->name, "x y: the front");
    for (size_t i = 0; points != NULL && i < series->n; i++)
        if (series->on_front[i] && scale_has(PLOT_LINEAR, series->x[i]) && scale_has(PLOT_LINEAR, series->y[i]))
            points[n++] = (struct point){series->x[i], series->y[i]};
    if (points == NULL) {
        data->failed = true;
        return;
    }
    qsort(points, n, sizeof *points, compare_points);
    for (size_t i = 0; i < n; i++) {
        add_number(data, points[i].x, ' ');
        add_number(data, points[i].y, '\n');
    }
    mem_free(points);
}

static int compare_values(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The values that the axis can show, sorted; NULL when out of memory. */
static double *sort_values(const double *values, size_t n_values, size_t *n)
{
    double *sorted = mem_alloc((n_values + 1) * sizeof *sorted);
    *n = 0;
    if (sorted == NULL) return NULL;
    for (size_t i = 0; i < n_values; i++)
        if (scale_has(PLOT_LINEAR, values[i])) sorted[(*n)++] = values[i];
    qsort(sorted, *n, sizeof *sorted, compare_values);
    return sorted;
}

static void add_cdf(struct text *data, const struct plot_series *series)
{
    size_t n, n_all = 0;
    double *sorted = sort_values(series->x, series->n, &n);
    if (sorted == NULL) {
        data->failed = true;
        return;
    }
    for (size_t i = 0; i < series->n; i++) n_all += isnan(series->x[i]) ? 0 : 1;
    add_heading(data, series->name, "x share");
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && sorted[i + 1] == sorted[i]) continue;
        add_number(data, sorted[i], ' ');
        add_number(data, (double)(i + 1) / (double)n_all, '\n');
    }
    mem_free(sorted);
}

/* --- by categories --- */

static void add_bars(struct text *data, const struct plot_chart *chart, size_t index)
{
    const struct plot_series *series = &chart->series[index];
    add_heading(data, series->name, "place y low high");
    for (size_t i = 0; i < series->n && i < chart->n_categories; i++) {
        add_number(data, (double)i + bar_place(chart, index) * gnuplot_bar_width(chart), ' ');
        add_number(data, series->y[i], ' ');
        add_number(data, end_of(series->low, i, series->y[i]), ' ');
        add_number(data, end_of(series->high, i, series->y[i]), '\n');
    }
}

static void add_box(struct text *data, double left, double right, double middle, double height)
{
    add_number(data, left + (right - left) / 2.0, ' ');
    add_number(data, middle, ' ');
    add_number(data, left, ' ');
    add_number(data, right, ' ');
    add_number(data, middle - height / 2.0, ' ');
    add_number(data, middle + height / 2.0, ' ');
}

static void add_gantt(struct text *data, const struct plot_chart *chart, size_t index, const struct lanes *lanes)
{
    const double row_share = 0.82;
    add_heading(data, chart->series[index].name, "x row from to top bottom");
    for (size_t i = 0; i < lanes->n; i++) {
        const struct lane_bar *bar = &lanes->at[i];
        if (bar->series != index) continue;
        const double height = row_share / lanes->n_lanes[bar->row];
        const double top = (double)bar->row - row_share / 2.0;
        add_box(data, bar->from, bar->to, top + height * ((double)bar->lane + 0.5), height);
        text_add(data, "\n");
    }
}

/* The border halfway between the i-th place of a heat map and the next one. */
static double border_after(const double *places, size_t n, size_t i)
{
    if (n < 2) return places[0] + 0.5;
    if (i + 1 >= n) return places[n - 1] + (places[n - 1] - places[n - 2]) / 2.0;
    return places[i] + (places[i + 1] - places[i]) / 2.0;
}

static double border_before(const double *places, size_t n, size_t i)
{
    if (n < 2) return places[0] - 0.5;
    return i > 0 ? border_after(places, n, i - 1) : places[0] - (places[1] - places[0]) / 2.0;
}

static void add_heatmap(struct text *data, const struct plot_chart *chart, const struct plot_series *series)
{
    size_t n_all, n = 0;
    double *places = sort_values(series->x, series->n, &n_all);
    if (places == NULL) {
        data->failed = true;
        return;
    }
    for (size_t i = 0; i < n_all; i++)
        if (n == 0 || places[i] != places[n - 1]) places[n++] = places[i];
    add_heading(data, series->name, "x row left right top bottom value");
    for (size_t i = 0; i < series->n; i++) {
        const double *place = bsearch(&series->x[i], places, n, sizeof *places, compare_values);
        if (place == NULL || series->row[i] >= chart->n_categories || !scale_has(chart->z.scale, series->y[i]))
            continue;
        const size_t at = (size_t)(place - places);
        add_box(data, border_before(places, n, at), border_after(places, n, at), (double)series->row[i], 1.0);
        add_number(data, series->y[i], '\n');
    }
    mem_free(places);
}

/* --- all of it --- */

static void add_series(const struct frame *frame, size_t index, const struct lanes *lanes, struct text *data)
{
    const struct plot_chart *chart = frame->chart;
    const struct plot_series *series = &chart->series[index];
    if (!gnuplot_has_data(chart, series))
        text_add(data, "NaN NaN NaN NaN\n");
    else if (chart->kind == PLOT_BAR || chart->kind == PLOT_DOTS)
        add_bars(data, chart, index);
    else if (chart->kind == PLOT_GANTT)
        add_gantt(data, chart, index, lanes);
    else if (chart->kind == PLOT_HEATMAP)
        add_heatmap(data, chart, series);
    else if (chart->kind == PLOT_CDF && !series->is_reference)
        add_cdf(data, series);
    else
        add_points(data, series);
    text_add(data, "\n\n");
}

void gnuplot_data(const struct frame *frame, struct text *data)
{
    const struct plot_chart *chart = frame->chart;
    struct lanes lanes = {0};
    add_comment(data, chart->title);
    if (chart->kind == PLOT_GANTT && lanes_init(&lanes, chart, -DBL_MAX, DBL_MAX) != 0) data->failed = true;
    for (size_t i = 0; i < chart->n_series && !data->failed; i++) add_series(frame, i, &lanes, data);
    for (size_t i = 0; i < chart->n_series && !data->failed; i++) {
        if (!gnuplot_has_front(chart, &chart->series[i])) continue;
        add_front(data, &chart->series[i]);
        text_add(data, "\n\n");
    }
    lanes_fini(&lanes);
}
