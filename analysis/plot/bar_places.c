#include "analysis/plot/bar_places.h"

#include "analysis/plot/style.h"

static bool has_place(const struct plot_chart *chart, size_t i)
{
    return !chart->series[i].is_reference || chart->kind == PLOT_DOTS || style_partner(chart, i) == chart->n_series;
}

static size_t places_before(const struct plot_chart *chart, size_t series)
{
    size_t n = 0;
    for (size_t i = 0; i < series; i++) n += has_place(chart, i);
    return n;
}

size_t bar_places(const struct plot_chart *chart)
{
    const size_t n = places_before(chart, chart->n_series);
    return n > 0 ? n : 1;
}

double bar_place(const struct plot_chart *chart, size_t series)
{
    if (!has_place(chart, series)) series = style_partner(chart, series);
    return (double)places_before(chart, series) - ((double)bar_places(chart) - 1.0) / 2.0;
}
