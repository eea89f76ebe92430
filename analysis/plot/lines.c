/* Lines, steps and distribution functions, cut at the frame and thinned to columns of pixels. */
#include "analysis/plot/mark.h"

#include "sim/core/mem.h"
#include "sim/core/real_list.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static const double sparse_px = 9.0;          /* points at least this far apart each have a marker */
static const double marker_every_px = 90.0;   /* distance of markers that only distinguish lines */
enum { DENSE_POINTS = 1500 };                 /* lines with more points are drawn thinner */

/* --- paths --- */

static void begin_path(const struct frame *frame, size_t i, size_t n_points)
{
    const struct series_style style = style_of_series(frame->chart, i);
    text_printf(frame->svg,
                "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\" "
                "stroke-linecap=\"round\"%s d=\"",
                style.colour, n_points > DENSE_POINTS ? "1.3" : "1.8", style.dashes);
}

static void end_path(const struct frame *frame, const struct plot_series *series)
{
    text_add(frame->svg, "\"");
    if (series->name != NULL) {
        text_add(frame->svg, "><title>");
        draw_escaped(frame->svg, series->name);
        text_add(frame->svg, "</title></path>\n");
    } else {
        text_add(frame->svg, "/>\n");
    }
}

/* Where a value lies along x. Series whose error bars overlap stand side by side, so that no bar hides another: four
 * pixels apart, at most nine from their place, and within the frame. */
static double place_x(const struct frame *frame, size_t index, double value)
{
    const struct plot_chart *chart = frame->chart;
    const struct px_rect *data = &frame->data;
    const double apart_px = fmin(4.0, 18.0 / (double)chart->n_series), x = scale_px(&frame->x, value);
    if (!frame->is_apart || !(x >= data->left && x <= data->right)) return x;
    const double moved = x + ((double)index - ((double)chart->n_series - 1.0) / 2.0) * apart_px;
    return fmin(fmax(moved, data->left), data->right);
}

static void draw_line(const struct frame *frame, size_t index)
{
    const struct plot_series *series = &frame->chart->series[index];
    const bool is_step = frame->chart->kind == PLOT_STEP;
    struct pen pen;
    struct thinner thinner;
    double last_y = (double)NAN;
    pen_init(&pen, frame->svg, &frame->data);
    thinner_init(&thinner, &pen);
    begin_path(frame, index, series->n);
    for (size_t i = 0; i < series->n; i++) {
        const double x = place_x(frame, index, series->x[i]), y = scale_px(&frame->y, series->y[i]);
        if (is_step && !isnan(x) && !isnan(last_y)) thinner_to(&thinner, x, last_y);
        last_y = isnan(x) ? (double)NAN : y;
        if (isnan(x) || isnan(y))
            thinner_end(&thinner);
        else
            thinner_to(&thinner, x, y);
    }
    thinner_end(&thinner);
    end_path(frame, series);
}

/* --- bands --- */

/* The end of the band at entry i, within the frame; false at a gap. */
static bool band_point(const struct frame *frame, const struct plot_series *series, size_t i, bool is_upper,
                       struct px_point *point)
{
    const struct px_rect *data = &frame->data;
    const double x = scale_px(&frame->x, series->x[i]);
    const double low = scale_px(&frame->y, series->low[i]), high = scale_px(&frame->y, series->high[i]);
    if (isnan(x) || isnan(low) || isnan(high)) return false;
    point->x = fmin(fmax(x, data->left), data->right);
    point->y = fmin(fmax(is_upper ? high : low, data->top), data->bottom);
    return true;
}

/* Draws a closed part without gaps, entries `from` to before `to`: along the upper end and back along the lower. */
static void draw_band_part(const struct frame *frame, const struct plot_series *series, size_t from, size_t to)
{
    struct pen pen;
    struct thinner thinner;
    struct px_point point;
    pen_init(&pen, frame->svg, &frame->data);
    thinner_init(&thinner, &pen);
    for (size_t i = from; i < to; i++)
        if (band_point(frame, series, i, true, &point)) thinner_to(&thinner, point.x, point.y);
    for (size_t i = to; i-- > from;)
        if (band_point(frame, series, i, false, &point)) thinner_to(&thinner, point.x, point.y);
    thinner_end(&thinner);
    text_add(frame->svg, "z");
}

static void draw_band(const struct frame *frame, size_t index)
{
    const struct plot_series *series = &frame->chart->series[index];
    struct px_point point;
    if (series->low == NULL || series->high == NULL || frame->chart->kind != PLOT_LINE) return;
    if (frame->chart->has_whiskers) return;
    text_printf(frame->svg, "<path stroke=\"none\" fill=\"%s\" fill-opacity=\"0.18\" d=\"",
                style_of_series(frame->chart, index).colour);
    for (size_t from = 0, to; from < series->n; from = to + 1) {
        for (to = from; to < series->n && band_point(frame, series, to, true, &point);) to++;
        if (to > from) draw_band_part(frame, series, from, to);
    }
    text_add(frame->svg, "\"/>\n");
}

/* --- markers --- */

static void draw_all_markers(const struct frame *frame, size_t index)
{
    const struct plot_series *series = &frame->chart->series[index];
    const char *colour = style_of_series(frame->chart, index).colour;
    for (size_t i = 0; i < series->n; i++) {
        const double x = place_x(frame, index, series->x[i]), y = scale_px(&frame->y, series->y[i]);
        const bool has_whisker = series->is_reference || frame->chart->has_whiskers;
        if (has_whisker && series->low != NULL && series->high != NULL)
            mark_whisker(frame, colour, x, series->low[i], series->high[i]);
        mark_point(frame, index, i, x, y);
    }
}

