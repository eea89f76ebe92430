/* A chart for gnuplot: a file with all numbers, and a script with the ranges, colours and order of the drawing. Texts
 * are in single quotes, in which gnuplot neither runs commands nor knows escapes. */
#include "analysis/plot/frame.h"
#include "analysis/plot/mark.h"
#include "sim/core/mem.h"
#include "sim/core/real_list.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The width of a bar, as a share of its category. */
static double gnuplot_bar_width(const struct plot_chart *chart)
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

static bool gnuplot_has_data(const struct plot_chart *chart, const struct plot_series *series)
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

static bool gnuplot_has_front(const struct plot_chart *chart, const struct plot_series *series)
{
    if (chart->kind != PLOT_SCATTER || series->on_front == NULL || series->is_reference) return false;
    if (series->x == NULL || series->y == NULL) return false;
    for (size_t i = 0; i < series->n; i++)
        if (series->on_front[i] && scale_has(chart->x.scale, series->x[i]) && scale_has(chart->y.scale, series->y[i]))
            return true;
    return false;
}

/* --- points --- */

static void list_points(struct text *data, const struct plot_series *series)
{
    add_heading(data, series->name, "x y low high");
    for (size_t i = 0; i < series->n; i++) {
        add_number(data, series->x[i], ' ');
        add_number(data, series->y[i], ' ');
        add_number(data, end_of(series->low, i, series->y[i]), ' ');
        add_number(data, end_of(series->high, i, series->y[i]), '\n');
    }
}

static void add_front(struct text *data, const struct plot_series *series)
{
    struct px_point *points = mem_alloc((series->n + 1) * sizeof *points);
    size_t n = 0;
    add_heading(data, series->name, "x y: the front");
    for (size_t i = 0; points != NULL && i < series->n; i++)
        if (series->on_front[i] && scale_has(PLOT_LINEAR, series->x[i]) && scale_has(PLOT_LINEAR, series->y[i]))
            points[n++] = (struct px_point){series->x[i], series->y[i]};
    if (points == NULL) {
        data->failed = true;
        return;
    }
    qsort(points, n, sizeof *points, mark_compare_points);
    for (size_t i = 0; i < n; i++) {
        add_number(data, points[i].x, ' ');
        add_number(data, points[i].y, '\n');
    }
    mem_free(points);
}

/* The values that the axis can show, sorted; NULL when out of memory. */
static double *sort_values(const double *values, size_t n_values, size_t *n)
{
    double *sorted = mem_alloc((n_values + 1) * sizeof *sorted);
    *n = 0;
    if (sorted == NULL) return NULL;
    for (size_t i = 0; i < n_values; i++)
        if (scale_has(PLOT_LINEAR, values[i])) sorted[(*n)++] = values[i];
    qsort(sorted, *n, sizeof *sorted, real_compare);
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
        const double *place = bsearch(&series->x[i], places, n, sizeof *places, real_compare);
        if (place == NULL || series->row[i] >= chart->n_categories || !scale_has(chart->z.scale, series->y[i]))
            continue;
        const size_t at = (size_t)(place - places);
        add_box(data, border_before(places, n, at), border_after(places, n, at), (double)series->row[i], 1.0);
        add_number(data, series->y[i], '\n');
    }
    mem_free(places);
}

/* --- all of it --- */

static void list_series(const struct frame *frame, size_t index, const struct lanes *lanes, struct text *data)
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
        list_points(data, series);
    text_add(data, "\n\n");
}

/* Adds a block for every series (one line of NaN if it is empty), so that block i is series i; then, for points, one
 * per series with its front. Nothing is thinned or cut. */
static void gnuplot_data(const struct frame *frame, struct text *data)
{
    const struct plot_chart *chart = frame->chart;
    struct lanes lanes = {0};
    add_comment(data, chart->title);
    if (chart->kind == PLOT_GANTT && lanes_init(&lanes, chart, -DBL_MAX, DBL_MAX) != 0) data->failed = true;
    for (size_t i = 0; i < chart->n_series && !data->failed; i++) list_series(frame, i, &lanes, data);
    for (size_t i = 0; i < chart->n_series && !data->failed; i++) {
        if (!gnuplot_has_front(chart, &chart->series[i])) continue;
        add_front(data, &chart->series[i]);
        text_add(data, "\n\n");
    }
    lanes_fini(&lanes);
}

/* --- the script --- */

