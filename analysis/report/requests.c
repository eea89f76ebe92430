#include "analysis/report/sections.h"

#include "analysis/report/figures.h"
#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Columns of the scan. */
enum { SCAN_SERVICE, SCAN_ARRIVAL, SCAN_TTFT, SCAN_TPOT, SCAN_E2E, SCAN_QUEUE, SCAN_COUNTED };

enum { MAX_SLO_LINES = 4 }; /* of a chart */

static const struct plot_axis time_of_arrival = {.title = "time of arrival", .scale = PLOT_TIME};

static const struct {
    const char *metric, *title;
} quantities[REQUEST_QUANTITIES] = {[REQUEST_TTFT] = {"request.ttft_s", "Time to first token"},
                                    [REQUEST_TPOT] = {"request.tpot_s", "Time per output token"},
                                    [REQUEST_E2E] = {"request.e2e_s", "End-to-end latency"},
                                    [REQUEST_QUEUE] = {"request.queue_s", "Time in the queue"}};

/* --- Reading --- */

static int init_service(struct requests *requests, const char *name, struct arena *arena,
                        struct request_service **found)
{
    *found = NULL;
    if (requests->n_services == REQUEST_MAX_SERVICES) {
        requests->n_beyond++;
        return 0;
    }
    struct request_service *service = &requests->services[requests->n_services++];
    service->name = arena_strdup(arena, name);
    int code = service->name != NULL ? 0 : SIM_E_NOMEM;
    for (int i = 0; i < REQUEST_QUANTITIES && code == 0; i++) code = histogram_init(&service->histograms[i]);
    *found = service;
    return code;
}

static int find_service(struct requests *requests, const char *name, struct arena *arena,
                        struct request_service **found)
{
    for (size_t i = 0; i < requests->n_services; i++) {
        *found = &requests->services[i];
        if (strcmp((*found)->name, name) == 0) return 0;
    }
    return init_service(requests, name, arena, found);
}

struct scan {
    struct requests *requests;
    struct arena *arena;
    double end_s;
};

/* The trend of a service; NULL if it appeared after the services were counted. */
static struct trend *find_trend(struct requests *requests, const char *service)
{
    for (size_t i = 0; i < requests->n_trends; i++)
        if (strcmp(requests->trends[i].service, service) == 0) return &requests->trends[i].trend;
    return NULL;
}

static struct request_latency *find_latency(struct requests *requests, const char *service)
{
    for (size_t i = 0; i < requests->n_latencies; i++) {
        struct request_latency *latency = &requests->latencies[i];
        if (latency->service == NULL || strcmp(latency->service, service) == 0) return latency;
    }
    return NULL;
}

/* A request never scheduled has waited until the end. */
static int add_trend(const struct scan *scan, const char *service, sqlite3_stmt *row)
{
    struct requests *requests = scan->requests;
    const double arrival_s = query_number(row, SCAN_ARRIVAL), queue_s = query_number(row, SCAN_QUEUE);
    const double latency_s = query_number(row, SCAN_TTFT);
    const double wait_s = isnan(queue_s) ? scan->end_s - arrival_s : queue_s;
    struct trend *trend = find_trend(requests, service);
    const int bin = trend_bin_at(&requests->all, arrival_s);
    struct request_latency *latency = find_latency(requests, service);
    if (trend != NULL) trend_add(trend, arrival_s, wait_s, isnan(queue_s));
    trend_add(&requests->all, arrival_s, wait_s, isnan(queue_s));
    if (bin < 0 || !(latency_s >= 0.0) || latency == NULL) return 0;
    return histogram_add(&latency->parts_s[bin], latency_s, 1);
}

static int add_request(void *context, sqlite3_stmt *row)
{
    static const int columns[] = {
        [REQUEST_TTFT] = SCAN_TTFT, [REQUEST_TPOT] = SCAN_TPOT, [REQUEST_E2E] = SCAN_E2E, [REQUEST_QUEUE] = SCAN_QUEUE};
    struct scan *scan = context;
    struct request_service *service;
    const char *text = (const char *)sqlite3_column_text(row, SCAN_SERVICE), *name = text != NULL ? text : "";
    scan->requests->n_rows++;
    int code = add_trend(scan, name, row);
    if (code != 0 || sqlite3_column_int(row, SCAN_COUNTED) == 0) return code;
    code = find_service(scan->requests, name, scan->arena, &service);
    for (int i = 0; i < REQUEST_QUANTITIES && code == 0 && service != NULL; i++) {
        const double value = query_number(row, columns[i]);
        if (value >= 0.0) code = histogram_add(&service->histograms[i], value, 1);
    }
    return code;
}

