/* What a chart's axes have to cover. */
#include "analysis/plot/frame.h"

#include <math.h>

static void add_all(struct extent *extent, const double *values, size_t n)
{
    for (size_t i = 0; values != NULL && i < n; i++) extent_add(extent, values[i]);
}

/* A point counts only when both of its numbers have a place. */
static void add_points(const struct plot_series *series, struct extent *x, struct extent *y)
{
    if (series->x == NULL || series->y == NULL) return;
    for (size_t i = 0; i < series->n; i++) {
        if (!scale_has(x->kind, series->x[i]) || !scale_has(y->kind, series->y[i])) continue;
        extent_add(x, series->x[i]);
        extent_add(y, series->y[i]);
        if (series->low != NULL) extent_add(y, series->low[i]);
        if (series->high != NULL) extent_add(y, series->high[i]);
    }
}

static void add_series(const struct plot_chart *chart, const struct plot_series *series, struct extent *x,
                       struct extent *y, struct extent *z)
{
    switch (chart->kind) {
    case PLOT_CDF:
        if (series->y != NULL)
            add_points(series, x, y);
        else
            add_all(x, series->x, series->n);
        break;
    case PLOT_BAR:
    case PLOT_DOTS:
        add_all(y, series->y, series->n);
        add_all(y, series->low, series->n);
        add_all(y, series->high, series->n);
        break;
    case PLOT_HEATMAP:
        add_all(x, series->x, series->n);
        add_all(z, series->y, series->n);
        break;
    case PLOT_GANTT:
        add_all(x, series->x, series->n);
        add_all(x, series->x_end, series->n);
        break;
    case PLOT_LINE:
    case PLOT_STEP:
    case PLOT_SCATTER: add_points(series, x, y); break;
    }
}

static void add_line(const struct plot_line *line, struct extent *x, struct extent *y)
{
    if (line->kind == PLOT_AT_Y) extent_add(y, line->value);
    if (line->kind == PLOT_AT_X) extent_add(x, line->value);
}

void chart_extents(const struct plot_chart *chart, struct extent *x, struct extent *y, struct extent *z)
{
    extent_init(x, chart->x.scale);
    extent_init(y, chart->y.scale);
    extent_init(z, chart->z.scale);
    for (size_t i = 0; i < chart->n_series; i++) add_series(chart, &chart->series[i], x, y, z);
    for (size_t i = 0; i < chart->n_lines; i++) add_line(&chart->lines[i], x, y);
    if (!chart->is_square) return;
    const struct extent of_x = *x;
    extent_add(x, y->low);
    extent_add(x, y->high);
    extent_add(y, of_x.low);
    extent_add(y, of_x.high);
    x->has_fraction = y->has_fraction = x->has_fraction || y->has_fraction;
}