static void add_quoted(struct text *script, const char *chars)
{
    text_add(script, "'");
    for (; *chars != 0; chars++) {
        if (*chars == '\'')
            text_add(script, "''");
        else
            text_add_bytes(script, (unsigned char)*chars < 0x20 ? " " : chars, 1);
    }
    text_add(script, "'");
}

static void add_text(struct text *script, const char *command, const char *chars)
{
    if (chars == NULL) return;
    text_printf(script, "%s ", command);
    add_quoted(script, chars);
    text_add(script, "\n");
}

/* --- axes --- */

/* Puts the labels of `times`, or else the names of the categories, at their places. */
static void add_labels(struct text *script, const struct frame *frame, char axis, const struct ticks *times)
{
    const bool is_slanted = axis == 'x' && (frame->names.is_slanted || frame->names.n_lines > 1);
    const size_t n = times != NULL ? times->n : frame->chart->n_categories;
    text_printf(script, "set %ctics %s(", axis, times == NULL && is_slanted ? "rotate by 35 right " : "");
    for (size_t i = 0; i < n; i += times != NULL ? 1 : frame->names.every) {
        if (i > 0) text_add(script, ", ");
        add_quoted(script, times != NULL ? times->at[i].label : frame_category(frame, i));
        text_printf(script, " %.10g", times != NULL ? times->at[i].value : (double)i);
    }
    text_add(script, ")\n");
}

/* In two lines where the frame has two. */
static void add_y_title(struct text *script, const struct frame *frame)
{
    const char *title = frame->chart->y.title;
    const size_t second = frame->y_title_break;
    struct text first;
    if (second == 0) {
        add_text(script, "set ylabel", title);
        return;
    }
    text_init(&first);
    text_add_bytes(&first, title, second - 1);
    text_add(script, "set ylabel ");
    if (first.failed)
        script->failed = true;
    else
        add_quoted(script, first.chars);
    text_fini(&first);
    text_add(script, " . \"\\n\" . ");
    add_quoted(script, title + second);
    text_add(script, "\n");
}

static void add_axis(struct text *script, const struct frame *frame, char axis)
{
    const bool is_x = axis == 'x';
    const struct scale *scale = is_x ? &frame->x : &frame->y;
    const bool is_named = is_x ? frame->x_is_named : frame->y_is_named;
    if (is_x)
        add_text(script, "set xlabel", frame->chart->x.title);
    else
        add_y_title(script, frame);
    if (scale->kind == PLOT_LOG) text_printf(script, "set logscale %c\n", axis);
    const bool is_reversed = is_named && !is_x; /* the first row stands above */
    text_printf(script, "set %crange [%.10g:%.10g]\n", axis, is_reversed ? scale->high : scale->low,
                is_reversed ? scale->low : scale->high);
    if (is_named)
        add_labels(script, frame, axis, NULL);
    else if (scale->kind == PLOT_TIME)
        add_labels(script, frame, axis, is_x ? &frame->x_ticks : &frame->y_ticks);
}

static void add_colours(struct text *script, const struct frame *frame)
{
    enum { STOPS = 9 };
    text_add(script, "set palette defined (");
    for (int i = 0; i < STOPS; i++) {
        char colour[8];
        style_heat(i * (STYLE_HEAT_LEVELS - 1) / (STOPS - 1), colour);
        text_printf(script, "%s%d '%s'", i > 0 ? ", " : "", i, colour);
    }
    text_printf(script, ")\n%sset cbrange [%.10g:%.10g]\n", frame->z.kind == PLOT_LOG ? "set logscale cb\n" : "",
                frame->z.low, frame->z.high);
    add_text(script, "set cblabel", frame->chart->z.title);
}

/* --- what is plotted --- */

struct clauses {
    struct text *script;
    const char *data_name;
    bool has_any;
};

/* Begins one clause of the plot command, which reads a block of the data with `columns`. */
static void begin_clause(struct clauses *clauses, size_t block, const char *columns)
{
    text_add(clauses->script, clauses->has_any ? ", \\\n     " : "plot ");
    if (clauses->data_name[0] == '$')
        text_add(clauses->script, clauses->data_name);
    else
        add_quoted(clauses->script, clauses->data_name);
    text_printf(clauses->script, " index %zu using %s ", block, columns);
    clauses->has_any = true;
}

static void end_clause(struct clauses *clauses, const char *name)
{
    if (name == NULL) {
        text_add(clauses->script, " notitle");
        return;
    }
    text_add(clauses->script, " title ");
    add_quoted(clauses->script, name);
}

