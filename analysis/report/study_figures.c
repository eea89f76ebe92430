#include "analysis/report/study.h"

#include "analysis/plot/scale.h"
#include "analysis/report/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 7, MAX_FIGURES = 6 };

#define Y_LENGTH_PX 240.0 /* about those of a figure of the page */
#define Y_TICK_PX 38.0

const char *study_metric_title(const struct study_metric *metric, struct arena *arena)
{
    char words[WORDS_CHARS];
    const char *name = words_metric(metric->name, words);
    if (strcmp(metric->unit, "1") == 0 || metric->unit[0] == 0 || strstr(name, " per ") != NULL)
        return arena_strdup(arena, name);
    return arena_printf(arena, "%s (%s)", name, metric->unit);
}

/* --- What goes where --- */

/* Masks of axes. */
struct layout {
    size_t x;               /* axis along x */
    unsigned lines, panels; /* axes whose combinations are lines, and figures */
    bool is_cloud;
};

static size_t count_combinations(const struct study *study, unsigned mask)
{
    size_t n = 0;
    for (size_t p = 0; p < study->n_points; p++) {
        size_t k = 0;
        while (k < p && !study_same(study, &study->points[k], &study->points[p], mask)) k++;
        n += k == p;
    }
    return n;
}

/* The axis with most values in the mask, a numeric one if possible; n_axes if the mask is empty. */
static size_t widest_axis(const struct study *study, unsigned mask, bool prefers_numbers, size_t most)
{
    size_t best = study->n_axes;
    for (size_t a = 0; a < study->n_axes; a++) {
        const struct study_axis *axis = &study->axes[a];
        if ((mask >> a & 1) == 0 || axis->n > most) continue;
        const bool is_number = prefers_numbers && axis->numbers != NULL && axis->n > 1;
        const bool best_number = best < study->n_axes && prefers_numbers && study->axes[best].numbers != NULL &&
                                 study->axes[best].n > 1;
        if (best == study->n_axes || is_number > best_number ||
            (is_number == best_number && axis->n > study->axes[best].n))
            best = a;
    }
    return best;
}

static struct layout choose_layout(const struct study *study)
{
    const unsigned all = (1U << study->n_axes) - 1U;
    struct layout layout = {.x = widest_axis(study, all, true, SIZE_MAX)};
    layout.lines = all & ~(1U << layout.x);
    const struct study_axis *axis = &study->axes[layout.x];
    layout.is_cloud = study->n_axes > 1 && axis->numbers != NULL && study->n_points > 8 && 3 * axis->n > 2 * study->n_points;
    if (layout.is_cloud || count_combinations(study, layout.lines) <= MAX_LINES) return layout;
    const size_t line_axis = widest_axis(study, layout.lines, false, MAX_LINES);
    layout.panels = layout.lines;
    layout.lines = line_axis < study->n_axes ? 1U << line_axis : 0;
    layout.panels &= ~layout.lines;
    return layout;
}

/* --- Lines --- */

/* One figure: points with equal values on the panel's axes. */
struct panel {
    const struct report_source *source;
    const struct study *study;
    struct layout layout;
    size_t metric;
    const struct study_point *sample; /* any of its points */
    const struct plot_axis *y;        /* of all panels of the metric */
    size_t n_series;
    struct plot_series series[MAX_LINES];
    size_t n_left_out; /* points of combinations without a line */
};

static bool is_in_panel(const struct panel *panel, const struct study_point *point)
{
    return study_same(panel->study, panel->sample, point, panel->layout.panels);
}

static int add_line(struct panel *panel, const struct study_point *first)
{
    const struct study_line line = {.x = panel->layout.x, .metric = panel->metric,
                                    .fixed = panel->layout.lines | panel->layout.panels, .named = panel->layout.lines};
    return study_draw_line(panel->study, first, &line, panel->source->arena, &panel->series[panel->n_series++]);
}

/* Adds one line per combination, at its first point. */
static int add_lines(struct panel *panel)
{
    const struct study *study = panel->study;
    int code = 0;
    for (size_t p = 0; p < study->n_points && code == 0; p++) {
        const struct study_point *point = &study->points[p];
        if (!is_in_panel(panel, point)) continue;
        size_t k = 0;
        while (k < p && !(is_in_panel(panel, &study->points[k]) &&
                          study_same(study, &study->points[k], point, panel->layout.lines)))
            k++;
        if (k < p) continue;
        if (panel->n_series == MAX_LINES)
            panel->n_left_out++;
        else
            code = add_line(panel, point);
    }
    return code;
}

