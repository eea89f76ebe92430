/* The script for gnuplot, with the ranges, colours and order of the drawing. Texts are in single quotes, in which
 * gnuplot neither runs commands nor knows escapes. */
#include "analysis/plot/gnuplot.h"

#include "analysis/plot/mark.h"

#include <math.h>

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

static void add_range(struct text *script, char axis, double low, double high)
{
    text_printf(script, "set %crange [%.10g:%.10g]\n", axis, low, high);
}

static void add_time_ticks(struct text *script, char axis, const struct ticks *ticks)
{
    text_printf(script, "set %ctics (", axis);
    for (size_t i = 0; i < ticks->n; i++) {
        if (i > 0) text_add(script, ", ");
        add_quoted(script, ticks->at[i].label);
        text_printf(script, " %.10g", ticks->at[i].value);
    }
    text_add(script, ")\n");
}

static void add_names(struct text *script, const struct frame *frame, char axis)
{
    text_printf(script, "set %ctics %s(", axis,
                axis == 'x' && (frame->names.is_slanted || frame->names.n_lines > 1) ? "rotate by 35 right " : "");
    for (size_t i = 0; i < frame->chart->n_categories; i += frame->names.every) {
        if (i > 0) text_add(script, ", ");
        add_quoted(script, frame_category(frame, i));
        text_printf(script, " %zu", i);
    }
    text_add(script, ")\n");
}

static void add_axis(struct text *script, const struct frame *frame, char axis)
{
    const bool is_x = axis == 'x';
    const struct scale *scale = is_x ? &frame->x : &frame->y;
    const bool is_named = is_x ? frame->x_is_named : frame->y_is_named;
    add_text(script, is_x ? "set xlabel" : "set ylabel", is_x ? frame->chart->x.title : frame->chart->y.title);
    if (scale->kind == PLOT_LOG) text_printf(script, "set logscale %c\n", axis);
    if (is_named && !is_x)
        add_range(script, axis, scale->high, scale->low); /* the first row stands above */
    else
        add_range(script, axis, scale->low, scale->high);
    if (is_named)
        add_names(script, frame, axis);
    else if (scale->kind == PLOT_TIME)
        add_time_ticks(script, axis, is_x ? &frame->x_ticks : &frame->y_ticks);
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

static int point_type(unsigned shape, bool is_hollow)
{
    static const int filled[DRAW_MARKERS] = {7, 5, 9, 13, 11, 3};
    const int type = filled[shape % DRAW_MARKERS];
    return is_hollow && type > 3 ? type - 1 : is_hollow ? 2 : type;
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
    add_intervals(clauses, series, i, style.colour);
    begin_clause(clauses, i, "1:2");
    text_printf(clauses->script, "with points pointtype %d linecolor rgb '%s'",
                point_type(style.shape, series->is_reference), style.colour);
    end_clause(clauses, series->name);
}

static void add_line(struct clauses *clauses, const struct frame *frame, size_t i)
{
    const struct plot_series *series = &frame->chart->series[i];
    const struct series_style style = style_of_series(frame->chart, i);
    if (frame->chart->kind == PLOT_LINE && has_intervals(series)) {
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

static void add_upright_line(struct text *script, const struct plot_line *line)
{
    if (line->kind != PLOT_AT_X || !scale_has(PLOT_LINEAR, line->value)) return;
    text_printf(script, "set arrow from first %.10g, graph 0 to first %.10g, graph 1 nohead dashtype %d lc rgb '%s'\n",
                line->value, line->value, line->is_dashed ? 2 : 1, STYLE_QUIET);
}

static void add_settings(struct text *script, const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    text_add(script, "# gnuplot -e \"set terminal svg; set output 'chart.svg'\" THIS_FILE\nset encoding utf8\n"
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
    }
    add_axis(script, frame, 'x');
    add_axis(script, frame, 'y');
    if (chart->is_square) text_add(script, "set size square\n");
    if (chart->kind == PLOT_BAR) text_printf(script, "set boxwidth %.4g\n", 0.96 * gnuplot_bar_width(chart));
    if (chart->kind == PLOT_HEATMAP) add_colours(script, frame);
    for (size_t i = 0; i < chart->n_lines; i++) add_upright_line(script, &chart->lines[i]);
}

void plot_gnuplot(const struct plot_chart *chart, const char *data_name, struct text *script, struct text *data)
{
    struct frame frame;
    struct clauses clauses = {script, data_name, false};
    frame_init(&frame, chart, script);
    add_settings(script, &frame);
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
