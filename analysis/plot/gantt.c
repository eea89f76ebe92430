#include "analysis/plot/draw.h"
#include "analysis/plot/mark.h"
#include "analysis/plot/scale.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Lanes --- */

enum { MOST_LANES = 16 };

static int compare_bars(const void *left, const void *right)
{
    const struct lane_bar *a = left, *b = right;
    if (a->row != b->row) return (a->row > b->row) - (a->row < b->row);
    if (a->from != b->from) return (a->from > b->from) - (a->from < b->from);
    if (a->series != b->series) return (a->series > b->series) - (a->series < b->series);
    return (a->entry > b->entry) - (a->entry < b->entry);
}

static void add_series(struct lanes *lanes, const struct plot_chart *chart, size_t index, double low, double high)
{
    const struct plot_series *series = &chart->series[index];
    if (series->x == NULL || series->x_end == NULL || series->row == NULL) return;
    for (size_t i = 0; i < series->n; i++) {
        const double from = series->x[i], to = series->x_end[i];
        if (!scale_has(chart->x.scale, from) || !scale_has(chart->x.scale, to) || to < from) continue;
        if (series->row[i] >= chart->n_categories || to < low || from > high) continue;
        lanes->at[lanes->n++] =
            (struct lane_bar){.row = series->row[i], .series = index, .entry = i, .from = from, .to = to};
    }
}

/* Every bar goes to the first lane of its row that is free at its start; the last lane takes the rest. */
static void find_lanes(struct lanes *lanes)
{
    double free_at[MOST_LANES];
    for (size_t i = 0; i < lanes->n; i++) {
        struct lane_bar *bar = &lanes->at[i];
        if (i == 0 || bar->row != lanes->at[i - 1].row)
            for (int lane = 0; lane < MOST_LANES; lane++) free_at[lane] = -(double)INFINITY;
        while (bar->lane + 1 < MOST_LANES && free_at[bar->lane] > bar->from) bar->lane++;
        free_at[bar->lane] = fmax(free_at[bar->lane], bar->to);
        if (bar->lane + 1 > lanes->n_lanes[bar->row]) lanes->n_lanes[bar->row] = (unsigned char)(bar->lane + 1);
    }
}

int lanes_init(struct lanes *lanes, const struct plot_chart *chart, double low, double high)
{
    size_t n_entries = 0;
    for (size_t k = 0; k < chart->n_series; k++) n_entries += chart->series[k].n;
    *lanes = (struct lanes){.at = mem_zalloc(n_entries + 1, sizeof *lanes->at),
                            .n_lanes = mem_zalloc(chart->n_categories + 1, sizeof *lanes->n_lanes)};
    if (lanes->at == NULL || lanes->n_lanes == NULL) return SIM_E_NOMEM;
    for (size_t k = 0; k < chart->n_series; k++) add_series(lanes, chart, k, low, high);
    qsort(lanes->at, lanes->n, sizeof *lanes->at, compare_bars);
    find_lanes(lanes);
    return 0;
}

void lanes_fini(struct lanes *lanes)
{
    mem_free(lanes->at);
    mem_free(lanes->n_lanes);
    *lanes = (struct lanes){0};
}

/* --- The chart --- */

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
        if (bar != NULL && last != NULL && is_small &&
            (last->row == bar->row && last->lane == bar->lane && rect.left - run.right < 0.3)) {
            run.right = fmax(run.right, rect.right);
            continue;
        }
        if (last != NULL) {
            draw_place(frame->svg, "M", run.left, run.top);
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

/* A faint line below each row separates them. */
static void draw_rows(const struct frame *frame)
{
    const size_t n = frame->chart->n_categories;
    const double row_px = (frame->data.bottom - frame->data.top) / (double)n;
    if (row_px < 6.0) return;
    text_add(frame->svg, "<path stroke=\"" STYLE_GRID "\" fill=\"none\" shape-rendering=\"crispEdges\" d=\"");
    for (size_t i = 1; i < n; i++) {
        draw_place(frame->svg, "M", frame->data.left, frame->data.top + row_px * (double)i);
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
