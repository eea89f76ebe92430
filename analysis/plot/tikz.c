/* A chart as a tikzpicture of pgfplots, with its numbers in it. The paper's own fonts and sizes apply. Lines, bars and
 * dots only. */
#include "analysis/plot/draw.h"
#include "analysis/plot/mark.h"
#include "analysis/plot/plot.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_number(struct text *tex, double value)
{
    if (scale_has(PLOT_LINEAR, value))
        text_json_number(tex, value);
    else
        text_add(tex, "nan");
}

static void add_option(struct text *tex, const char *key, const char *chars)
{
    if (chars == NULL) return;
    text_printf(tex, "  %s={", key);
    text_latex(tex, chars);
    text_add(tex, "},\n");
}

/* Adds the title of y, in two lines if it is longer than the axis in type of 10 points. */
static void add_y_title(struct text *tex, const char *title, double height_cm)
{
    static const double pt_per_cm = 28.45, type_pt = 10.0, beside_pt = 45.0; /* beside: of the labels along x */
    const bool fits = title == NULL || text_width_px(title, strlen(title), type_pt) < pt_per_cm * height_cm - beside_pt;
    const size_t second = fits ? 0 : text_halve(title);
    struct text first;
    if (second == 0) {
        add_option(tex, "ylabel", title);
        return;
    }
    text_init(&first);
    text_add_bytes(&first, title, second - 1);
    text_add(tex, "  ylabel style={align=center}, ylabel={");
    if (first.failed)
        tex->failed = true;
    else
        text_latex(tex, first.chars);
    text_fini(&first);
    text_add(tex, "\\\\");
    text_latex(tex, title + second);
    text_add(tex, "},\n");
}

static void add_axis(struct text *tex, char name, const struct plot_axis *axis)
{
    if (axis->scale == PLOT_LOG) text_printf(tex, "  %cmode=log,\n", name);
    if (!(axis->low < axis->high)) return;
    text_printf(tex, "  %cmin=", name);
    add_number(tex, axis->low);
    text_printf(tex, ", %cmax=", name);
    add_number(tex, axis->high);
    text_add(tex, ",\n");
}

static void add_categories(struct text *tex, const struct plot_chart *chart)
{
    if (chart->n_categories == 0) return;
    text_add(tex, "  xtick={");
    for (size_t i = 0; i < chart->n_categories; i++) text_printf(tex, "%s%zu", i > 0 ? "," : "", i);
    text_add(tex, "},\n  xticklabels={");
    for (size_t i = 0; i < chart->n_categories; i++) {
        text_add(tex, i > 0 ? ",{" : "{");
        text_latex(tex, chart->categories[i]);
        text_add(tex, "}");
    }
    text_printf(tex, "},\n  xmin=-0.5, xmax=%zu.5,\n", chart->n_categories - 1);
}

/* The title, and below it the subtitle in small type. */
static void add_title(struct text *tex, const struct plot_chart *chart)
{
    if (chart->subtitle == NULL) {
        add_option(tex, "title", chart->title);
        return;
    }
    text_add(tex, "  title style={align=center}, title={");
    if (chart->title != NULL) {
        text_latex(tex, chart->title);
        text_add(tex, "\\\\");
    }
    text_add(tex, "\\footnotesize ");
    text_latex(tex, chart->subtitle);
    text_add(tex, "},\n");
}

/* Ticks at given values; those that pgfplots finds if there are none. */
static void add_ticks(struct text *tex, const struct plot_axis *axis)
{
    for (size_t i = 0; i < axis->n_ticks; i++) {
        text_add(tex, i == 0 ? "  xtick={" : ",");
        add_number(tex, axis->ticks[i]);
    }
    if (axis->n_ticks > 0) text_add(tex, axis->scale == PLOT_LOG ? "},\n  log ticks with fixed point,\n" : "},\n");
}

static void begin_axis(struct text *tex, const struct plot_chart *chart, double width_cm, double height_cm)
{
    text_printf(tex, "\\begin{axis}[\n  width=%.4gcm, height=%.4gcm, grid=major, unbounded coords=jump,\n", width_cm,
                height_cm);
    text_add(tex, "  legend style={at={(0.5,1.03)}, anchor=south, draw=none, legend columns=-1},\n");
    add_title(tex, chart);
    add_option(tex, "xlabel", chart->x.title);
    add_axis(tex, 'x', &chart->x);
    add_y_title(tex, chart->y.title, height_cm);
    add_axis(tex, 'y', &chart->y);
    add_ticks(tex, &chart->x);
    add_categories(tex, chart);
    if (chart->kind == PLOT_BAR && chart->y.scale != PLOT_LOG && !(chart->y.low < chart->y.high))
        text_add(tex, "  ymin=0,\n");
    text_add(tex, "]\n");
}

static bool has_interval(const struct plot_series *series)
{
    return series->low != NULL && series->high != NULL;
}

/* A distance from y to an end of its interval; 0 if there is none, or if that has no place on the axis. */
static double reach(const struct plot_chart *chart, double y, double end)
{
    return scale_has(chart->y.scale, end) ? fabs(end - y) : 0.0;
}

