/* Points, and the Pareto front among them. Very many points are drawn as dots, overlapping ones once. */
#include "analysis/plot/mark.h"

#include "analysis/plot/draw.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 40 };

static struct px_point place_px(const struct frame *frame, const struct plot_series *series, size_t i)
{
    return (struct px_point){scale_px(&frame->x, series->x[i]), scale_px(&frame->y, series->y[i])};
}

static bool is_inside(const struct frame *frame, struct px_point point)
{
    return mark_is_inside(frame, point.x, point.y);
}

static int compare_cells(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Dots are three pixels wide: with very many, cells of one or two pixels hide nothing. */
static double cells_per_px(const struct plot_series *series)
{
    return series->n <= 20000 ? 2.0 : series->n <= 200000 ? 1.0 : 0.5;
}

/* Finds the cells (half a pixel or more) that have points: row in the upper half, column in the lower. */
static size_t find_cells(const struct frame *frame, const struct plot_series *series, uint32_t *cells)
{
    const double per_px = cells_per_px(series);
    size_t n = 0;
    for (size_t i = 0; i < series->n; i++) {
        const struct px_point point = place_px(frame, series, i);
        if (!is_inside(frame, point)) continue;
        cells[n++] = (uint32_t)lrint(point.y * per_px) << 16 | (uint32_t)lrint(point.x * per_px);
    }
    qsort(cells, n, sizeof *cells, compare_cells);
    return n;
}

static void draw_cloud(const struct frame *frame, size_t index)
{
    const struct plot_series *series = &frame->chart->series[index];
    uint32_t *cells = mem_alloc((series->n + 1) * sizeof *cells);
    if (cells == NULL) {
        frame->svg->failed = true;
        return;
    }
    const size_t n = find_cells(frame, series, cells);
    text_printf(frame->svg,
                "<path fill=\"none\" stroke=\"%s\" stroke-width=\"3.2\" stroke-linecap=\"round\" "
                "stroke-opacity=\"0.45\" d=\"",
                style_of_series(frame->chart, index).colour);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && cells[i] == cells[i - 1]) continue;
        draw_place(frame->svg, "M", (double)(cells[i] & 0xffff) / cells_per_px(series),
                   (double)(cells[i] >> 16) / cells_per_px(series));
        text_add(frame->svg, "h0");
    }
    text_add(frame->svg, "\"/>\n");
    mem_free(cells);
}

/* --- the front --- */

static bool is_on_front(const struct frame *frame, const struct plot_series *series, size_t i)
{
    return series->on_front != NULL && series->on_front[i] && is_inside(frame, place_px(frame, series, i));
}

static void draw_front(const struct frame *frame, size_t index)
{
    const struct plot_series *series = &frame->chart->series[index];
    const struct series_style style = style_of_series(frame->chart, index);
    if (series->on_front == NULL || series->is_reference) return;
    struct px_point *points = mem_alloc((series->n + 1) * sizeof *points);
    if (points == NULL) {
        frame->svg->failed = true;
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < series->n; i++)
        if (is_on_front(frame, series, i)) points[n++] = place_px(frame, series, i);
    qsort(points, n, sizeof *points, mark_compare_points);
    struct pen pen;
    pen_init(&pen, frame->svg, &frame->data);
    text_printf(frame->svg, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-linejoin=\"round\" d=\"",
                style.colour);
    for (size_t i = 0; i < n; i++) pen_to(&pen, points[i].x, points[i].y);
    text_add(frame->svg, "\"/>\n");
    mem_free(points);
}

/* --- names beside points --- */

struct taken {
    struct px_rect rects[MOST_NAMES * 2];
    size_t n;
};

