#include "tests/support/plot_fixture.h"

#include "sim/core/rng.h"

#include <math.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

typedef void use_fn(const char *name, const struct plot_chart *chart, void *context);

static void make_line(use_fn *use, void *context)
{
    static const double rate[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const double fcfs[] = {0.21, 0.24, 0.29, 0.37, 0.52, 0.86, 1.61, 3.4};
    static const double fcfs_low[] = {0.20, 0.22, 0.26, 0.33, 0.45, 0.70, 1.25, 2.5};
    static const double fcfs_high[] = {0.22, 0.26, 0.32, 0.42, 0.60, 1.05, 2.02, 4.4};
    static const double chunked[] = {0.24, 0.25, 0.27, 0.30, 0.34, 0.41, 0.55, 0.90};
    static const double chunked_low[] = {0.23, 0.24, 0.25, 0.28, 0.31, 0.36, 0.47, 0.74};
    static const double chunked_high[] = {0.25, 0.27, 0.29, 0.33, 0.38, 0.47, 0.65, 1.10};
    static const double paper_rate[] = {2, 4, 6, 7};
    static const double paper_fcfs[] = {0.25, 0.36, 0.93, 1.5};
    static const double paper_chunked[] = {0.24, 0.32, 0.39, (double)NAN};
    const struct plot_series series[] = {
        {.name = "first come, first served", .n = LENGTH(rate), .x = rate, .y = fcfs, .low = fcfs_low, .high = fcfs_high},
        {.name = "chunked prefill", .n = LENGTH(rate), .x = rate, .y = chunked, .low = chunked_low, .high = chunked_high},
        {.name = "paper, first come", .is_reference = true, .n = LENGTH(paper_rate), .x = paper_rate, .y = paper_fcfs},
        {.name = "paper, chunked", .is_reference = true, .n = LENGTH(paper_rate), .x = paper_rate, .y = paper_chunked},
    };
    const struct plot_line lines[] = {{.kind = PLOT_AT_Y, .value = 2.0, .name = "target", .is_dashed = true}};
    const struct plot_chart chart = {.kind = PLOT_LINE, .title = "Time to first token grows with load",
                                     .subtitle = "Llama 2 70B on 8 A100, 99th percentile, band: 95 % of 20 seeds",
                                     .x = {"rate (requests/s)", PLOT_LINEAR, 0, 0},
                                     .y = {"time to first token (s)", PLOT_LINEAR, 0, 0},
                                     .n_series = LENGTH(series), .series = series,
                                     .n_lines = LENGTH(lines), .lines = lines};
    use("line", &chart, context);
}

static void make_step(use_fn *use, void *context)
{
    enum { N = 120 };
    double t_s[N], waiting[N], running[N];
    struct rng rng;
    rng_init(&rng, 1, 0, "plot-step", 0);
    for (int i = 0; i < N; i++) {
        t_s[i] = 300.0 * i;
        running[i] = fmin(64.0, floor(30.0 + 0.5 * i));
        waiting[i] = i < 68 ? 0.0 : (double)rng_below(&rng, (uint64_t)(i - 40));
    }
    const struct plot_series series[] = {{.name = "running", .n = N, .x = t_s, .y = running},
                                         {.name = "waiting", .n = N, .x = t_s, .y = waiting}};
    const struct plot_chart chart = {.kind = PLOT_STEP, .title = "Requests in the service",
                                     .x = {"time", PLOT_TIME, 0, 0}, .y = {"requests", PLOT_LINEAR, 0, 0},
                                     .n_series = LENGTH(series), .series = series, .height = 300};
    use("step", &chart, context);
}

static void make_cdf(use_fn *use, void *context)
{
    enum { N = 400 };
    double small[N], large[N];
    struct rng rng;
    rng_init(&rng, 1, 0, "plot-cdf", 0);
    for (int i = 0; i < N; i++) {
        small[i] = 0.02 + rng_exponential(&rng, 0.2);
        large[i] = i % 40 == 0 ? (double)INFINITY : 0.05 + rng_exponential(&rng, 1.5);
    }
    const struct plot_series series[] = {{.name = "Mixtral 8x7B", .n = N, .x = small},
                                         {.name = "Llama 3 405B (one in forty never ends)", .n = N, .x = large}};
    const struct plot_chart chart = {.kind = PLOT_CDF, .title = "Time to first token",
                                     .x = {"time to first token (s)", PLOT_LOG, 0, 0},
                                     .y = {"share of requests", PLOT_LINEAR, 0, 0},
                                     .n_series = LENGTH(series), .series = series, .height = 340};
    use("cdf", &chart, context);
}

static void make_bar(use_fn *use, void *context)
{
    static const char *const categories[] = {
        "fifo", "shortest job first", "tiresias", "easy backfilling", "most GPUs first", "fewest GPUs first"};
    static const double mean[] = {5200, 2100, 2600, 3900, 6100, 2500};
    static const double mean_low[] = {4800, 1950, 2450, 3600, 5500, 2300};
    static const double mean_high[] = {5600, 2250, 2750, 4200, 6700, 2700};
    static const double p99[] = {18000, 24000, 15000, 16400, 20500, 26000};
    static const double p99_low[] = {16600, 21000, 14100, 15000, 18000, 23500};
    static const double p99_high[] = {19400, 27000, 15900, 17800, 23000, 28500};
    static const double paper[] = {5000, (double)NAN, 2700, (double)NAN, (double)NAN, (double)NAN};
    const struct plot_series series[] = {
        {.name = "mean", .n = 6, .y = mean, .low = mean_low, .high = mean_high},
        {.name = "99th percentile", .n = 6, .y = p99, .low = p99_low, .high = p99_high},
        {.name = "mean, paper", .is_reference = true, .n = 6, .y = paper},
    };
    const struct plot_chart chart = {.kind = PLOT_BAR, .title = "Job completion time by scheduler",
                                     .subtitle = "intervals: 95 %, 20 seeds", .y = {"completion time (s)", PLOT_LINEAR, 0, 0},
                                     .n_categories = LENGTH(categories), .categories = categories,
                                     .n_series = LENGTH(series), .series = series};
    use("bar", &chart, context);
}

static void make_plain_bar(use_fn *use, void *context)
{
    static const char *const categories[] = {"us-east, on demand, eight A100 per node", "us-west, spot, H100",
                                             "europe-north, reserved for a year", "asia-south", "on premises"};
    static const double usd[] = {3.2, 1.15, 1.9, 2.45, -0.4};
    const struct plot_series series[] = {{.n = 5, .y = usd}};
    const struct plot_chart chart = {.kind = PLOT_BAR, .title = "Margin per million tokens",
                                     .y = {"margin ($)", PLOT_LINEAR, 0, 0}, .n_categories = 5, .categories = categories,
                                     .n_series = 1, .series = series, .width = 420, .height = 320};
    use("bar-plain", &chart, context);
}

static void make_dots(use_fn *use, void *context)
{
    static const char *const categories[] = {"1-16", "17-128", "129-512", "513-2048", "> 2048"};
    static const double gemm[] = {8.1, 4.4, 2.2, 1.4, 1.1}, gemm_p90[] = {21, 12, 6.5, 4, 3.1};
    static const double held[] = {11, 5.5, 2.4, 1.6, 1.2}, held_p90[] = {33, 14, 8, 4.4, 3.3};
    static const double attention[] = {3.5, 2.9, 2.8, 3.4, 6.2}, attention_p90[] = {12, 9, 8.4, 9.9, 17};
    const struct plot_series series[] = {
        {.name = "gemm", .n = 5, .y = gemm, .low = gemm, .high = gemm_p90},
        {.name = "gemm, held out", .is_reference = true, .n = 5, .y = held, .low = held, .high = held_p90},
        {.name = "attention", .n = 5, .y = attention, .low = attention, .high = attention_p90},
    };
    const struct plot_chart chart = {.kind = PLOT_DOTS, .title = "Error by tokens per call",
                                     .subtitle = "dot: median, whisker: 90th percentile",
                                     .x = {"tokens per call", PLOT_LINEAR, 0, 0},
                                     .y = {"error (%)", PLOT_LOG, 0, 0}, .n_categories = 5, .categories = categories,
                                     .n_series = LENGTH(series), .series = series, .height = 340};
    use("dots", &chart, context);
}

static void make_heatmap(use_fn *use, void *context)
{
    static const char *const rows[] = {"node 0", "node 1", "node 2", "node 3", "node 4", "node 5", "node 6", "node 7"};
    enum { COLUMNS = 12, ROWS = 8, N = COLUMNS * ROWS };
    double hour[N], use_frac[N];
    size_t row[N];
    for (size_t i = 0; i < N; i++) {
        hour[i] = 2.0 * (double)(i / ROWS);
        row[i] = i % ROWS;
        use_frac[i] = i == 37 ? (double)NAN
                              : rint(100.0 * (0.5 + 0.45 * sin(0.3 * hour[i] + 0.6 * (double)row[i]))) / 100.0;
    }
    const struct plot_series series[] = {{.n = N, .x = hour, .y = use_frac, .row = row}};
    const struct plot_chart chart = {.kind = PLOT_HEATMAP, .title = "GPU use by node and hour",
                                     .x = {"hour of the day", PLOT_LINEAR, -1, 23}, .z = {"share of GPUs in use", PLOT_LINEAR, 0, 1},
                                     .n_categories = ROWS, .categories = rows, .n_series = 1, .series = series};
    use("heatmap", &chart, context);
}

static void make_pareto(use_fn *use, void *context)
{
    static const double cost[] = {0.42, 0.55, 0.61, 0.72, 0.80, 0.95, 1.1, 1.3, 1.6, 0.66, 0.9, 1.5, 1.8, 1.2};
    static const double latency[] = {4.8, 2.6, 3.9, 1.5, 2.2, 0.92, 1.3, 0.61, 0.48, 2.9, 1.9, 0.9, 0.7, 1.9};
    static const bool on_front[] = {true, true, false, true, false, true, false, true, true};
    static const char *const labels[] = {"tp1 b256", "tp2 b256", "tp1 b64", "tp4 b256", "tp2 b64",
                                         "tp4 b64",  "tp8 b256", "tp8 b64", "tp8 b16",  "tp1 b16"};
    static const double paper_cost[] = {0.6, 1.0}, paper_latency[] = {2.4, 0.9};
    const struct plot_series series[] = {
        {.name = "A100", .n = 9, .x = cost, .y = latency, .on_front = on_front, .labels = labels},
        {.name = "H100", .n = 5, .x = cost + 9, .y = latency + 9},
        {.name = "A100, paper", .is_reference = true, .n = 2, .x = paper_cost, .y = paper_latency},
    };
    const struct plot_chart chart = {.kind = PLOT_SCATTER, .title = "Cost and latency of a chat service",
                                     .x = {"cost ($ per million tokens)", PLOT_LINEAR, 0, 0},
                                     .y = {"time to first token, p99 (s)", PLOT_LOG, 0, 0},
                                     .n_series = LENGTH(series), .series = series};
    use("scatter", &chart, context);
}

static void make_diagonal(use_fn *use, void *context)
{
    enum { N = 3000 };
    double measured[2 * N], predicted[2 * N];
    struct rng rng;
    rng_init(&rng, 1, 0, "plot-diagonal", 0);
    for (int i = 0; i < 2 * N; i++) {
        measured[i] = 8.0 * pow(10.0, 3.0 * rng_uniform(&rng));
        predicted[i] = measured[i] * (0.85 + 0.3 * rng_uniform(&rng));
    }
    const struct plot_series series[] = {{.name = "gemm", .n = N, .x = measured, .y = predicted},
                                         {.name = "attention", .n = N, .x = measured + N, .y = predicted + N}};
    const struct plot_line lines[] = {{PLOT_RATIO, 1.2, NULL, true}, {PLOT_RATIO, 1.0, "equal", false}, {PLOT_RATIO, 1 / 1.2, "20 % off", true}};
    const struct plot_chart chart = {.kind = PLOT_SCATTER, .title = "Predicted over measured", .is_square = true,
                                     .x = {"measured (us)", PLOT_LOG, 0, 0}, .y = {"predicted (us)", PLOT_LOG, 0, 0},
                                     .n_series = 2, .series = series, .n_lines = 3, .lines = lines, .width = 420};
    use("diagonal", &chart, context);
}

static void make_gantt(use_fn *use, void *context)
{
    static const char *const nodes[] = {"node 0", "node 1", "node 2", "node 3", "node 4"};
    static const char *const labels[] = {"job 1", "job 2", "job 3", "job 4", "job 5", "job 6", "job 7", "job 8"};
    static const double start_s[] = {0, 0, 600, 1800, 2400, 3600, 4000, 5400};
    static const double end_s[] = {3600, 1500, 2400, 7200, 5000, 9000, 6000, 9900};
    static const size_t row[] = {0, 1, 1, 2, 1, 0, 3, 4};
    static const double down_s[] = {1500, 7200}, up_s[] = {4000, 8800};
    static const size_t down_row[] = {3, 2};
    const struct plot_series series[] = {
        {.name = "training", .n = 5, .x = start_s, .x_end = end_s, .row = row, .labels = labels},
        {.name = "batch inference", .n = 3, .x = start_s + 5, .x_end = end_s + 5, .row = row + 5, .labels = labels + 5},
        {.name = "down", .colour = 8, .n = 2, .x = down_s, .x_end = up_s, .row = down_row}};
    const struct plot_chart chart = {.kind = PLOT_GANTT, .title = "Jobs on nodes", .x = {"time", PLOT_TIME, 0, 0},
                                     .n_categories = LENGTH(nodes), .categories = nodes,
                                     .n_series = LENGTH(series), .series = series, .height = 300};
    use("gantt", &chart, context);
}

void plot_fixture_each(void (*use)(const char *name, const struct plot_chart *chart, void *context), void *context)
{
    make_line(use, context);
    make_step(use, context);
    make_cdf(use, context);
    make_bar(use, context);
    make_plain_bar(use, context);
    make_dots(use, context);
    make_heatmap(use, context);
    make_pareto(use, context);
    make_diagonal(use, context);
    make_gantt(use, context);
}
