#include "analysis/plot/frame.h"

#include "analysis/plot/draw.h"
#include "analysis/plot/mark.h"

#include <math.h>
#include <string.h>

static const double usual_width = 640.0, usual_height = 400.0, least_width = 200.0, least_height = 140.0;
static const double most_side = 10000.0;                  /* of a chart, pixels */
static const double least_data_px = 80.0;                 /* least height of the frame: the chart grows for it */
static const double axis_title_px = 22.0, tick_px = 5.0;  /* room for a title; length of a tick */
static const double title_line_px = 16.0, beyond_data_px = 40.0; /* of an upright title in two lines; its overhang */
static const double x_tick_px = 76.0, y_tick_px = 38.0;   /* desired distance of ticks */
static const double row_px = 24.0, least_row_px = 3.0, most_rows_px = 1400.0; /* of a Gantt chart or heat map */
static const double scale_px_width = 14.0, scale_gap_px = 18.0;               /* colours of a heat map */

/* --- layout --- */

static bool is_by_rows(const struct plot_chart *chart)
{
    return chart->kind == PLOT_GANTT || chart->kind == PLOT_HEATMAP;
}

/* Sets the size that the chart requests, within limits; rows of categories take as much as they need. */
static void find_size(struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    const bool has_width = chart->width > 0.0 && chart->width <= most_side;
    const bool has_height = chart->height > 0.0 && chart->height <= most_side;
    const double rows_px = fmin(row_px * (double)chart->n_categories,
                                fmax(most_rows_px, least_row_px * fmin((double)chart->n_categories, 4000.0)));
    const double needed = is_by_rows(chart) ? rows_px + 130.0 : 0.0;
    frame->width = fmax(has_width ? chart->width : usual_width, least_width);
    frame->height = fmax(has_height ? chart->height : fmax(needed, usual_height), least_height);
}

static double find_top(struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    double top = 12.0;
    if (chart->title != NULL) top += 22.0;
    if (chart->subtitle != NULL) top += 19.0;
    top += 4.0;
    frame->legend_top = top;
    const size_t n_rows = legend_rows(chart, frame->width - 2.0 * FRAME_MARGIN_PX);
    return top + LEGEND_ROW_PX * (double)n_rows + (n_rows > 0 ? 10.0 : 8.0) + EVENTS_ROW_PX * (double)chart->n_events;
}

static enum scale_fit fit_of_y(const struct plot_chart *chart)
{
    const bool from_zero = chart->kind == PLOT_BAR || chart->kind == PLOT_STEP;
    return from_zero ? FIT_FROM_ZERO : chart->is_square ? FIT_ROOM : FIT_ROUND;
}

static void fit_y(struct frame *frame, const struct extent *data)
{
    const struct plot_chart *chart = frame->chart;
    const double length = frame->data.bottom - frame->data.top;
    frame->y.from_px = frame->data.bottom;
    frame->y.to_px = frame->data.top;
    if (is_by_rows(chart)) {
        scale_fit_categories(&frame->y, chart->n_categories);
        frame->y.from_px = frame->data.top; /* the first row stands above */
        frame->y.to_px = frame->data.bottom;
        frame->y_is_named = true;
        return;
    }
    struct plot_axis axis = chart->y;
    if (chart->kind == PLOT_CDF && !(axis.low < axis.high)) {
        axis.low = axis.scale == PLOT_LOG ? 0.001 : 0.0;
        axis.high = 1.0;
    }
    scale_fit(&frame->y, &axis, data, fit_of_y(chart), length, y_tick_px);
    const bool is_whole = data->low <= data->high && !data->has_fraction && chart->kind != PLOT_CDF;
    ticks_find(&frame->y_ticks, &frame->y, false, is_whole, STYLE_TEXT_PX, y_tick_px);
}

static void fit_x(struct frame *frame, const struct extent *data)
{
    const struct plot_chart *chart = frame->chart;
    frame->x.from_px = frame->data.left;
    frame->x.to_px = frame->data.right;
    if (chart->n_categories > 0 && !is_by_rows(chart)) {
        scale_fit_categories(&frame->x, chart->n_categories);
        frame->x_is_named = true;
        return;
    }
    scale_fit(&frame->x, &chart->x, data, chart->kind == PLOT_SCATTER || chart->has_whiskers ? FIT_ROOM : FIT_TIGHT,
              frame->data.right - frame->data.left, x_tick_px);
    const bool is_whole = data->low <= data->high && !data->has_fraction;
    if (!ticks_at(&frame->x_ticks, &frame->x, chart->x.ticks, chart->x.n_ticks, STYLE_TEXT_PX))
        ticks_find(&frame->x_ticks, &frame->x, true, is_whole, STYLE_TEXT_PX, x_tick_px);
}

