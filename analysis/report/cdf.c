#include "analysis/report/cdf.h"

#include "analysis/query.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* From this ratio of the largest to the 1 % quantile on, the axis is logarithmic. */
static const double wide_ratio = 50.0;

int cdf_open(const struct report_source *source, struct cdf *figure, const char *title, const char *unit)
{
    memset(figure, 0, sizeof *figure);
    figure->source = source;
    figure->title = title;
    figure->axis = unit[0] != 0 ? arena_printf(source->arena, "%s (%s)", title, unit) : title;
    return figure->axis != NULL ? 0 : SIM_E_NOMEM;
}

void cdf_add_query(struct cdf *figure, const struct page_query *query)
{
    if (figure->n_queries < CDF_MAX_QUERIES) figure->queries[figure->n_queries++] = *query;
}

int cdf_add_kept(struct cdf *figure, const char *name, const char *curve_name)
{
    const struct report_source *source = figure->source;
    struct query_answer answer;
    struct page_query query = {
        .sql = arena_printf(source->arena,
                            "SELECT upper, sum(count) OVER (ORDER BY lower) * 1.0 / sum(count) OVER () AS share\n"
                            "FROM histogram WHERE run_id = %" PRId64 " AND name = '%s' ORDER BY lower",
                            source->run.id, name)};
    if (query.sql == NULL) return SIM_E_NOMEM;
    int code = query_run(source->database, query.sql, NULL, 0, "read a histogram", source->arena, &answer,
                         source->diag);
    if (code != 0 || answer.n_rows == 0 || figure->n_curves == CDF_MAX_CURVES) return code;
    query.n_rows = answer.n_rows;
    cdf_add_query(figure, &query);
    figure->names[figure->n_curves] = curve_name;
    return curve_thin_shares(answer.columns[0].numbers, answer.columns[1].numbers, answer.n_rows, source->arena,
                             &figure->curves[figure->n_curves++]);
}

int cdf_add_histogram(struct cdf *figure, const struct histogram *histogram, const char *name)
{
    if (histogram->count == 0 || figure->n_curves == CDF_MAX_CURVES) return 0;
    figure->names[figure->n_curves] = name;
    return curve_of_histogram(histogram, figure->source->arena, &figure->curves[figure->n_curves++]);
}

static bool spans_decades(const struct cdf *figure)
{
    double low = (double)INFINITY, high = 0.0;
    for (size_t i = 0; i < figure->n_curves; i++) {
        const struct curve *curve = &figure->curves[i];
        for (size_t k = 0; k < curve->n; k++)
            if (curve->y[k] >= 0.01 && curve->x[k] > 0.0) low = fmin(low, curve->x[k]);
        high = fmax(high, curve->x[curve->n - 1]);
    }
    return high > wide_ratio * low;
}

/* Where a logarithmic axis starts: after the values that are zero, or nearly so. */
static size_t first_shown(const struct curve *curve, bool is_log)
{
    const double least = is_log ? curve->x[curve->n - 1] * 1e-6 : -1.0;
    size_t i = 0;
    while (i + 1 < curve->n && curve->x[i] <= least) i++;
    return i;
}

void cdf_draw(const struct cdf *figure, const char *note, struct text *html)
{
    if (figure->n_curves == 0) return;
    const bool is_log = spans_decades(figure);
    struct plot_series series[CDF_MAX_CURVES];
    memset(series, 0, sizeof series);
    for (size_t i = 0; i < figure->n_curves; i++) {
        const struct curve *curve = &figure->curves[i];
        const size_t first = first_shown(curve, is_log);
        series[i] = (struct plot_series){.name = figure->n_curves > 1 ? figure->names[i] : NULL,
                                         .n = curve->n - first, .x = curve->x + first, .y = curve->y + first};
    }
    const struct plot_chart chart = {.kind = PLOT_LINE, .title = figure->title, .n_series = figure->n_curves,
                                     .series = series,
                                     .x = {.title = figure->axis, .scale = is_log ? PLOT_LOG : PLOT_LINEAR},
                                     .y = {.title = "share at most so large", .low = 0.0, .high = 1.0}};
    const struct page_figure page = {.chart = &chart, .note = note, .queries = figure->queries,
                                     .n_queries = figure->n_queries, .group = figure->title};
    page_figure(html, &page);
}