/* A logarithmic axis if all values are above zero and far apart. */
static enum plot_scale choose_scale(double low, double high)
{
    return low > 0.0 && high > 50.0 * low ? PLOT_LOG : PLOT_LINEAR;
}

/* One axis for all panels of a metric, so that their heights compare; with one panel it fits itself. */
static struct plot_axis axis_of_y(const struct study *study, size_t metric, const char *title, bool is_shared)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (size_t p = 0; p < study->n_points; p++) {
        low = fmin(low, study->points[p].metrics[metric].mean);
        high = fmax(high, study->points[p].metrics[metric].mean);
    }
    struct plot_axis axis = {.title = title, .scale = choose_scale(low, high)};
    struct extent extent;
    struct scale scale = {.kind = axis.scale};
    if (!is_shared || !(low < high)) return axis;
    extent_init(&extent, axis.scale);
    for (size_t p = 0; p < study->n_points; p++) {
        const struct interval *value = &study->points[p].metrics[metric];
        extent_add(&extent, value->mean);
        extent_add(&extent, low >= 0.0 ? fmax(0.0, value->low) : value->low); /* an interval may reach below 0 */
        extent_add(&extent, value->high);
    }
    scale_fit(&scale, &axis, &extent, FIT_ROUND, Y_LENGTH_PX, Y_TICK_PX);
    axis.low = scale.low;
    axis.high = scale.high;
    return axis;
}

static enum plot_scale scale_of_x(const struct study_axis *axis)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (size_t i = 0; axis->numbers != NULL && i < axis->n; i++) {
        low = fmin(low, axis->numbers[i]);
        high = fmax(high, axis->numbers[i]);
    }
    return choose_scale(low, high);
}

static const char *describe(const struct panel *panel)
{
    const char *seeds = "";
    if (panel->n_series > 0 && panel->series[0].low != NULL)
        seeds = panel->study->is_bootstrap
                    ? "Means over bootstrap replicates of the trace, with the 95 % interval of their spread. "
                    : "Means over the seeds, with their 95 % t-intervals. ";
    if (panel->n_left_out == 0) return seeds;
    return arena_printf(panel->source->arena, "%sThe first %d combinations have a line, %zu have none.", seeds,
                        MAX_LINES, panel->n_left_out);
}

static int draw_panel(struct panel *panel, struct text *html)
{
    struct arena *arena = panel->source->arena;
    const struct study *study = panel->study;
    const struct study_axis *axis = &study->axes[panel->layout.x];
    const struct study_metric *metric = &study->metrics[panel->metric];
    int code = add_lines(panel);
    const char *where = study_label(study, panel->sample, panel->layout.panels, arena);
    const char *title = where != NULL && where[0] != 0 ? arena_printf(arena, "%s, %s", metric->name, where)
                                                       : metric->name;
    const char *note = describe(panel);
    if (code != 0 || where == NULL || title == NULL || note == NULL) return SIM_E_NOMEM;
    const bool is_words = axis->numbers == NULL;
    const struct plot_chart chart = {
        .kind = is_words ? PLOT_DOTS : PLOT_LINE, .title = title, .x = {.title = axis->key, .scale = scale_of_x(axis)},
        .y = *panel->y, .n_categories = is_words ? axis->n : 0,
        .categories = is_words ? axis->values : NULL, .n_series = panel->n_series, .series = panel->series};
    const struct page_figure figure = {.chart = &chart, .note = note[0] != 0 ? note : NULL, .queries = study->queries,
                                       .n_queries = 3, .group = is_words ? NULL : axis->key};
    page_figure(html, &figure);
    return 0;
}

static int draw_panels(const struct report_source *source, const struct study *study, const struct layout *layout,
                       size_t metric, struct text *html)
{
    int code = 0, n = 0;
    const char *title = study_metric_title(&study->metrics[metric], source->arena);
    if (title == NULL) return SIM_E_NOMEM;
    const struct plot_axis y = axis_of_y(study, metric, title, count_combinations(study, layout->panels) > 1);
    for (size_t p = 0; p < study->n_points && code == 0 && n < MAX_FIGURES; p++) {
        size_t k = 0;
        while (k < p && !study_same(study, &study->points[k], &study->points[p], layout->panels)) k++;
        if (k < p) continue;
        struct panel panel = {.source = source, .study = study, .layout = *layout, .metric = metric,
                              .sample = &study->points[p], .y = &y};
        code = draw_panel(&panel, html);
        n++;
    }
    return code;
}

/* --- Clouds and fronts --- */

