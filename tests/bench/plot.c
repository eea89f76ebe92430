/* Measures the CPU time from 100,000 numbers to SVG, as a line, steps, a scatter plot and a CDF.
 * A line is thinned to what its pixels show. Medians of five. */
#include "analysis/plot/plot.h"
#include "sim/core/rng.h"
#include "tests/bench/bench.h"

#include <stdio.h>

static void measure(const char *kind, const struct plot_chart *chart)
{
    const size_t n = chart->series->n;
    double repeats_s[BENCH_REPEATS];
    size_t n_bytes = 0;
    for (int i = 0; i < BENCH_REPEATS; i++) {
        struct text svg;
        text_init(&svg);
        const double start_s = bench_cpu_s();
        plot_svg(chart, &svg);
        repeats_s[i] = bench_cpu_s() - start_s;
        if (svg.failed) exit(1);
        n_bytes = svg.length;
        text_fini(&svg);
    }
    const double median_s = bench_median(repeats_s);
    printf("{\"bench\":\"plot\",\"kind\":\"%s\",\"points\":%zu,\"ms\":%.2f,\"points_per_s\":%.0f,\"svg_bytes\":%zu}\n",
           kind, n, 1e3 * median_s, (double)n / median_s, n_bytes);
}

int main(void)
{
    const size_t n = (size_t)bench_load(100000);
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    struct rng rng;
    if (x == NULL || y == NULL) return 1;
    rng_init(&rng, 1, 0, "bench", 0);
    double level = 0.0;
    for (size_t i = 0; i < n; i++) {
        level += rng_uniform(&rng) - 0.5;
        x[i] = (double)i;
        y[i] = level + 5.0 * rng_exponential(&rng, 1.0);
    }
    const struct plot_series line = {.name = "walk", .n = n, .x = x, .y = y}, values = {.name = "walk", .n = n, .x = y};
    struct plot_chart chart = {.kind = PLOT_LINE, .title = "walk", .n_series = 1, .series = &line};
    measure("line", &chart);
    chart.kind = PLOT_STEP;
    measure("step", &chart);
    chart.kind = PLOT_SCATTER;
    measure("scatter", &chart);
    chart.kind = PLOT_CDF;
    chart.series = &values;
    measure("cdf", &chart);
    free(x);
    free(y);
    return 0;
}