static int init_latencies(struct requests *requests, struct arena *arena)
{
    const bool has_each = requests->n_trends > 1 && requests->n_trends <= REQUEST_MAX_CHARTS;
    const size_t n = has_each ? requests->n_trends : 1;
    int code = 0;
    requests->latencies = arena_alloc(arena, n * sizeof *requests->latencies);
    if (requests->latencies == NULL) return SIM_E_NOMEM;
    memset(requests->latencies, 0, n * sizeof *requests->latencies);
    requests->n_latencies = n;
    for (size_t i = 0; i < n; i++) {
        if (has_each) requests->latencies[i].service = requests->trends[i].service;
        for (int k = 0; k < TREND_BINS && code == 0; k++) code = histogram_init(&requests->latencies[i].parts_s[k]);
    }
    return code;
}

/* Starts one trend per service, and one of all, from first to last arrival. */
static int init_trends(struct requests *requests, const struct query_answer *spans, struct arena *arena)
{
    double first_s = (double)INFINITY, last_s = -(double)INFINITY;
    requests->n_trends = spans->n_rows;
    requests->trends = arena_alloc(arena, (spans->n_rows + 1) * sizeof *requests->trends);
    if (requests->trends == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < spans->n_rows; i++) {
        const char *const *services = spans->columns[0].texts;
        const double start_s = spans->columns[1].numbers[i], end_s = spans->columns[2].numbers[i];
        requests->trends[i].service = services != NULL && services[i] != NULL ? services[i] : "";
        trend_init(&requests->trends[i].trend, start_s, end_s);
        first_s = fmin(first_s, start_s);
        last_s = fmax(last_s, end_s);
    }
    trend_init(&requests->all, first_s, last_s);
    return init_latencies(requests, arena);
}

/* First and last arrival, per service. */
static int read_spans(const struct report_source *source, struct requests *requests)
{
    struct query_answer answer;
    requests->span.sql = arena_printf(source->arena,
                                      "SELECT service, min(arrival_s) AS first_s, max(arrival_s) AS last_s\n"
                                      "FROM request WHERE run_id = %" PRId64
                                      " AND status <> 'rejected' GROUP BY service ORDER BY service",
                                      source->run.id);
    int code = source_query(source, &requests->span, "read requests", &answer);
    return code == 0 ? init_trends(requests, &answer, source->arena) : code;
}

int requests_read(const struct report_source *source, struct requests *requests)
{
    memset(requests, 0, sizeof *requests);
    struct scan scan = {.requests = requests, .arena = source->arena, .end_s = source->end_s};
    int code = read_spans(source, requests);
    requests->scan.sql = arena_printf(source->arena,
                                      "SELECT service, arrival_s, ttft_s, tpot_s, e2e_s, queue_s,\n"
                                      "       status = 'finished' AND arrival_s >= %.9g AS in_metrics\n"
                                      "FROM request WHERE run_id = %" PRId64 " AND status <> 'rejected'",
                                      source->warmup_s, source->run.id);
    if (code == 0) code = source_each(source, &requests->scan, "read requests", add_request, &scan);
    requests->scan.n_rows = requests->n_rows;
    for (size_t i = 0; i < requests->n_trends; i++)
        requests->trends[i].growth = trend_growth(&requests->trends[i].trend);
    return code;
}

void requests_fini(struct requests *requests)
{
    for (size_t i = 0; i < requests->n_latencies; i++)
        for (int k = 0; k < TREND_BINS; k++) histogram_fini(&requests->latencies[i].parts_s[k]);
    for (size_t i = 0; i < requests->n_services; i++)
        for (int k = 0; k < REQUEST_QUANTITIES; k++) histogram_fini(&requests->services[i].histograms[k]);
}

/* --- Distributions --- */

/* What the metrics of latency and waiting cover, and so the curves. */
#define OF_FINISHED "Of the finished requests that arrived after the warm-up."