static int label_points(const struct study *study, struct arena *arena, const char **labels)
{
    for (size_t p = 0; p < study->n_points; p++)
        if ((labels[p] = study_label(study, &study->points[p], ~0U, arena)) == NULL) return SIM_E_NOMEM;
    return 0;
}

struct cloud {
    double *x, *y;
    const char **labels;
};

static int init_cloud(const struct study *study, struct arena *arena, struct cloud *cloud)
{
    cloud->x = arena_alloc(arena, (study->n_points + 1) * sizeof *cloud->x);
    cloud->y = arena_alloc(arena, (study->n_points + 1) * sizeof *cloud->y);
    cloud->labels = arena_alloc(arena, (study->n_points + 1) * sizeof *cloud->labels);
    if (cloud->x == NULL || cloud->y == NULL || cloud->labels == NULL) return SIM_E_NOMEM;
    return label_points(study, arena, cloud->labels);
}

static void draw_cloud(const struct study *study, const struct plot_series *series, const char *title,
                       const struct plot_axis axes[2], const char *note, struct text *html)
{
    const struct plot_chart chart = {.kind = PLOT_SCATTER, .title = title, .x = axes[0], .y = axes[1], .n_series = 1,
                                     .series = series};
    const struct page_figure figure = {.chart = &chart, .note = note, .queries = study->queries, .n_queries = 3};
    page_figure(html, &figure);
}

static int draw_clouds(const struct report_source *source, const struct study *study, size_t metric, struct text *html)
{
    const char *title = study_metric_title(&study->metrics[metric], source->arena);
    int n = 0;
    for (size_t a = 0; a < study->n_axes && n < MAX_FIGURES; a++) {
        const struct study_axis *axis = &study->axes[a];
        struct cloud cloud;
        if (axis->numbers == NULL) continue;
        if (title == NULL || init_cloud(study, source->arena, &cloud) != 0) return SIM_E_NOMEM;
        for (size_t p = 0; p < study->n_points; p++) {
            cloud.x[p] = axis->numbers[study->points[p].levels[a]];
            cloud.y[p] = study->points[p].metrics[metric].mean;
        }
        const struct plot_series series = {.n = study->n_points, .x = cloud.x, .y = cloud.y, .labels = cloud.labels};
        const struct plot_axis axes[] = {{.title = axis->key, .scale = scale_of_x(axis)}, {.title = title}};
        draw_cloud(study, &series, study->metrics[metric].name, axes, NULL, html);
        n++;
    }
    return 0;
}

int study_draw_metric(const struct report_source *source, const struct study *study, size_t metric, struct text *html)
{
    if (study->n_axes == 0) return 0;
    const struct layout layout = choose_layout(study);
    return layout.is_cloud ? draw_clouds(source, study, metric, html)
                           : draw_panels(source, study, &layout, metric, html);
}

int study_draw_front(const struct report_source *source, const struct study *study, size_t metric_a, size_t metric_b,
                     const bool *on_front, struct text *html)
{
    const struct study_metric *a = &study->metrics[metric_a], *b = &study->metrics[metric_b];
    struct cloud cloud;
    const char *x_title = study_metric_title(a, source->arena), *y_title = study_metric_title(b, source->arena);
    if (x_title == NULL || y_title == NULL || init_cloud(study, source->arena, &cloud) != 0) return SIM_E_NOMEM;
    double low[2] = {(double)INFINITY, (double)INFINITY}, high[2] = {-(double)INFINITY, -(double)INFINITY};
    for (size_t p = 0; p < study->n_points; p++) {
        cloud.x[p] = study->points[p].metrics[metric_a].mean;
        cloud.y[p] = study->points[p].metrics[metric_b].mean;
        low[0] = fmin(low[0], cloud.x[p]);
        high[0] = fmax(high[0], cloud.x[p]);
        low[1] = fmin(low[1], cloud.y[p]);
        high[1] = fmax(high[1], cloud.y[p]);
    }
    const struct plot_series series = {.n = study->n_points, .x = cloud.x, .y = cloud.y, .on_front = on_front,
                                       .labels = cloud.labels};
    const struct plot_axis axes[] = {{.title = x_title, .scale = choose_scale(low[0], high[0])},
                                     {.title = y_title, .scale = choose_scale(low[1], high[1])}};
    const char *title = arena_printf(source->arena, "%s against %s", a->name, b->name);
    if (title == NULL) return SIM_E_NOMEM;
    draw_cloud(study, &series, title, axes,
               "Joined: the points that no other point beats in both metrics (Pareto front).", html);
    return 0;
}
