#include "analysis/plot/lanes.h"

#include "analysis/plot/scale.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdlib.h>

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

/* Every bar goes to the first lane of its row that is free when it starts; the last lane takes what is left over. */
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