static bool has_intervals(const struct plot_series *series)
{
    return series->low != NULL && series->high != NULL;
}

static void add_intervals(struct clauses *clauses, const struct plot_series *series, size_t i, const char *colour)
{
    if (!has_intervals(series)) return;
    begin_clause(clauses, i, "1:2:3:4");
    text_printf(clauses->script, "with yerrorbars pointtype 0 pointsize 0 linecolor rgb '%s'", colour);
    end_clause(clauses, NULL);
}

static void add_points(struct clauses *clauses, const struct frame *frame, size_t i)
{
    const struct plot_series *series = &frame->chart->series[i];
    const struct series_style style = style_of_series(frame->chart, i);
    static const int filled[DRAW_MARKERS] = {7, 5, 9, 13, 11, 3};
    const int type = filled[style.shape % DRAW_MARKERS], hollow = type > 3 ? type - 1 : 2;
    add_intervals(clauses, series, i, style.colour);
    begin_clause(clauses, i, "1:2");
    text_printf(clauses->script, "with points pointtype %d linecolor rgb '%s'", series->is_reference ? hollow : type,
                style.colour);
    end_clause(clauses, series->name);
}

static void add_line(struct clauses *clauses, const struct frame *frame, size_t i)
{
    const struct plot_series *series = &frame->chart->series[i];
    const struct series_style style = style_of_series(frame->chart, i);
    if (frame->chart->has_whiskers) add_intervals(clauses, series, i, style.colour);
    if (frame->chart->kind == PLOT_LINE && has_intervals(series) && !frame->chart->has_whiskers) {
        begin_clause(clauses, i, "1:3:4");
        text_printf(clauses->script, "with filledcurves fillcolor rgb '%s' fillstyle transparent solid 0.18 noborder",
                    style.colour);
        end_clause(clauses, NULL);
    }
    begin_clause(clauses, i, "1:2");
    text_printf(clauses->script, "with %s linewidth 2 linecolor rgb '%s'",
                frame->chart->kind == PLOT_LINE ? "lines" : "steps", style.colour);
    end_clause(clauses, series->name);
}

static void add_boxes(struct clauses *clauses, const struct frame *frame, size_t i)
{
    const struct plot_series *series = &frame->chart->series[i];
    const char *colour = style_of_series(frame->chart, i).colour;
    if (frame->chart->kind == PLOT_HEATMAP) {
        begin_clause(clauses, i, "1:2:3:4:5:6:7");
        text_add(clauses->script, "with boxxyerror fillstyle solid 1 noborder fillcolor palette");
        end_clause(clauses, NULL);
        return;
    }
    begin_clause(clauses, i, frame->chart->kind == PLOT_GANTT ? "1:2:3:4:5:6" : "1:2");
    text_printf(clauses->script, "with %s fillstyle solid 1 noborder fillcolor rgb '%s'",
                frame->chart->kind == PLOT_GANTT ? "boxxyerror" : "boxes", colour);
    end_clause(clauses, series->name);
    if (frame->chart->kind == PLOT_BAR) add_intervals(clauses, series, i, STYLE_INK);
}

static void add_series(struct clauses *clauses, const struct frame *frame, size_t i)
{
    const struct plot_chart *chart = frame->chart;
    const struct plot_series *series = &chart->series[i];
    const bool is_by_boxes = chart->kind == PLOT_HEATMAP || chart->kind == PLOT_GANTT;
    if (!gnuplot_has_data(chart, series)) return;
    if (is_by_boxes || (chart->kind == PLOT_BAR && !series->is_reference))
        add_boxes(clauses, frame, i);
    else if (series->is_reference || chart->kind == PLOT_DOTS || chart->kind == PLOT_SCATTER)
        add_points(clauses, frame, i);
    else
        add_line(clauses, frame, i);
}

static void add_fronts(struct clauses *clauses, const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    size_t block = chart->n_series;
    for (size_t i = 0; i < chart->n_series; i++) {
        if (!gnuplot_has_front(chart, &chart->series[i])) continue;
        begin_clause(clauses, block++, "1:2");
        text_printf(clauses->script, "with lines linecolor rgb '%s'", style_of_series(chart, i).colour);
        end_clause(clauses, NULL);
    }
}

