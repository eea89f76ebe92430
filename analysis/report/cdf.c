#include "analysis/report/cdf.h"

#include "analysis/query.h"
#include "analysis/report/words.h"

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
    figure->unit = unit;
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

/* The share of values that a logarithmic axis leaves out on its left. */
static double share_before(const struct curve *curve, size_t first)
{
    if (curve->x[first] <= curve->x[curve->n - 1] * 1e-6) return curve->y[first];
    return first > 0 ? curve->y[first - 1] : 0.0;
}

/* "Not shown on this axis: of a 21 % and of b 4 %, which are 0 or nearly so." Returns `note` when there is nothing to add. */
static const char *note_zeros(const struct cdf *figure, const char *note)
{
    struct arena *arena = figure->source->arena;
    const char *zeros = NULL, *result = note;
    for (size_t i = 0; i < figure->n_curves; i++) {
        char share[WORDS_CHARS];
        const struct curve *curve = &figure->curves[i];
        const double before = share_before(curve, first_shown(curve, true));
        if (!(before > 0.0)) continue;
        words_percent(before, share);
        if (figure->n_curves == 1)
            zeros = arena_strdup(arena, share);
        else
            zeros = arena_printf(arena, "%s%sof %s %s", zeros != NULL ? zeros : "", zeros != NULL ? ", " : "",
                                 figure->names[i], share);
    }
    if (zeros != NULL)
        result = arena_printf(arena, "%s%sLeft of this axis, 0 or nearly so: %s.", note != NULL ? note : "",
                              note != NULL ? " " : "", zeros);
    return result;
}

/* Whether all values are one, of which a curve shows nothing. */
static bool is_flat(const struct cdf *figure)
{
    for (size_t i = 0; i < figure->n_curves; i++)
        if (figure->curves[i].n != 1 || figure->curves[i].x[0] != figure->curves[0].x[0]) return false;
    return true;
}

/* A histogram knows its values to 0.1 %. */
static void say_flat(const struct cdf *figure, struct text *html)
{
    char words[WORDS_CHARS];
    const double value = figure->curves[0].x[0];
    text_add(html, "<figure><p class=\"note\"><strong>");
    page_escape(html, figure->title);
    text_add(html, value == 0.0 ? "</strong>: all values are " : "</strong>: all values are within 0.1 % of ");
    page_escape(html, words_value(value, figure->unit, words));
    text_add(html, ".</p>");
    page_sql(html, figure->queries, figure->n_queries);
    text_add(html, "</figure>\n");
}

void cdf_draw(const struct cdf *figure, const char *note, struct text *html)
{
    if (figure->n_curves == 0) return;
    if (is_flat(figure)) {
        say_flat(figure, html);
        return;
    }
    const bool is_log = spans_decades(figure);
    if (is_log) note = note_zeros(figure, note);
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