/* Whether intervals of two series overlap at one place of x, or a marker hides another. */
static bool do_overlap(const struct plot_series *a, const struct plot_series *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; a->low != NULL && b->low != NULL && k < b->n; k++)
            if (a->x[i] == b->x[k] && fmax(a->low[i], b->low[k]) <= fmin(a->high[i], b->high[k])) return true;
    return false;
}

/* Whether series with error bars stand side by side, since bars at one place would hide each other. */
static bool find_apart(const struct plot_chart *chart)
{
    enum { MOST_SERIES = 24, MOST_POINTS = 200 };
    if (!chart->has_whiskers || chart->kind != PLOT_LINE) return false;
    for (size_t a = 0; a < chart->n_series; a++)
        for (size_t b = 0; b < a; b++) {
            const struct plot_series *one = &chart->series[a], *other = &chart->series[b];
            const bool is_many = a > MOST_SERIES || one->n > MOST_POINTS || other->n > MOST_POINTS;
            if (is_many || (one->x != NULL && other->x != NULL && do_overlap(one, other))) return true;
        }
    return false;
}

/* The colour scale of a heat map is to the right, as high as the frame. */
static void fit_z(struct frame *frame, const struct extent *data)
{
    if (frame->chart->kind != PLOT_HEATMAP) return;
    frame->z.from_px = frame->data.bottom;
    frame->z.to_px = frame->data.top;
    const double length = frame->data.bottom - frame->data.top;
    scale_fit(&frame->z, &frame->chart->z, data, FIT_ROUND, length, y_tick_px);
    ticks_find(&frame->z_ticks, &frame->z, false, false, STYLE_TEXT_PX, y_tick_px);
}

static double left_of_data(const struct frame *frame)
{
    const double second = frame->y_title_break > 0 ? title_line_px : 0.0;
    const double title = frame->chart->y.title != NULL ? axis_title_px + second : 0.0;
    if (frame->y_is_named) return FRAME_MARGIN_PX + title + frame->names.depth_px;
    return FRAME_MARGIN_PX + title + ticks_widest_px(&frame->y_ticks, STYLE_TEXT_PX) + tick_px + 4.0;
}

/* The last label along x is centred below its tick and sticks out by half its width. */
static double right_of_data(const struct frame *frame)
{
    if (frame->chart->kind != PLOT_HEATMAP) return frame->width - FRAME_MARGIN_PX - 8.0;
    const double title = frame->chart->z.title != NULL ? axis_title_px : 0.0;
    return frame->width - FRAME_MARGIN_PX - title - ticks_widest_px(&frame->z_ticks, STYLE_TEXT_PX) - tick_px - 4.0 -
           scale_px_width - scale_gap_px;
}

static double below_data(const struct frame *frame)
{
    const double labels = frame->x_is_named ? frame->names.depth_px : 18.0;
    return tick_px + labels + (frame->chart->x.title != NULL ? axis_title_px : 0.0) + 9.0;
}

/* Makes the data area a square, at the left; the drawing becomes narrower, or higher. */
static void make_square(struct frame *frame)
{
    const double wide = frame->data.right - frame->data.left;
    if (!frame->chart->is_square || frame->x_is_named || frame->y_is_named) return;
    frame->height += wide - (frame->data.bottom - frame->data.top);
    frame->data.bottom = frame->data.top + wide;
    frame->y.from_px = frame->data.bottom;
}

/* Lengths depend on labels, and labels on lengths: y first, on a guess of the space below, then x, then y again with
 * its pixels only. */