/* One curve per service from the rows; for a run without rows, one of all requests from the histogram that it kept. */
static int draw_distribution(const struct report_source *source, const struct requests *requests, int quantity,
                             struct text *html)
{
    static const enum subject_limit slo_of[] = {
        [REQUEST_TTFT] = LIMIT_TTFT, [REQUEST_TPOT] = LIMIT_TPOT, [REQUEST_E2E] = LIMIT_E2E};
    struct cdf figure;
    int code = cdf_open(source, &figure, quantities[quantity].title, "s");
    for (size_t i = 0; code == 0 && i < requests->n_services; i++)
        code = cdf_add_histogram(&figure, &requests->services[i].histograms[quantity], requests->services[i].name);
    if (requests->n_services > 0) cdf_add_query(&figure, &requests->scan);
    if (code == 0 && requests->n_services == 0)
        code = cdf_add_kept(&figure, quantities[quantity].metric, "all requests");
    if (quantity < LIMIT_COUNT)
        figure.n_lines = subject_slo_lines(&source->subject, source, slo_of[quantity], NULL, true, figure.lines,
                                           CDF_MAX_LINES);
    if (code == 0)
        cdf_draw(&figure, requests->n_beyond > 0 ? OF_FINISHED " The first seven services have a line." : OF_FINISHED,
                 html);
    return code;
}

/* Tokens have no rows: from the histogram. */
static int draw_token_gaps(const struct report_source *source, struct text *html)
{
    struct cdf figure;
    int code = cdf_open(source, &figure, "Time between two tokens", "s");
    if (code == 0) code = cdf_add_kept(&figure, "token.gap_s", "all tokens");
    if (code == 0) cdf_draw(&figure, NULL, html);
    return code;
}

int requests_distributions(const struct report_source *source, const struct requests *requests, struct text *html)
{
    int code = 0;
    for (int i = 0; i < REQUEST_QUANTITIES && code == 0; i++) code = draw_distribution(source, requests, i, html);
    return code == 0 ? draw_token_gaps(source, html) : code;
}

/* --- Over time --- */

/* The upper percentile that the requests suffice for, and into how many parts of the time they are divided for it. */
struct latency_lines {
    size_t n;
    const char *upper_name;
    double upper; /* NAN: none */
    double t_s[TREND_BINS], p50_s[TREND_BINS], upper_s[TREND_BINS];
};

enum { LEAST_PARTS = 16 };

/* The 99th percentile if the parts can have enough requests each, else the 95th, else the 90th. Parts are powers of
 * two. */
static void choose_parts(double n_requests, struct latency_lines *lines)
{
    static const struct {
        const char *name;
        double quantile, least;
    } uppers[] = {{"99th percentile", 0.99, 100.0}, {"95th percentile", 0.95, 20.0}, {"90th percentile", 0.90, 10.0}};
    *lines = (struct latency_lines){.n = LEAST_PARTS, .upper = (double)NAN};
    for (size_t i = 0; i < sizeof uppers / sizeof *uppers && isnan(lines->upper); i++) {
        if (n_requests < LEAST_PARTS * uppers[i].least) continue;
        lines->upper = uppers[i].quantile;
        lines->upper_name = uppers[i].name;
        while (lines->n < TREND_BINS && 2.0 * (double)lines->n * uppers[i].least <= n_requests) lines->n *= 2;
    }
}

static int collect_lines(const struct trend *trend, const struct request_latency *latency, struct latency_lines *lines)
{
    double n_requests = 0.0;
    for (int i = 0; i < TREND_BINS; i++) n_requests += (double)latency->parts_s[i].count;
    choose_parts(n_requests, lines);
    const size_t bins = TREND_BINS / lines->n; /* of a part */
    for (size_t part = 0; part < lines->n; part++) {
        struct histogram sum = {0};
        int code = histogram_init(&sum);
        for (size_t i = part * bins; i < (part + 1) * bins && code == 0; i++)
            code = histogram_merge(&sum, &latency->parts_s[i]);
        const bool has_upper = !isnan(lines->upper) && words_has_quantile((double)sum.count, lines->upper);
        lines->t_s[part] = trend->start_s + trend->width_s * (double)bins * ((double)part + 0.5);
        lines->p50_s[part] = sum.count > 0 ? histogram_quantile(&sum, 0.50) : (double)NAN;
        lines->upper_s[part] = has_upper && sum.count > 0 ? histogram_quantile(&sum, lines->upper) : (double)NAN;
        histogram_fini(&sum);
        if (code != 0) return code;
    }
    return 0;
}

