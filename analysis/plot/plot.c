/* A chart as SVG, from its parts. */
#include "analysis/plot/plot.h"

#include "analysis/plot/frame.h"
#include "analysis/plot/mark.h"

#include <math.h>

enum { BENT_POINTS = 64 }; /* points of a straight line that is curved on mixed axes */

static const char *kind_name(enum plot_kind kind)
{
    switch (kind) {
    case PLOT_LINE: return "Line chart";
    case PLOT_STEP: return "Step chart";
    case PLOT_CDF: return "Cumulative distribution";
    case PLOT_BAR: return "Bar chart";
    case PLOT_DOTS: return "Dot chart";
    case PLOT_HEATMAP: return "Heat map";
    case PLOT_SCATTER: return "Scatter plot";
    case PLOT_GANTT: return "Gantt chart";
    }
    return "Chart";
}

static void describe_axis(struct text *svg, const char *which, const struct plot_axis *axis, const struct scale *scale)
{
    text_printf(svg, "; %s: ", which);
    if (axis->title != NULL) {
        draw_escaped(svg, axis->title);
        text_add(svg, ", ");
    }
    mark_value(svg, scale->kind, scale->low);
    text_add(svg, " to ");
    mark_value(svg, scale->kind, scale->high);
    if (scale->kind == PLOT_LOG) text_add(svg, ", logarithmic");
}

/* Adds the text for screen readers: kind, axes, names of the series. */
static void describe(const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    struct text *svg = frame->svg;
    text_printf(svg, "<desc>%s", kind_name(chart->kind));
    if (!frame->x_is_named) describe_axis(svg, "x", &chart->x, &frame->x);
    if (!frame->y_is_named) describe_axis(svg, "y", &chart->y, &frame->y);
    if (chart->kind == PLOT_HEATMAP) describe_axis(svg, "colour", &chart->z, &frame->z);
    bool is_first = true;
    for (size_t i = 0; i < chart->n_series; i++) {
        if (chart->series[i].name == NULL) continue;
        text_add(svg, is_first ? "; series: " : ", ");
        draw_escaped(svg, chart->series[i].name);
        is_first = false;
    }
    text_add(svg, "</desc>\n");
}

static void begin_svg(const struct frame *frame)
{
    struct text *svg = frame->svg;
    const bool is_exact = frame->chart->zoom > 0.0;
    const double zoom = is_exact ? frame->chart->zoom : 1.0;
    const double width = is_exact ? frame->width : ceil(frame->width);
    const double height = is_exact ? frame->height : ceil(frame->height);
    draw_place(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 ", width, height);
    draw_px(svg, "\" width=\"", zoom * width);
    draw_px(svg, "\" height=\"", zoom * height);
    text_add(svg, "\" style=\"max-width:100%;height:auto\" font-family=\"");
    if (frame->chart->font != NULL) {
        text_add(svg, "'");
        draw_escaped(svg, frame->chart->font);
        text_add(svg, "',");
    } else {
        text_add(svg, "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,'DejaVu Sans',");
    }
    text_add(svg, "sans-serif\" font-size=\"13\">\n<title>");
    const char *name = frame->chart->name != NULL ? frame->chart->name : frame->chart->title;
    draw_escaped(svg, name != NULL ? name : kind_name(frame->chart->kind));
    text_add(svg, "</title>\n");
    describe(frame);
}

/* y = ratio * x across the whole frame. */
static void draw_ratio(const struct frame *frame, struct pen *pen, double ratio)
{
    const bool is_straight = (frame->x.kind == PLOT_LOG) == (frame->y.kind == PLOT_LOG);
    const int n = is_straight ? 1 : BENT_POINTS;
    for (int i = 0; i <= n; i++) {
        const double x = scale_value(&frame->x, (double)i / n);
        const double y_px = scale_px(&frame->y, ratio * x);
        if (isnan(y_px))
            pen_lift(pen);
        else
            pen_to(pen, scale_px(&frame->x, x), y_px);
    }
}

static void draw_plot_line(const struct frame *frame, const struct plot_line *line)
{
    const struct px_rect *data = &frame->data;
    const double x = scale_px(&frame->x, line->value), y = scale_px(&frame->y, line->value);
    struct pen pen;
    if (!scale_has(PLOT_LINEAR, line->value)) return;
    pen_init(&pen, frame->svg, data);
    text_printf(frame->svg, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.2\"%s d=\"",
                line->is_dashed ? STYLE_QUIET : STYLE_INK, style_dashes_of_line(frame->chart, line));
    if (line->kind == PLOT_RATIO) {
        draw_ratio(frame, &pen, line->value);
    } else if (line->kind == PLOT_AT_Y && !isnan(y)) {
        pen_to(&pen, data->left, y);
        pen_to(&pen, data->right, y);
    } else if (line->kind == PLOT_AT_X && !isnan(x)) {
        pen_to(&pen, x, data->bottom);
        pen_to(&pen, x, data->top);
    }
    text_add(frame->svg, "\"/>\n");
}

static void draw_data(const struct frame *frame)
{
    switch (frame->chart->kind) {
    case PLOT_LINE:
    case PLOT_STEP:
    case PLOT_CDF: draw_lines(frame); break;
    case PLOT_BAR:
    case PLOT_DOTS: draw_bars(frame); break;
    case PLOT_HEATMAP: draw_heatmap(frame); break;
    case PLOT_SCATTER: draw_scatter(frame); break;
    case PLOT_GANTT: draw_gantt(frame); break;
    }
}

void plot_size(const struct plot_chart *chart, double *width_px, double *height_px)
{
    struct frame frame;
    struct text unused;
    text_init(&unused);
    frame_init(&frame, chart, &unused);
    *width_px = frame.width;
    *height_px = frame.height;
    text_fini(&unused);
}

void plot_svg(const struct plot_chart *chart, struct text *svg)
{
    struct frame frame;
    frame_init(&frame, chart, svg);
    begin_svg(&frame);
    frame_draw(&frame);
    if (chart->kind == PLOT_BAR || chart->kind == PLOT_GANTT) frame_draw_over(&frame);
    draw_data(&frame);
    events_draw(&frame);
    for (size_t i = 0; i < chart->n_lines; i++) draw_plot_line(&frame, &chart->lines[i]);
    if (chart->kind != PLOT_BAR && chart->kind != PLOT_GANTT) frame_draw_over(&frame);
    text_add(svg, "</svg>\n");
}
