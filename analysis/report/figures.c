#include "analysis/report/figures.h"

#include "analysis/query.h"
#include "analysis/report/words.h"
#include "sim/core/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* --- Curves --- */

static const double share_step = 1.0 / 250.0, tail_factor = 0.75;

static int reserve(struct curve *curve, size_t n, struct arena *arena)
{
    curve->n = 0;
    curve->x = arena_alloc(arena, (n + 1) * sizeof *curve->x);
    curve->y = arena_alloc(arena, (n + 1) * sizeof *curve->y);
    return curve->x != NULL && curve->y != NULL ? 0 : SIM_E_NOMEM;
}

static void add(struct curve *curve, double x, double y)
{
    curve->x[curve->n] = x;
    curve->y[curve->n++] = y;
}

/* Whether a share differs enough from the last one kept. */
static bool is_apart(double y, double before)
{
    return y - before >= share_step || 1.0 - y <= tail_factor * (1.0 - before);
}

int curve_thin_shares(const double *x, const double *y, size_t n, struct arena *arena, struct curve *curve)
{
    double before = 0.0;
    size_t kept = 0;
    for (size_t pass = 0; pass < 2; pass++) { /* first counts, then copies */
        if (pass == 1 && reserve(curve, kept, arena) != 0) return SIM_E_NOMEM;
        before = 0.0;
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && i + 1 < n && !is_apart(y[i], before)) continue;
            if (pass == 0)
                kept++;
            else
                add(curve, x[i], y[i]);
            before = y[i];
        }
    }
    return 0;
}

struct histogram_walk {
    struct curve *curve;
    double n_total;
    uint64_t n_below;
};

static void count_bucket(void *context, double lower, double upper, uint64_t count)
{
    (void)lower, (void)upper, (void)count;
    ++*(size_t *)context;
}

static void add_bucket(void *context, double lower, double upper, uint64_t count)
{
    struct histogram_walk *walk = context;
    walk->n_below += count;
    add(walk->curve, lower > 0.0 ? upper : 0.0, (double)walk->n_below / walk->n_total);
}

/* The share of values below each bucket's upper end. Returns 0 or SIM_E_NOMEM. */
static int curve_of_histogram(const struct histogram *histogram, struct arena *arena, struct curve *curve)
{
    struct curve all = {0};
    size_t n = 0;
    struct histogram_walk walk = {.curve = &all, .n_total = (double)histogram->count};
    histogram_each(histogram, count_bucket, &n);
    if (reserve(&all, n, arena) != 0) return SIM_E_NOMEM;
    histogram_each(histogram, add_bucket, &walk);
    return curve_thin_shares(all.x, all.y, all.n, arena, curve);
}

/* Adds points i and k, which may be equal, in order. */
static void add_pair(struct curve *curve, const double *x, const double *y, size_t i, size_t k)
{
    const size_t first = i < k ? i : k, second = i < k ? k : i;
    if (curve->n == 0 || first != 0) add(curve, x[first], y[first]);
    if (second != first) add(curve, x[second], y[second]);
}

int curve_thin_extremes(const double *x, const double *y, size_t n, size_t most, struct arena *arena,
                        struct curve *curve)
{
    const size_t n_parts = most / 2 > 0 ? most / 2 : 1;
    if (reserve(curve, n < most ? n : 2 * n_parts + 2, arena) != 0) return SIM_E_NOMEM;
    if (n <= most) {
        for (size_t i = 0; i < n; i++) add(curve, x[i], y[i]);
        return 0;
    }
    const double width = (x[n - 1] - x[0]) / (double)n_parts;
    add(curve, x[0], y[0]);
    size_t i = 1;
    for (size_t part = 0; part < n_parts && i + 1 < n; part++) {
        const double end = x[0] + width * (double)(part + 1);
        size_t low = i, high = i, from = i;
        for (; i + 1 < n && (x[i] < end || part + 1 == n_parts); i++) {
            if (y[i] < y[low]) low = i;
            if (y[i] > y[high]) high = i;
        }
        if (i > from) add_pair(curve, x, y, low, high);
    }
    add(curve, x[n - 1], y[n - 1]);
    return 0;
}

void curve_bin_means(const double *x, const double *y, size_t n, double start, double end, size_t n_bins, double *means)
{
    const double width = (end - start) / (double)n_bins;
    size_t i = 0; /* the point in force at the current time */
    for (size_t bin = 0; bin < n_bins; bin++) {
        const double from = start + width * (double)bin, to = start + width * (double)(bin + 1);
        double sum = 0.0, held = 0.0;
        for (double t = from; n > 0 && t < to;) {
            while (i + 1 < n && x[i + 1] <= t) i++;
            const double next = x[i] > t ? x[i] : i + 1 < n ? x[i + 1] : to;
            const double until = next < to ? next : to;
            if (x[i] <= t && !isnan(y[i])) {
                sum += y[i] * (until - t);
                held += until - t;
            }
            t = until;
        }
        means[bin] = held > 0.0 ? sum / held : (double)NAN;
    }
}

/* --- Cumulative shares --- */

/* Above this ratio of the largest value to the 1 % quantile the axis is logarithmic. */
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
    int code = source_query(source, &query, "read a histogram", &answer);
    if (code != 0 || answer.n_rows == 0 || figure->n_curves == CDF_MAX_CURVES) return code;
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

/* The first point that a logarithmic axis shows: after values that are 0 or nearly so. */
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

/* "Not shown on this axis: of a 21 % and of b 4 %, which are 0 or nearly so." Returns `note` when there is nothing
 * to add. */
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

/* Whether all values are equal. */
static bool is_flat(const struct cdf *figure)
{
    for (size_t i = 0; i < figure->n_curves; i++)
        if (figure->curves[i].n != 1 || figure->curves[i].x[0] != figure->curves[0].x[0]) return false;
    return true;
}

/* Adds the sentence about equal values; a histogram knows them to 0.1 %. */
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
                                     .y = {.title = "cumulative share", .low = 0.0, .high = 1.0},
                                     .n_lines = figure->n_lines, .lines = figure->lines};
    const struct page_figure page = {.chart = &chart, .note = note, .queries = figure->queries,
                                     .n_queries = figure->n_queries, .group = figure->title};
    page_figure(html, &page);
}

/* --- Maps over time --- */

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

int heat_draw(const struct heat *heat, const struct report_source *source, struct text *html)
{
    struct cells cells;
    if (init_cells(heat, source->arena, &cells) != 0) return SIM_E_NOMEM;
    fill_cells(heat, &cells);
    const struct plot_series series = {.name = heat->axis, .n = cells.n, .x = cells.x, .y = cells.y, .row = cells.row};
    const struct plot_chart chart = {.kind = PLOT_HEATMAP, .title = heat->title, .x = {.title = "time", .scale = PLOT_TIME},
                                     .z = {.title = heat->axis, .high = heat->high}, .n_categories = cells.n_rows,
                                     .categories = cells.names, .n_series = 1, .series = &series,
                                     .n_events = source->n_events, .events = source->events};
    char note[160];
    int n = snprintf(note, sizeof note, "Means over %d equal parts of the run.", HEAT_COLUMNS);
    if (cells.per_row > 1)
        snprintf(note + n, sizeof note - (size_t)n, " %zu neighbours share a row; it has the name of the first.",
                 cells.per_row);
    const struct page_figure figure = {.chart = &chart, .note = note, .queries = heat->query, .n_queries = 1};
    page_figure(html, &figure);
    return 0;
}