static void lay_out(struct frame *frame, const struct plot_chart *chart, struct text *svg, size_t y_title_break)
{
    struct extent x, y, z;
    *frame = (struct frame){.chart = chart, .svg = svg, .y_title_break = y_title_break};
    chart_extents(chart, &x, &y, &z);
    frame->is_apart = find_apart(chart);
    find_size(frame);
    frame->data.top = find_top(frame);
    frame->height = fmax(frame->height, frame->data.top + least_data_px + 60.0);
    frame->data.bottom = frame->height - 50.0;
    fit_y(frame, &y);
    fit_z(frame, &z);
    if (frame->y_is_named) {
        const double slot = (frame->data.bottom - frame->data.top) / fmax(1.0, (double)chart->n_categories);
        names_fit_y(&frame->names, chart, slot, 0.35 * frame->width);
    }
    frame->data.left = left_of_data(frame);
    const double beside = frame->width - right_of_data(frame);
    frame->data.right = fmax(frame->width - beside, frame->data.left + least_data_px);
    frame->width = frame->data.right + beside;
    fit_x(frame, &x);
    if (frame->x_is_named)
        names_fit_x(&frame->names, chart, (frame->data.right - frame->data.left) / (double)chart->n_categories);
    const double needed = frame->data.top + least_data_px + below_data(frame);
    frame->height = fmax(frame->height, needed);
    frame->data.bottom = frame->height - below_data(frame);
    if (frame->y_is_named) {
        frame->y.to_px = frame->data.bottom;
    } else {
        frame->y.from_px = frame->data.bottom;
    }
    frame->z.from_px = frame->data.bottom;
    make_square(frame);
}

/* The longest upright title that is not cut. */
static double upright_room(const struct frame *frame)
{
    return frame->data.bottom - frame->data.top + beyond_data_px;
}

void frame_init(struct frame *frame, const struct plot_chart *chart, struct text *svg)
{
    const char *title = chart->y.title;
    lay_out(frame, chart, svg, 0);
    if (title != NULL && text_width_px(title, strlen(title), STYLE_TEXT_PX) > upright_room(frame))
        lay_out(frame, chart, svg, text_halve(title));
}

/* --- drawing --- */

static void draw_path_across(const struct frame *frame, bool is_x, double px, double from, double to)
{
    draw_place(frame->svg, "M", is_x ? px : from, is_x ? from : px);
    draw_px(frame->svg, is_x ? "V" : "H", to);
}

static void draw_grid(const struct frame *frame, bool is_minor)
{
    text_printf(frame->svg, "<path stroke=\"%s\" fill=\"none\" d=\"", is_minor ? STYLE_MINOR : STYLE_GRID);
    for (int axis = 0; axis < 2; axis++) {
        const bool is_x = axis == 0;
        const struct ticks *ticks = is_x ? &frame->x_ticks : &frame->y_ticks;
        const struct px_rect *data = &frame->data;
        for (size_t i = 0; i < (is_minor ? ticks->n_minor : ticks->n); i++) {
            const double px = scale_px(is_x ? &frame->x : &frame->y, is_minor ? ticks->minor[i] : ticks->at[i].value);
            draw_path_across(frame, is_x, px, is_x ? data->bottom : data->left, is_x ? data->top : data->right);
        }
    }
    text_add(frame->svg, "\"/>\n");
}

/* Labels at the edges move inwards, to stay within the drawing. */
static void draw_x_ticks(const struct frame *frame)
{
    text_add(frame->svg, "<g fill=\"" STYLE_INK "\" text-anchor=\"middle\">\n");
    for (size_t i = 0; i < frame->x_ticks.n; i++) {
        const struct tick *tick = &frame->x_ticks.at[i];
        const double half = text_width_px(tick->label, strlen(tick->label), STYLE_TEXT_PX) / 2.0;
        const double px = fmin(fmax(scale_px(&frame->x, tick->value), half + 1.0), frame->width - half - 1.0);
        draw_label(frame->svg, px, frame->data.bottom + 19.0, "", tick->label, STYLE_TEXT_PX, 0.0);
    }
    text_add(frame->svg, "</g>\n");
}

static void draw_y_ticks(const struct frame *frame)
{
    text_add(frame->svg, "<g fill=\"" STYLE_INK "\" text-anchor=\"end\">\n");
    for (size_t i = 0; i < frame->y_ticks.n; i++)
        draw_label(frame->svg, frame->data.left - tick_px - 3.0, scale_px(&frame->y, frame->y_ticks.at[i].value) + 4.5,
                   "", frame->y_ticks.at[i].label, STYLE_TEXT_PX, 0.0);
    text_add(frame->svg, "</g>\n");
}

