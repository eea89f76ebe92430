#include "analysis/plot/mark.h"

#include <math.h>

bool mark_is_inside(const struct frame *frame, double x, double y)
{
    const struct px_rect *data = &frame->data;
    return x >= data->left - 0.05 && x <= data->right + 0.05 && y >= data->top - 0.05 && y <= data->bottom + 0.05;
}

void mark_value(struct text *svg, enum plot_scale kind, double value)
{
    char label[TICK_LABEL_BYTES];
    if (!scale_has(PLOT_LINEAR, value)) return;
    if (kind == PLOT_TIME)
        time_label(value, label);
    else
        number_label(value, label);
    text_add(svg, label);
}

void mark_name(struct text *svg, const char *name)
{
    if (name == NULL) return;
    draw_escaped(svg, name);
    text_add(svg, ": ");
}

static void add_interval(const struct frame *frame, const struct plot_series *series, size_t i)
{
    if (series->low == NULL || series->high == NULL) return;
    if (!scale_has(PLOT_LINEAR, series->low[i]) || !scale_has(PLOT_LINEAR, series->high[i])) return;
    text_add(frame->svg, " (");
    mark_value(frame->svg, frame->chart->y.scale, series->low[i]);
    text_add(frame->svg, " to ");
    mark_value(frame->svg, frame->chart->y.scale, series->high[i]);
    text_add(frame->svg, ")");
}

void mark_title(const struct frame *frame, const struct plot_series *series, size_t i)
{
    struct text *svg = frame->svg;
    const bool is_bar = frame->chart->kind == PLOT_BAR || frame->chart->kind == PLOT_DOTS;
    text_add(svg, "<title>");
    mark_name(svg, series->name);
    if (series->labels != NULL) mark_name(svg, series->labels[i]);
    if (is_bar || frame->x_is_named)
        draw_escaped(svg, frame_category(frame, is_bar ? i : (size_t)fmax(0.0, rint(series->x[i]))));
    else
        mark_value(svg, frame->chart->x.scale, series->x[i]);
    text_add(svg, ", ");
    mark_value(svg, frame->chart->y.scale, series->y[i]);
    add_interval(frame, series, i);
    text_add(svg, "</title>");
}

void mark_point(const struct frame *frame, size_t series, size_t i, double x, double y)
{
    const struct series_style style = style_of_series(frame->chart, series);
    const bool is_hollow = frame->chart->series[series].is_reference;
    if (!mark_is_inside(frame, x, y)) return;
    text_add(frame->svg, "<path d=\"");
    draw_marker(frame->svg, style.shape, x, y, is_hollow ? STYLE_MARKER_PX + 0.6 : STYLE_MARKER_PX);
    text_printf(frame->svg, "\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\">",
                is_hollow ? "#ffffff\" fill-opacity=\"0.5" : style.colour, is_hollow ? style.colour : "#ffffff",
                is_hollow ? "1.6" : "0.8");
    mark_title(frame, &frame->chart->series[series], i);
    text_add(frame->svg, "</path>\n");
}

void mark_whisker(const struct frame *frame, const char *colour, double x, double low, double high)
{
    const struct px_rect *data = &frame->data;
    const double serif_px = 4.0;
    const double a = scale_px(&frame->y, low), b = scale_px(&frame->y, high);
    if (isnan(a) || isnan(b) || !mark_is_inside(frame, x, data->top)) return;
    const double down = fmin(fmax(a, b), data->bottom), up = fmax(fmin(a, b), data->top);
    if (down < up) return;
    struct text *svg = frame->svg;
    text_add(svg, "<path fill=\"none\" stroke-width=\"1.4\" d=\"");
    draw_px(svg, "M", x);
    draw_px(svg, " ", down);
    draw_px(svg, "V", up);
    for (int end = 0; end < 2; end++) {
        const double y = end == 0 ? a : b;
        if (y < data->top || y > data->bottom) continue; /* it goes on beyond the frame */
        draw_px(svg, "M", fmax(x - serif_px, data->left));
        draw_px(svg, " ", y);
        draw_px(svg, "H", fmin(x + serif_px, data->right));
    }
    text_printf(svg, "\" stroke=\"%s\"/>\n", colour);
}