/* A vertical line is an arrow, which gnuplot does not list in the legend: an empty line is listed for it. */
static void add_plot_line(struct clauses *clauses, const struct plot_line *line)
{
    if (!scale_has(PLOT_LINEAR, line->value)) return;
    text_add(clauses->script, clauses->has_any ? ", \\\n     " : "plot ");
    clauses->has_any = true;
    if (line->kind == PLOT_AT_X)
        text_add(clauses->script, "NaN");
    else
        text_printf(clauses->script, line->kind == PLOT_RATIO ? "x * (%.10g)" : "(%.10g)", line->value);
    text_printf(clauses->script, " with lines dashtype %d linecolor rgb '%s'", line->is_dashed ? 2 : 1, STYLE_QUIET);
    end_clause(clauses, line->name);
}

/* The name of the data without its ending, for the drawing beside it. */
static void add_output(struct text *script, const char *data_name)
{
    const char *dot = strrchr(data_name, '.');
    struct text stem;
    text_init(&stem);
    text_add_bytes(&stem, data_name, dot != NULL && dot != data_name ? (size_t)(dot - data_name) : strlen(data_name));
    add_quoted(script, stem.failed || stem.length == 0 ? "chart" : stem.chars);
    script->failed |= stem.failed;
    text_fini(&stem);
}

/* Where the drawing goes. A script with its data in it ("$data") is begun by its writer, who says that above. */
static void add_terminal(struct text *script, const char *data_name)
{
    if (data_name[0] == '$') return;
    text_add(
        script,
        "# Draws an SVG, or a PNG where gnuplot has no terminal for that; -e \"terminal='pdfcairo'; output='x.pdf'\"\n"
        "# draws something else.\n"
        "if (!exists('terminal')) terminal = strstrt(GPVAL_TERMINALS, 'svg') > 0 ? 'svg' : 'png'\n"
        "if (!exists('output')) output = ");
    add_output(script, data_name);
    text_add(script, " . '.' . terminal\nset terminal @terminal\nset output output\n");
}

static void add_settings(struct text *script, const struct frame *frame, const char *data_name)
{
    const struct plot_chart *chart = frame->chart;
    add_terminal(script, data_name);
    text_add(script, "set encoding utf8\n"
                     "set termoption noenhanced\nset datafile missing 'NaN'\nset key outside center top horizontal\n"
                     "set grid linecolor rgb '" STYLE_GRID "'\nset border 3\nset tics nomirror out\n");
    if (chart->title != NULL) {
        text_add(script, "set title ");
        add_quoted(script, chart->title);
        if (chart->subtitle != NULL) {
            text_add(script, " . \"\\n\" . ");
            add_quoted(script, chart->subtitle);
        }
        text_add(script, "\n");
    } else if (chart->subtitle != NULL) {
        text_add(script, "set title ");
        add_quoted(script, chart->subtitle);
        text_add(script, "\n");
    }
    add_axis(script, frame, 'x');
    add_axis(script, frame, 'y');
    if (chart->is_square) text_add(script, "set size square\n");
    if (chart->kind == PLOT_BAR) text_printf(script, "set boxwidth %.4g\n", 0.96 * gnuplot_bar_width(chart));
    if (chart->kind == PLOT_HEATMAP) add_colours(script, frame);
    for (size_t i = 0; i < chart->n_lines; i++) {
        const struct plot_line *line = &chart->lines[i];
        if (line->kind == PLOT_AT_X && scale_has(PLOT_LINEAR, line->value))
            text_printf(script,
                        "set arrow from first %.10g, graph 0 to first %.10g, graph 1 nohead dashtype %d lc rgb '%s'\n",
                        line->value, line->value, line->is_dashed ? 2 : 1, STYLE_QUIET);
    }
}

void plot_gnuplot(const struct plot_chart *chart, const char *data_name, struct text *script, struct text *data)
{
    struct frame frame;
    struct clauses clauses = {script, data_name, false};
    frame_init(&frame, chart, script);
    add_settings(script, &frame, data_name);
    const size_t n = chart->kind == PLOT_HEATMAP && chart->n_series > 1 ? 1 : chart->n_series;
    for (int over = 0; over < 2; over++)
        for (size_t i = 0; i < n; i++)
            if (chart->series[i].is_reference == (over == 1)) add_series(&clauses, &frame, i);
    add_fronts(&clauses, &frame);
    for (size_t i = 0; i < chart->n_lines; i++) add_plot_line(&clauses, &chart->lines[i]);
    if (!clauses.has_any) text_add(script, "plot NaN notitle");
    text_add(script, "\n");
    gnuplot_data(&frame, data);
}