/* Draws a title with its last line at x; the byte where a second line begins, 0: none. */
static void draw_upright_title(const struct frame *frame, const char *title, size_t second, double x)
{
    static const char look[] = " fill=\"" STYLE_QUIET "\" text-anchor=\"middle\"";
    if (title == NULL) return;
    draw_place(frame->svg, "<g transform=\"translate(", x, (frame->data.top + frame->data.bottom) / 2.0);
    text_add(frame->svg, ") rotate(-90)\">");
    if (second > 0) {
        struct text first;
        text_init(&first);
        text_add_bytes(&first, title, second - 1);
        frame->svg->failed |= first.failed;
        if (!first.failed)
            draw_label(frame->svg, 0.0, -title_line_px, look, first.chars, STYLE_TEXT_PX, upright_room(frame));
        text_fini(&first);
    }
    draw_label(frame->svg, 0.0, 0.0, look, title + second, STYLE_TEXT_PX, upright_room(frame));
    text_add(frame->svg, "</g>\n");
}

static void draw_axis_titles(const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    if (chart->x.title != NULL)
        draw_label(frame->svg, (frame->data.left + frame->data.right) / 2.0, frame->height - 10.0,
                   " fill=\"" STYLE_QUIET "\" text-anchor=\"middle\"", chart->x.title, STYLE_TEXT_PX,
                   frame->data.right - frame->data.left);
    const double second_px = frame->y_title_break > 0 ? title_line_px : 0.0;
    draw_upright_title(frame, chart->y.title, frame->y_title_break, FRAME_MARGIN_PX + 10.0 + second_px);
    if (chart->kind == PLOT_HEATMAP) draw_upright_title(frame, chart->z.title, 0, frame->width - FRAME_MARGIN_PX + 2.0);
}

static void draw_title(const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    const double room = frame->width - 2.0 * FRAME_MARGIN_PX;
    double y = 28.0;
    if (chart->title != NULL) {
        draw_label(frame->svg, FRAME_MARGIN_PX, y, " font-size=\"16\" font-weight=\"600\" fill=\"" STYLE_INK "\"",
                   chart->title, 1.1 * STYLE_TITLE_PX, room);
        y += 19.0;
    }
    if (chart->subtitle != NULL)
        draw_label(frame->svg, FRAME_MARGIN_PX, y, " fill=\"" STYLE_QUIET "\"", chart->subtitle, STYLE_TEXT_PX, room);
}

void frame_draw(const struct frame *frame)
{
    draw_px(frame->svg, "<rect width=\"", frame->width);
    draw_px(frame->svg, "\" height=\"", frame->height);
    text_add(frame->svg, "\" fill=\"#ffffff\"/>\n");
    draw_title(frame);
    legend_draw(frame);
    text_add(frame->svg, "<g shape-rendering=\"crispEdges\">\n");
    draw_grid(frame, true);
    draw_grid(frame, false);
    text_add(frame->svg, "</g>\n");
    draw_x_ticks(frame);
    draw_y_ticks(frame);
    names_draw(frame);
    draw_axis_titles(frame);
}

/* The axes: at the bottom with ticks outwards, at the left, and zero if it lies within. */
void frame_draw_over(const struct frame *frame)
{
    const struct px_rect *data = &frame->data;
    struct text *svg = frame->svg;
    text_add(svg, "<path stroke=\"" STYLE_AXIS "\" fill=\"none\" shape-rendering=\"crispEdges\" d=\"");
    draw_place(svg, "M", data->left, data->top);
    draw_px(svg, "V", data->bottom);
    draw_px(svg, "H", data->right);
    for (size_t i = 0; i < frame->x_ticks.n; i++)
        draw_path_across(frame, true, scale_px(&frame->x, frame->x_ticks.at[i].value), data->bottom,
                         data->bottom + tick_px);
    for (size_t i = 0; i < frame->y_ticks.n; i++)
        draw_path_across(frame, false, scale_px(&frame->y, frame->y_ticks.at[i].value), data->left - tick_px,
                         data->left);
    if (frame->y_ticks.n > 0 && frame->y.kind != PLOT_LOG && frame->y.low < 0.0 && frame->y.high > 0.0)
        draw_path_across(frame, false, scale_px(&frame->y, 0.0), data->left, data->right);
    text_add(svg, "\"/>\n");
}
