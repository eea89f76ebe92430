#include "analysis/figure/chart.h"

#include "analysis/plot/plot.h"

/* Series before those of this chart. */
static size_t first_series(const struct figure *figure, size_t index)
{
    size_t first = 0;
    for (size_t i = 0; i < index; i++) first += FIGURE_ITEM(struct figure_chart, figure->charts, i)->series.n;
    return first;
}

static struct plot_series as_series(const char *name, size_t index, const struct data_curve *curve, bool is_reference)
{
    return (struct plot_series){.name = name,
                                .is_reference = is_reference,
                                .colour = (unsigned)(index % PLOT_COLOURS) + 1,
                                .n = curve->n,
                                .x = curve->x,
                                .y = curve->y,
                                .low = curve->low,
                                .high = curve->high};
}

static struct plot_axis as_axis(const struct figure_axis *axis)
{
    return (struct plot_axis){.title = axis->title, .scale = (enum plot_scale)axis->scale};
}

/* Each series of ours is followed by the paper's, of the same colour. */
static int make_chart(const struct figure_data *data, size_t index, struct plot_chart *out)
{
    const struct figure_chart *chart = FIGURE_ITEM(struct figure_chart, data->figure->charts, index);
    const struct data_series *series = data->series + first_series(data->figure, index);
    struct plot_series *all = arena_alloc(data->arena, 2 * chart->series.n * sizeof *all);
    if (all == NULL) return SIM_E_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < chart->series.n; i++) {
        all[n++] = as_series(series[i].series->name, i, &series[i].ours, false);
        if (series[i].paper.n == 0) continue;
        const char *name = arena_printf(data->arena, "%s, paper", series[i].series->name);
        if (name == NULL) return SIM_E_NOMEM;
        all[n++] = as_series(name, i, &series[i].paper, true);
    }
    *out = (struct plot_chart){.kind = PLOT_LINE,
                               .title = chart->title,
                               .subtitle = chart->subtitle,
                               .x = as_axis(&chart->x),
                               .y = as_axis(&chart->y),
                               .n_series = n,
                               .series = all};
    return 0;
}

int figure_chart_svg(const struct figure_data *data, size_t index, struct text *svg)
{
    struct plot_chart chart;
    int code = make_chart(data, index, &chart);
    if (code == 0) plot_svg(&chart, svg);
    return code == 0 && svg->failed ? SIM_E_NOMEM : code;
}

int figure_chart_gnuplot(const struct figure_data *data, size_t index, const char *data_name, struct text *script,
                         struct text *numbers)
{
    struct plot_chart chart;
    int code = make_chart(data, index, &chart);
    if (code == 0) plot_gnuplot(&chart, data_name, script, numbers);
    return code == 0 && (script->failed || numbers->failed) ? SIM_E_NOMEM : code;
}
