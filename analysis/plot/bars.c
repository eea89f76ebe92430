/* Bars and dots: one per category and series, side by side, with intervals. */
#include "analysis/plot/mark.h"

#include "analysis/plot/draw.h"

#include <math.h>
#include <string.h>

static const double widest_px = 56.0, least_px = 1.0; /* of a bar */
enum { MOST_VALUES = 32 };                            /* most bars with their value above */

struct bar_sizes {
    double step_px; /* from one bar of a category to the next */
    double width_px;
    size_t n;
};

static struct bar_sizes find_sizes(const struct frame *frame)
{
    const size_t n_categories = frame->chart->n_categories > 0 ? frame->chart->n_categories : 1;
    const double slot_px = (frame->data.right - frame->data.left) / (double)n_categories;
    const size_t n = bar_places(frame->chart);
    const double step_px = fmin(BAR_GROUP_SHARE * slot_px / (double)n, widest_px);
    return (struct bar_sizes){step_px, step_px > 6.0 ? step_px - 1.0 : step_px, n};
}

static double base_px(const struct frame *frame)
{
    const double base = scale_px(&frame->y, 0.0); /* none on a logarithmic axis */
    return isnan(base) ? frame->data.bottom : fmin(fmax(base, frame->data.top), frame->data.bottom);
}

/* Draws the value above its bar, if there is room and no interval. */
static void draw_value(const struct frame *frame, const struct plot_series *series, size_t i, double x, double y,
                       const struct bar_sizes *sizes)
{
    char label[TICK_LABEL_BYTES];
    if (series->low != NULL || series->high != NULL) return;
    number_label(series->y[i], label);
    if (text_width_px(label, strlen(label), STYLE_SMALL_PX) > sizes->step_px + 4.0) return;
    const double room = series->y[i] < 0.0 ? 12.0 : -4.0;
    draw_label(frame->svg, x, y + room, " font-size=\"11\" text-anchor=\"middle\" fill=\"" STYLE_INK "\"", label,
               STYLE_SMALL_PX, 0.0);
}

static void draw_bar(const struct frame *frame, size_t index, size_t i, const struct bar_sizes *sizes, double x,
                     double y)
{
    const struct plot_series *series = &frame->chart->series[index];
    const double end = fmin(fmax(y, frame->data.top), frame->data.bottom), base = base_px(frame);
    const double half = fmax(sizes->width_px, least_px) / 2.0;
    text_add(frame->svg, "<rect");
    draw_rect_place(frame->svg, &(struct px_rect){fmax(x - half, frame->data.left), fmin(end, base),
                                                  fmin(x + half, frame->data.right), fmax(end, base)});
    text_printf(frame->svg, " fill=\"%s\">", style_of_series(frame->chart, index).colour);
    mark_title(frame, series, i);
    text_add(frame->svg, "</rect>\n");
}

static bool has_references(const struct plot_chart *chart)
{
    for (size_t i = 0; i < chart->n_series; i++)
        if (chart->series[i].is_reference) return true;
    return false;
}

static void draw_entry(const struct frame *frame, size_t index, size_t i, const struct bar_sizes *sizes)
{
    const struct plot_chart *chart = frame->chart;
    const struct plot_series *series = &chart->series[index];
    const bool is_bar = chart->kind == PLOT_BAR && !series->is_reference;
    const double x = scale_px(&frame->x, (double)i) + bar_place(frame->chart, index) * sizes->step_px,
                 y = scale_px(&frame->y, series->y[i]);
    if (isnan(y)) return;
    if (is_bar) draw_bar(frame, index, i, sizes, x, y);
    if (series->low != NULL && series->high != NULL)
        mark_whisker(frame, is_bar ? STYLE_INK : style_of_series(chart, index).colour, x, series->low[i],
                     series->high[i]);
    if (!is_bar) mark_point(frame, index, i, x, y);
    const bool has_room = chart->n_categories * sizes->n <= MOST_VALUES && mark_is_inside(frame, x, y);
    if (is_bar && has_room && !has_references(chart)) draw_value(frame, series, i, x, y, sizes);
}

/* Draws thin lines between categories, to show which dots belong together. */
static void draw_separators(const struct frame *frame)
{
    text_add(frame->svg, "<path stroke=\"" STYLE_GRID "\" fill=\"none\" shape-rendering=\"crispEdges\" d=\"");
    for (size_t i = 1; i < frame->chart->n_categories && i < 200; i++) {
        draw_place(frame->svg, "M", scale_px(&frame->x, (double)i - 0.5), frame->data.top);
        draw_px(frame->svg, "V", frame->data.bottom);
    }
    text_add(frame->svg, "\"/>\n");
}

void draw_bars(const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    const struct bar_sizes sizes = find_sizes(frame);
    if (chart->kind == PLOT_DOTS) draw_separators(frame);
    for (int over = 0; over < 2; over++)
        for (size_t k = 0; k < chart->n_series; k++) {
            const struct plot_series *series = &chart->series[k];
            if (series->y == NULL || (over == 1) != series->is_reference) continue;
            for (size_t i = 0; i < series->n && i < chart->n_categories; i++) draw_entry(frame, k, i, &sizes);
        }
}