/* Places of the markers of a dense line: at equal distances, shifted for each series. */
struct spread {
    size_t index, n_series;
    double next_px;
};

static void spread_marker(const struct frame *frame, struct spread *spread, double x, double y)
{
    if (!(x >= spread->next_px) || !mark_is_inside(frame, x, y)) return;
    draw_marker(frame->svg, style_of_series(frame->chart, spread->index).shape, x, y, STYLE_MARKER_PX);
    while (spread->next_px <= x) spread->next_px += marker_every_px;
}

static void begin_spread(const struct frame *frame, struct spread *spread, size_t index)
{
    const double share = ((double)index + 0.5) / (double)frame->chart->n_series;
    *spread = (struct spread){.index = index, .next_px = frame->data.left + share * marker_every_px};
    text_printf(frame->svg, "<path fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"0.8\" d=\"",
                style_of_series(frame->chart, index).colour);
}

static void draw_some_markers(const struct frame *frame, size_t index)
{
    const struct plot_series *series = &frame->chart->series[index];
    struct spread spread;
    if (frame->chart->n_series < 2) return;
    begin_spread(frame, &spread, index);
    for (size_t i = 0; i < series->n; i++)
        spread_marker(frame, &spread, scale_px(&frame->x, series->x[i]), scale_px(&frame->y, series->y[i]));
    text_add(frame->svg, "\"/>\n");
}

/* --- distributions --- */

/* The values sorted, without NAN; infinite ones at the ends. *n: their number. NULL when out of memory. */
static double *sort_values(const struct plot_series *series, size_t *n)
{
    double *sorted = mem_alloc((series->n + 1) * sizeof *sorted);
    *n = 0;
    if (sorted == NULL) return NULL;
    for (size_t i = 0; i < series->n; i++)
        if (!isnan(series->x[i])) sorted[(*n)++] = series->x[i];
    qsort(sorted, *n, sizeof *sorted, real_compare);
    return sorted;
}

/* From the left end, at the share of the values below it, up at every value, to the right end. */
static void draw_cdf_line(const struct frame *frame, const double *sorted, size_t n)
{
    struct pen pen;
    struct thinner thinner;
    double y = scale_px(&frame->y, 0.0);
    if (isnan(y)) y = frame->data.bottom;
    pen_init(&pen, frame->svg, &frame->data);
    thinner_init(&thinner, &pen);
    double x = frame->data.left;
    thinner_to(&thinner, x, y);
    for (size_t i = 0; i < n; i++) {
        if (sorted[i] > frame->x.high) break;
        if (i + 1 < n && sorted[i + 1] == sorted[i]) continue;
        if (sorted[i] > frame->x.low) x = fmax(x, scale_px(&frame->x, sorted[i]));
        thinner_to(&thinner, x, y);
        const double risen = scale_px(&frame->y, (double)(i + 1) / (double)n);
        if (!isnan(risen)) y = risen;
        thinner_to(&thinner, x, y);
    }
    thinner_to(&thinner, frame->data.right, y);
    thinner_end(&thinner);
}

static void draw_cdf_markers(const struct frame *frame, size_t index, const double *sorted, size_t n)
{
    struct spread spread;
    if (frame->chart->n_series < 2) return;
    begin_spread(frame, &spread, index);
    for (size_t i = 0; i < n; i++) {
        const double share = (double)(i + 1) / (double)n;
        if (share < 0.02 || share > 0.99) continue; /* lines overlap there */
        spread_marker(frame, &spread, scale_px(&frame->x, sorted[i]), scale_px(&frame->y, share));
    }
    text_add(frame->svg, "\"/>\n");
}

static void draw_cdf(const struct frame *frame, size_t index)
{
    const struct plot_series *series = &frame->chart->series[index];
    size_t n;
    double *sorted = sort_values(series, &n);
    if (sorted == NULL) {
        frame->svg->failed = true;
        return;
    }
    if (n > 0) {
        begin_path(frame, index, n);
        draw_cdf_line(frame, sorted, n);
        end_path(frame, series);
        draw_cdf_markers(frame, index, sorted, n);
    }
    mem_free(sorted);
}

void draw_lines(const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    for (size_t i = 0; i < chart->n_series; i++)
        if (chart->series[i].x != NULL && !chart->series[i].is_reference) draw_band(frame, i);
    for (size_t i = 0; i < chart->n_series; i++) {
        const struct plot_series *series = &chart->series[i];
        if (series->x == NULL || series->is_reference) continue;
        if (chart->kind == PLOT_CDF && series->y == NULL) {
            draw_cdf(frame, i);
        } else if (series->y != NULL) {
            draw_line(frame, i);
            if (chart->kind != PLOT_STEP && (series->n <= MARK_MOST_ELEMENTS &&
                                             (double)series->n * sparse_px <= frame->data.right - frame->data.left))
                draw_all_markers(frame, i);
            else
                draw_some_markers(frame, i);
        }
    }
    for (size_t i = 0; i < chart->n_series; i++) {
        const struct plot_series *series = &chart->series[i];
        if (series->x != NULL && series->y != NULL && series->is_reference) draw_all_markers(frame, i);
    }
}
