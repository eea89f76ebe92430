/* Gantt charts: bars along time in rows; what runs in a row at the same time is stacked in lanes. */
#include "analysis/plot/lanes.h"
#include "analysis/plot/mark.h"

#include "analysis/plot/text_width.h"

#include <math.h>
#include <string.h>

static const double row_share = 0.82, least_bar_px = 0.6; /* of a row's height; of a bar's width */

static struct px_rect bar_rect(const struct frame *frame, const struct lanes *bars, const struct lane_bar *bar)
{
    const struct px_rect *data = &frame->data;
    const double row_px = (data->bottom - data->top) / (double)frame->chart->n_categories;
    const double lane_px = row_share * row_px / bars->n_lanes[bar->row];
    const double top = data->top + row_px * ((double)bar->row + (1.0 - row_share) / 2.0) + lane_px * (double)bar->lane;
    const double left = fmin(fmax(scale_px(&frame->x, bar->from), data->left), data->right - least_bar_px);
    const double right = fmax(fmin(scale_px(&frame->x, bar->to), data->right), left + least_bar_px);
    return (struct px_rect){left, top, right, top + fmax(lane_px - (lane_px > 4.0 ? 1.0 : 0.0), 0.3)};
}

/* --- few bars: each told apart and named --- */

static void draw_name(const struct frame *frame, const struct px_rect *rect, const char *name, const char *colour)
{
    const double height = rect->bottom - rect->top;
    if (name == NULL || height < STYLE_SMALL_PX + 1.0) return;
    if (text_width_px(name, strlen(name), STYLE_SMALL_PX) + 6.0 > rect->right - rect->left) return;
    text_printf(frame->svg, "<text font-size=\"11\" text-anchor=\"middle\" pointer-events=\"none\" fill=\"%s\"",
                style_text_on(colour));
    draw_px(frame->svg, " x=\"", (rect->left + rect->right) / 2.0);
    draw_px(frame->svg, "\" y=\"", (rect->top + rect->bottom) / 2.0 + 4.0);
    text_add(frame->svg, "\">");
    draw_escaped(frame->svg, name);
    text_add(frame->svg, "</text>\n");
}

static void draw_bar(const struct frame *frame, const struct lanes *bars, const struct lane_bar *bar)
{
    const struct plot_series *series = &frame->chart->series[bar->series];
    const struct px_rect rect = bar_rect(frame, bars, bar);
    const char *name = series->labels != NULL ? series->labels[bar->entry] : NULL;
    const char *colour = style_of_series(frame->chart, bar->series).colour;
    struct text *svg = frame->svg;
    text_add(svg, "<rect");
    draw_rect_place(svg, &rect);
    text_printf(svg, " fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"%s\"><title>", colour,
                rect.right - rect.left > 3.0 ? "0.8" : "0");
    mark_name(svg, frame_category(frame, bar->row));
    mark_name(svg, series->name);
    mark_name(svg, name);
    mark_value(svg, frame->chart->x.scale, bar->from);
    text_add(svg, " to ");
    mark_value(svg, frame->chart->x.scale, bar->to);
    text_add(svg, "</title></rect>\n");
    draw_name(frame, &rect, name, colour);
}

/* --- many bars: one path per series, those that touch in a lane drawn together --- */

static bool goes_on(const struct lane_bar *bar, const struct lane_bar *next, const struct px_rect *rect,
                    double next_left)
{
    return bar->row == next->row && bar->lane == next->lane && next_left - rect->right < 0.3;
}

static void draw_series(const struct frame *frame, const struct lanes *bars, size_t series)
{
    const struct lane_bar *last = NULL;
    struct px_rect run = {0};
    text_printf(frame->svg, "<path fill=\"%s\" d=\"", style_of_series(frame->chart, series).colour);
    for (size_t i = 0; i <= bars->n; i++) {
        const struct lane_bar *bar = i < bars->n ? &bars->at[i] : NULL;
        if (bar != NULL && bar->series != series) continue;
        const struct px_rect rect = bar != NULL ? bar_rect(frame, bars, bar) : run;
        const bool is_small = rect.right - rect.left < 2.0;
        if (bar != NULL && last != NULL && is_small && goes_on(last, bar, &run, rect.left)) {
            run.right = fmax(run.right, rect.right);
            continue;
        }
        if (last != NULL) {
            draw_px(frame->svg, "M", run.left);
            draw_px(frame->svg, " ", run.top);
            draw_px(frame->svg, "H", run.right);
            draw_px(frame->svg, "V", run.bottom);
            draw_px(frame->svg, "H", run.left);
            text_add(frame->svg, "z");
        }
        last = bar;
        run = rect;
    }
    text_add(frame->svg, "\"/>\n");
}

/* Rows are told apart by a faint line below each. */
static void draw_rows(const struct frame *frame)
{
    const size_t n = frame->chart->n_categories;
    const double row_px = (frame->data.bottom - frame->data.top) / (double)n;
    if (row_px < 6.0) return;
    text_add(frame->svg, "<path stroke=\"" STYLE_GRID "\" fill=\"none\" shape-rendering=\"crispEdges\" d=\"");
    for (size_t i = 1; i < n; i++) {
        draw_px(frame->svg, "M", frame->data.left);
        draw_px(frame->svg, " ", frame->data.top + row_px * (double)i);
        draw_px(frame->svg, "H", frame->data.right);
    }
    text_add(frame->svg, "\"/>\n");
}

void draw_gantt(const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    struct lanes bars;
    if (chart->n_categories == 0) return;
    draw_rows(frame);
    if (lanes_init(&bars, chart, frame->x.low, frame->x.high) != 0) {
        frame->svg->failed = true;
    } else if (bars.n <= MARK_MOST_ELEMENTS) {
        for (size_t i = 0; i < bars.n; i++) draw_bar(frame, &bars, &bars.at[i]);
    } else {
        for (size_t k = 0; k < chart->n_series; k++) draw_series(frame, &bars, k);
    }
    lanes_fini(&bars);
}
