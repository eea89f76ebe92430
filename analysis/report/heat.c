#include "analysis/report/heat.h"

#include "sim/core/err.h"

#include <math.h>
#include <stdio.h>

struct cells {
    size_t n_rows, per_row, n;
    double *x, *y;
    size_t *row;
    const char **names;
};

static int init_cells(const struct heat *heat, struct arena *arena, struct cells *cells)
{
    cells->per_row = (heat->n + HEAT_MAX_ROWS - 1) / HEAT_MAX_ROWS;
    cells->n_rows = (heat->n + cells->per_row - 1) / cells->per_row;
    cells->n = cells->n_rows * HEAT_COLUMNS;
    cells->x = arena_alloc(arena, cells->n * sizeof *cells->x);
    cells->y = arena_alloc(arena, cells->n * sizeof *cells->y);
    cells->row = arena_alloc(arena, cells->n * sizeof *cells->row);
    cells->names = arena_alloc(arena, cells->n_rows * sizeof *cells->names);
    const bool has_all = cells->x != NULL && cells->y != NULL && cells->row != NULL && cells->names != NULL;
    for (size_t row = 0; has_all && row < cells->n_rows; row++) cells->names[row] = heat->names[row * cells->per_row];
    return has_all ? 0 : SIM_E_NOMEM;
}

static double mean_of(const double *means, size_t from, size_t to, size_t column)
{
    double n = 0.0, sum = 0.0;
    for (size_t i = from; i < to; i++) {
        const double value = means[i * HEAT_COLUMNS + column];
        if (isnan(value)) continue;
        n++;
        sum += value;
    }
    return n > 0.0 ? sum / n : (double)NAN;
}

static void fill_cells(const struct heat *heat, struct cells *cells)
{
    for (size_t row = 0; row < cells->n_rows; row++) {
        const size_t from = row * cells->per_row;
        const size_t to = from + cells->per_row < heat->n ? from + cells->per_row : heat->n;
        for (size_t column = 0; column < HEAT_COLUMNS; column++) {
            const size_t cell = row * HEAT_COLUMNS + column;
            cells->x[cell] = heat->end_s * ((double)column + 0.5) / HEAT_COLUMNS;
            cells->y[cell] = mean_of(heat->means, from, to, column);
            cells->row[cell] = row;
        }
    }
}

int heat_draw(const struct heat *heat, struct arena *arena, struct text *html)
{
    struct cells cells;
    if (init_cells(heat, arena, &cells) != 0) return SIM_E_NOMEM;
    fill_cells(heat, &cells);
    const struct plot_series series = {.name = heat->axis, .n = cells.n, .x = cells.x, .y = cells.y, .row = cells.row};
    const struct plot_chart chart = {.kind = PLOT_HEATMAP, .title = heat->title, .x = {.title = "time", .scale = PLOT_TIME},
                                     .z = {.title = heat->axis, .high = heat->high}, .n_categories = cells.n_rows,
                                     .categories = cells.names, .n_series = 1, .series = &series};
    char note[160];
    int n = snprintf(note, sizeof note, "Means over %d equal parts of the run.", HEAT_COLUMNS);
    if (cells.per_row > 1)
        snprintf(note + n, sizeof note - (size_t)n, " %zu neighbours share a row; it has the name of the first.",
                 cells.per_row);
    const struct page_figure figure = {.chart = &chart, .note = note, .queries = heat->query, .n_queries = 1};
    page_figure(html, &figure);
    return 0;
}