/* A logarithmic axis if values are decades apart. */
static enum plot_scale choose_scale(const struct latency_lines *lines)
{
    double low = (double)INFINITY, high = 0.0;
    for (size_t i = 0; i < lines->n; i++) {
        if (lines->p50_s[i] > 0.0) low = fmin(low, lines->p50_s[i]);
        high = fmax(high, fmax(lines->p50_s[i], lines->upper_s[i]));
    }
    return high > 50.0 * low ? PLOT_LOG : PLOT_LINEAR;
}

static int draw_latency(const struct report_source *source, const struct requests *requests,
                        const struct request_latency *of, const struct page_query *queries, struct text *html)
{
    static const char title_of_all[] = "Time to first token, by time of arrival";
    const char *title = of->service == NULL
                            ? title_of_all
                            : arena_printf(source->arena, "Time to first token of %s, by time of arrival", of->service);
    struct latency_lines *lines = arena_alloc(source->arena, sizeof *lines);
    struct plot_line slos[MAX_SLO_LINES];
    if (title == NULL || lines == NULL || collect_lines(&requests->all, of, lines) != 0) return SIM_E_NOMEM;
    const struct plot_series latency[] = {
        {.name = "median", .n = lines->n, .x = lines->t_s, .y = lines->p50_s},
        {.name = lines->upper_name, .n = lines->n, .x = lines->t_s, .y = lines->upper_s}};
    const struct plot_chart chart = {
        .kind = PLOT_LINE, .title = title, .x = time_of_arrival,
        .y = {.title = "TTFT (s)", .scale = choose_scale(lines)}, .n_series = isnan(lines->upper) ? 1 : 2,
        .series = latency, .lines = slos,
        .n_lines = subject_slo_lines(&source->subject, source, LIMIT_TTFT, of->service, false, slos, MAX_SLO_LINES),
        .n_events = source->n_events, .events = source->events};
    const char *note = arena_printf(source->arena,
                                    "In %zu equal parts of the time of arrivals, warm-up included. A part with too few "
                                    "requests has no percentile: the 90th takes 10, the 95th 20, the 99th 100.",
                                    lines->n);
    if (note == NULL) return SIM_E_NOMEM;
    page_figure(html, &(struct page_figure){.chart = &chart, .queries = queries, .n_queries = 2, .group = "time",
                                            .note = note});
    return 0;
}

static int draw_arrivals(const struct report_source *source, const struct requests *requests,
                         const struct page_query *queries, struct text *html)
{
    const struct trend *trend = &requests->all;
    double *t_s = arena_alloc(source->arena, TREND_BINS * sizeof *t_s);
    double *per_s = arena_alloc(source->arena, TREND_BINS * sizeof *per_s);
    if (t_s == NULL || per_s == NULL) return SIM_E_NOMEM;
    for (int i = 0; i < TREND_BINS; i++) {
        t_s[i] = trend->start_s + trend->width_s * (i + 0.5);
        per_s[i] = trend->bins[i].n / trend->width_s;
    }
    const struct plot_series rate = {.n = TREND_BINS, .x = t_s, .y = per_s, .name = "arrivals"};
    const struct plot_chart chart = {.kind = PLOT_LINE, .title = "Arrivals", .x = time_of_arrival,
                                     .y = {.title = "requests per second"}, .n_series = 1, .series = &rate,
                                     .n_events = source->n_events, .events = source->events};
    page_figure(html, &(struct page_figure){.chart = &chart, .queries = queries, .n_queries = 2, .group = "time",
                                            .note = "In 128 equal parts of the time of arrivals, warm-up included."});
    return 0;
}

int requests_over_time(const struct report_source *source, const struct requests *requests, struct text *html)
{
    const struct page_query queries[] = {requests->span, requests->scan};
    int code = 0;
    for (size_t i = 0; i < requests->n_latencies && code == 0; i++)
        code = draw_latency(source, requests, &requests->latencies[i], queries, html);
    return code == 0 ? draw_arrivals(source, requests, queries, html) : code;
}