static double x_of(const struct plot_chart *chart, size_t index, size_t i)
{
    const bool is_by_place = chart->kind == PLOT_BAR || chart->kind == PLOT_DOTS;
    if (!is_by_place) return chart->series[index].x[i];
    return (double)i + bar_place(chart, index) * BAR_GROUP_SHARE / (double)bar_places(chart);
}

static void add_points(struct text *tex, const struct plot_chart *chart, size_t index, bool has_errors)
{
    const struct plot_series *series = &chart->series[index];
    text_add(tex, " coordinates {");
    for (size_t i = 0; i < series->n; i++) {
        const double y = scale_has(chart->y.scale, series->y[i]) ? series->y[i] : (double)NAN;
        text_add(tex, "\n    (");
        add_number(tex, x_of(chart, index, i));
        text_add(tex, ",");
        add_number(tex, y);
        text_add(tex, ")");
        if (!has_errors) continue;
        text_add(tex, " += (0,");
        add_number(tex, reach(chart, series->y[i], series->high[i]));
        text_add(tex, ") -= (0,");
        add_number(tex, reach(chart, series->y[i], series->low[i]));
        text_add(tex, ")");
    }
    text_add(tex, "\n  };\n");
}

static bool is_band_point(const struct plot_chart *chart, const struct plot_series *series, size_t i)
{
    return scale_has(chart->y.scale, series->low[i]) && scale_has(chart->y.scale, series->high[i]);
}

static void add_corner(struct text *tex, double x, double y)
{
    text_add(tex, " (");
    add_number(tex, x);
    text_add(tex, ",");
    add_number(tex, y);
    text_add(tex, ")");
}

/* The area between the ends of the intervals, point by point where there is one; nothing if there is none. */
static void add_band(struct text *tex, const struct plot_chart *chart, const struct plot_series *series,
                     const char *colour)
{
    size_t n = 0;
    for (size_t i = 0; i < series->n; i++) n += is_band_point(chart, series, i);
    if (n == 0) return;
    text_printf(tex, "\\addplot[draw=none, fill=%s, fill opacity=0.18, forget plot] coordinates {", colour);
    for (size_t i = 0; i < series->n; i++)
        if (is_band_point(chart, series, i)) add_corner(tex, series->x[i], series->high[i]);
    for (size_t i = series->n; i-- > 0;)
        if (is_band_point(chart, series, i)) add_corner(tex, series->x[i], series->low[i]);
    text_add(tex, "} -- cycle;\n");
}

static void add_series(struct text *tex, const struct plot_chart *chart, size_t index)
{
    static const char *const marks[DRAW_MARKERS] = {"*", "square*", "triangle*", "diamond*", "halfsquare*", "+"};
    static const char *const dashes[] = {"solid", "dashed", "dotted"};
    const struct plot_series *series = &chart->series[index];
    const struct series_style style = style_of_series(chart, index);
    const unsigned round = style.shape / PLOT_COLOURS;
    char colour[32];
    snprintf(colour, sizeof colour, "orrery%zu", index);
    text_printf(tex, "\\definecolor{%s}{HTML}{", colour);
    for (const char *c = style.colour + 1; *c != 0; c++) text_printf(tex, "%c", toupper((unsigned char)*c));
    text_add(tex, "}\n");
    const bool is_dotted = chart->kind == PLOT_DOTS || chart->kind == PLOT_SCATTER;
    const bool has_band = chart->kind == PLOT_LINE && !chart->has_whiskers;
    const bool has_errors = has_interval(series) && !has_band;
    if (has_interval(series) && has_band) add_band(tex, chart, series, colour);
    if (chart->kind == PLOT_BAR)
        text_printf(tex, "\\addplot[ybar, bar shift=0pt, bar width=%.4g, fill=%s, draw=none",
                    0.96 * BAR_GROUP_SHARE / (double)bar_places(chart), colour);
    else
        text_printf(tex, "\\addplot[%s, %s, thick, mark=%s", colour,
                    is_dotted ? "only marks" : dashes[round < 3 ? round : 2], marks[style.shape % DRAW_MARKERS]);
    if (has_errors)
        text_printf(tex, ", error bars/.cd, y dir=both, y explicit, error bar style={solid, %s}",
                    chart->kind == PLOT_BAR ? "black" : colour);
    text_add(tex, "]");
    add_points(tex, chart, index, has_errors);
    if (series->name == NULL) return;
    text_add(tex, "\\addlegendentry{");
    text_latex(tex, series->name);
    text_add(tex, "}\n");
}

void plot_tikz(const struct plot_chart *chart, double width_cm, double height_cm, struct text *tex)
{
    text_add(tex, "% \\usepackage{pgfplots} \\pgfplotsset{compat=1.16}, then \\input this file\n"
                  "\\begin{tikzpicture}\n");
    begin_axis(tex, chart, width_cm, height_cm);
    for (size_t i = 0; i < chart->n_series; i++) add_series(tex, chart, i);
    text_add(tex, "\\end{axis}\n\\end{tikzpicture}\n");
}
