/* Heat maps: cells in rows, with their colour scale. */
#include "analysis/plot/mark.h"

#include "analysis/plot/draw.h"
#include "sim/core/mem.h"
#include "sim/core/real_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_px = 2.0; /* smaller cells are drawn together */

/* The grid as drawn: columns between `edges` (pixels), rows of equal height, values or NAN. */
struct grid {
    size_t n_columns, n_rows;
    double *edges; /* n_columns + 1 */
    double *values;
    bool is_merged; /* a drawn cell may stand for several */
};

/* Finds the distinct places of cells along x, in pixels. Returns their number. */
static size_t find_places(const struct frame *frame, const struct plot_series *series, double *places)
{
    size_t n = 0, n_places = 0;
    for (size_t i = 0; i < series->n; i++) {
        const double x = scale_px(&frame->x, series->x[i]);
        if (x >= frame->data.left && x <= frame->data.right) places[n++] = x;
    }
    qsort(places, n, sizeof *places, real_compare);
    for (size_t i = 0; i < n; i++)
        if (n_places == 0 || places[i] - places[n_places - 1] > 1e-6) places[n_places++] = places[i];
    return n_places;
}

/* Cells meet halfway between their places; if these are too close, columns have equal widths. */
static void find_edges(const struct frame *frame, struct grid *grid, const double *places, size_t n_places)
{
    const struct px_rect *data = &frame->data;
    const double width = data->right - data->left;
    grid->n_columns = n_places;
    if (n_places == 0) return;
    if ((double)n_places * least_px > width) {
        grid->n_columns = (size_t)(width / least_px);
        for (size_t i = 0; i <= grid->n_columns; i++)
            grid->edges[i] = data->left + width * (double)i / (double)grid->n_columns;
        grid->is_merged = true;
        return;
    }
    const double first = n_places > 1 ? (places[1] - places[0]) / 2.0 : width / 2.0;
    const double last = n_places > 1 ? (places[n_places - 1] - places[n_places - 2]) / 2.0 : width / 2.0;
    grid->edges[0] = fmax(places[0] - first, data->left);
    for (size_t i = 1; i < n_places; i++) grid->edges[i] = (places[i - 1] + places[i]) / 2.0;
    grid->edges[n_places] = fmin(places[n_places - 1] + last, data->right);
}