static bool meets(const struct px_rect *a, const struct px_rect *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Whether a horizontal line of the chart crosses a text at that place. */
static bool is_crossed(const struct frame *frame, const struct px_rect *rect)
{
    for (size_t i = 0; i < frame->chart->n_lines; i++) {
        const struct plot_line *line = &frame->chart->lines[i];
        const double y = line->kind == PLOT_AT_Y ? scale_px(&frame->y, line->value) : (double)NAN;
        if (y > rect->top && y < rect->bottom) return true;
    }
    return false;
}

/* Whether a text at that place covers neither another text nor a point, and no horizontal line crosses it. */
static bool is_free(const struct frame *frame, const struct taken *taken, const struct px_rect *rect)
{
    const double reach = STYLE_MARKER_PX;
    if (rect->left < frame->data.left || rect->right > frame->data.right || rect->top < frame->data.top ||
        rect->bottom > frame->data.bottom || is_crossed(frame, rect))
        return false;
    for (size_t i = 0; i < taken->n; i++)
        if (meets(rect, &taken->rects[i])) return false;
    for (size_t k = 0; k < frame->chart->n_series; k++) {
        const struct plot_series *series = &frame->chart->series[k];
        for (size_t i = 0; series->x != NULL && series->y != NULL && i < series->n; i++) {
            const struct px_point p = place_px(frame, series, i);
            if (is_inside(frame, p) &&
                meets(rect, &(struct px_rect){p.x - reach, p.y - reach, p.x + reach, p.y + reach}))
                return false;
        }
    }
    return true;
}

/* Small, on a white rim that keeps it legible over lines. */
static const char *const name_attributes = " font-size=\"11\" fill=\"" STYLE_QUIET
                                           "\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"";

/* Draws a name right of, above, below or left of its point, where it is free. */
static void draw_name(const struct frame *frame, struct taken *taken, struct px_point point, const char *name)
{
    const double width = text_width_px(name, strlen(name), STYLE_SMALL_PX), half = STYLE_SMALL_PX / 2.0;
    const struct px_point starts[] = {{5.0, -9.0},          {7.0, 0.0},            {5.0, 9.0},          {-width / 2.0, -12.0},
                                      {-width / 2.0, 12.0}, {-width - 7.0, 0.0}, {-width - 5.0, -9.0}, {-width - 5.0, 9.0}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        const double left = point.x + starts[i].x, middle = point.y + starts[i].y;
        const struct px_rect rect = {left, middle - half, left + width, middle + half};
        if (!is_free(frame, taken, &rect)) continue;
        draw_label(frame->svg, left, middle + 4.0, name_attributes, name, STYLE_SMALL_PX, 0.0);
        taken->rects[taken->n++] = rect;
        return;
    }
}

/* Draws names beside the points of a front, or beside all if they are few; others are tooltips. */
static void draw_names(const struct frame *frame)
{
    size_t n_points = 0;
    struct taken taken = {.n = 0};
    for (size_t k = 0; k < frame->chart->n_series; k++) n_points += frame->chart->series[k].n;
    for (size_t k = 0; k < frame->chart->n_series && n_points <= MARK_MOST_ELEMENTS; k++) {
        const struct plot_series *series = &frame->chart->series[k];
        if (series->labels == NULL || series->x == NULL || series->y == NULL) continue;
        for (size_t i = 0; i < series->n && taken.n < MOST_NAMES; i++) {
            const bool is_named = series->on_front != NULL ? is_on_front(frame, series, i) : n_points <= MOST_NAMES;
            const struct px_point point = place_px(frame, series, i);
            if (is_named && series->labels[i] != NULL && is_inside(frame, point))
                draw_name(frame, &taken, point, series->labels[i]);
        }
    }
}

/* --- all of it --- */

/* Draws points; those not on the front are paler. */
static void draw_points(const struct frame *frame, size_t index, bool on_front)
{
    const struct plot_series *series = &frame->chart->series[index];
    const char *colour = style_of_series(frame->chart, index).colour;
    const bool steps_back = !on_front && series->on_front != NULL;
    if (steps_back) text_add(frame->svg, "<g opacity=\"0.4\">\n");
    for (size_t i = 0; i < series->n; i++) {
        const struct px_point point = place_px(frame, series, i);
        if (is_on_front(frame, series, i) != on_front || !is_inside(frame, point)) continue;
        if (series->low != NULL && series->high != NULL)
            mark_whisker(frame, colour, point.x, series->low[i], series->high[i]);
        mark_point(frame, index, i, point.x, point.y);
    }
    if (steps_back) text_add(frame->svg, "</g>\n");
}

void draw_scatter(const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    for (int over = 0; over < 2; over++)
        for (size_t k = 0; k < chart->n_series; k++) {
            const struct plot_series *series = &chart->series[k];
            if (series->x == NULL || series->y == NULL || series->is_reference != (over == 1)) continue;
            if (series->n > MARK_MOST_ELEMENTS)
                draw_cloud(frame, k);
            else
                draw_points(frame, k, false);
            draw_front(frame, k);
            if (series->n <= MARK_MOST_ELEMENTS && series->on_front != NULL) draw_points(frame, k, true);
        }
    draw_names(frame);
}