/* The last column that starts at or before a place. */
static size_t column_of(const struct grid *grid, double px)
{
    size_t low = 0, high = grid->n_columns;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (grid->edges[middle] <= px)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void fill(const struct frame *frame, const struct plot_series *series, struct grid *grid)
{
    const size_t n_categories = frame->chart->n_categories;
    for (size_t i = 0; i < grid->n_columns * grid->n_rows; i++) grid->values[i] = (double)NAN;
    for (size_t i = 0; i < series->n; i++) {
        const double x = scale_px(&frame->x, series->x[i]);
        if (!(x >= frame->data.left && x <= frame->data.right) || !scale_has(frame->z.kind, series->y[i])) continue;
        if (series->row[i] >= n_categories) continue;
        const size_t row = (size_t)((double)series->row[i] * (double)grid->n_rows / (double)n_categories);
        double *value = &grid->values[row * grid->n_columns + column_of(grid, x)];
        *value = isnan(*value) ? series->y[i] : fmax(*value, series->y[i]);
    }
}

static int make_grid(const struct frame *frame, const struct plot_series *series, struct grid *grid)
{
    const double height = frame->data.bottom - frame->data.top;
    const size_t n_categories = frame->chart->n_categories;
    *grid = (struct grid){.n_rows = n_categories};
    if ((double)n_categories * least_px > height) {
        grid->n_rows = (size_t)(height / least_px);
        grid->is_merged = true;
    }
    double *places = mem_alloc((series->n + 1) * sizeof *places);
    grid->edges = mem_alloc((series->n + 2) * sizeof *grid->edges);
    if (places != NULL && grid->edges != NULL) {
        find_edges(frame, grid, places, find_places(frame, series, places));
        grid->values = mem_alloc((grid->n_columns * grid->n_rows + 1) * sizeof *grid->values);
    }
    mem_free(places);
    if (grid->values == NULL) return -1;
    fill(frame, series, grid);
    return 0;
}

static int level_of(const struct frame *frame, double value)
{
    const double low = frame->z.from_px, high = frame->z.to_px;
    const double share = (scale_px(&frame->z, value) - low) / (high - low);
    return (int)fmin(fmax(floor(share * STYLE_HEAT_LEVELS), 0.0), STYLE_HEAT_LEVELS - 1.0);
}

static struct px_rect cell_rect(const struct frame *frame, const struct grid *grid, size_t row, size_t from, size_t to)
{
    const double step = (frame->data.bottom - frame->data.top) / (double)grid->n_rows;
    const double top = frame->data.top + step * (double)row;
    return (struct px_rect){grid->edges[from], top, grid->edges[to], top + step};
}

/* --- few cells: each with its value --- */

/* Writes the value of a cell that has room for it. */
static void write_value(const struct frame *frame, const struct px_rect *rect, const char *colour, double value)
{
    char label[TICK_LABEL_BYTES];
    number_label(value, label);
    const double width = text_width_px(label, strlen(label), STYLE_SMALL_PX);
    if (width + 6.0 > rect->right - rect->left || STYLE_SMALL_PX + 5.0 > rect->bottom - rect->top) return;
    text_printf(frame->svg, "<text font-size=\"11\" text-anchor=\"middle\" pointer-events=\"none\" fill=\"%s\"",
                style_text_on(colour));
    draw_px(frame->svg, " x=\"", (rect->left + rect->right) / 2.0);
    draw_px(frame->svg, "\" y=\"", (rect->top + rect->bottom) / 2.0 + 4.0);
    text_printf(frame->svg, "\">%s</text>\n", label);
}

static void draw_cell(const struct frame *frame, const struct grid *grid, size_t row, size_t column, double x_value)
{
    const double value = grid->values[row * grid->n_columns + column];
    const struct px_rect rect = cell_rect(frame, grid, row, column, column + 1);
    char colour[8];
    struct text *svg = frame->svg;
    style_heat(level_of(frame, value), colour);
    text_add(svg, "<rect shape-rendering=\"crispEdges\"");
    draw_rect_place(svg, &rect);
    text_printf(svg, " fill=\"%s\"><title>", colour);
    mark_name(svg, frame_category(frame, row));
    mark_value(svg, frame->chart->x.scale, x_value);
    text_add(svg, ", ");
    mark_value(svg, frame->chart->z.scale, value);
    text_add(svg, "</title></rect>\n");
    write_value(frame, &rect, colour, value);
}

/* The x of a column as given in the data. */
static double column_value(const struct frame *frame, const struct plot_series *series, const struct grid *grid,
                           size_t column)
{
    for (size_t i = 0; i < series->n; i++) {
        const double x = scale_px(&frame->x, series->x[i]);
        if (x >= grid->edges[column] && x <= grid->edges[column + 1]) return series->x[i];
    }
    return (double)NAN;
}

static void draw_cells(const struct frame *frame, const struct plot_series *series, const struct grid *grid)
{
    for (size_t column = 0; column < grid->n_columns; column++) {
        const double x_value = column_value(frame, series, grid, column);
        for (size_t row = 0; row < grid->n_rows; row++)
            if (!isnan(grid->values[row * grid->n_columns + column])) draw_cell(frame, grid, row, column, x_value);
    }
}

/* --- many cells: one path per colour, neighbours of a row drawn together --- */

static void add_run(const struct frame *frame, const struct px_rect *rect)
{
    draw_place(frame->svg, "M", rect->left, rect->top);
    draw_px(frame->svg, "H", rect->right);
    draw_px(frame->svg, "V", rect->bottom);
    draw_px(frame->svg, "H", rect->left);
    text_add(frame->svg, "z");
}

static void draw_level(const struct frame *frame, const struct grid *grid, int level)
{
    char colour[8];
    style_heat(level, colour);
    const size_t begin = frame->svg->length;
    text_printf(frame->svg, "<path fill=\"%s\" d=\"", colour);
    const size_t begun = frame->svg->length;
    for (size_t row = 0; row < grid->n_rows; row++) {
        const double *values = grid->values + row * grid->n_columns;
        for (size_t from = 0, to; from < grid->n_columns; from = to) {
            to = from + 1;
            if (isnan(values[from]) || level_of(frame, values[from]) != level) continue;
            while (to < grid->n_columns && !isnan(values[to]) && level_of(frame, values[to]) == level) to++;
            const struct px_rect rect = cell_rect(frame, grid, row, from, to);
            add_run(frame, &rect);
        }
    }
    if (frame->svg->failed) return;
    if (frame->svg->length == begun)
        frame->svg->length = begin;
    else
        text_add(frame->svg, "\"/>\n");
}

/* --- the scale of colours --- */

static void draw_colours(const struct frame *frame, double left, double right)
{
    const struct px_rect *data = &frame->data;
    const double step = (data->bottom - data->top) / STYLE_HEAT_LEVELS;
    text_add(frame->svg, "<g shape-rendering=\"crispEdges\">\n");
    for (int level = 0; level < STYLE_HEAT_LEVELS; level++) {
        char colour[8];
        style_heat(level, colour);
        text_add(frame->svg, "<rect");
        draw_rect_place(frame->svg,
                        &(struct px_rect){left, data->bottom - step * (level + 1), right, data->bottom - step * level});
        text_printf(frame->svg, " fill=\"%s\"/>\n", colour);
    }
    text_add(frame->svg, "</g>\n");
}

static void draw_legend(const struct frame *frame)
{
    const double left = frame->data.right + 18.0, right = left + 14.0;
    draw_colours(frame, left, right);
    text_add(frame->svg, "<g fill=\"" STYLE_INK "\">\n");
    for (size_t i = 0; i < frame->z_ticks.n; i++) {
        const double y = scale_px(&frame->z, frame->z_ticks.at[i].value);
        draw_px(frame->svg, "<path stroke=\"" STYLE_AXIS "\" d=\"M", right);
        draw_px(frame->svg, " ", y);
        draw_px(frame->svg, "H", right + 4.0);
        text_add(frame->svg, "\"/>");
        draw_label(frame->svg, right + 7.0, y + 4.5, "", frame->z_ticks.at[i].label, STYLE_TEXT_PX, 0.0);
    }
    text_add(frame->svg, "</g>\n");
}

static void draw_background(const struct frame *frame)
{
    text_add(frame->svg, "<rect");
    draw_rect_place(frame->svg, &frame->data);
    text_add(frame->svg, " fill=\"" STYLE_MISSING "\"/>\n");
}

void draw_heatmap(const struct frame *frame)
{
    const struct plot_series *series = frame->chart->series;
    struct grid grid;
    draw_legend(frame);
    draw_background(frame);
    if (frame->chart->n_series == 0 || series->x == NULL || series->y == NULL || series->row == NULL) return;
    if (frame->chart->n_categories == 0) return;
    if (make_grid(frame, series, &grid) != 0) {
        frame->svg->failed = true;
    } else if (!grid.is_merged && grid.n_columns * grid.n_rows <= MARK_MOST_ELEMENTS) {
        draw_cells(frame, series, &grid);
    } else {
        text_add(frame->svg, "<g shape-rendering=\"crispEdges\">\n");
        for (int level = 0; level < STYLE_HEAT_LEVELS; level++) draw_level(frame, &grid, level);
        text_add(frame->svg, "</g>\n");
    }
    mem_free(grid.edges);
    mem_free(grid.values);
}
