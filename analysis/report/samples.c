#include "analysis/report/sections.h"

#include "analysis/report/figures.h"
#include "analysis/report/words.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LINES = 7,       /* of a figure; with more, a band and a map */
    MAX_TOGETHER = 3,    /* steps that stay legible over each other; with more, small multiples */
    MAX_LIMITS = 1,
    MAX_POINTS = 4000,   /* of a figure, all its lines together */
    BAND_COLUMNS = 400
};

/* --- Reading --- */

static int add_line(struct samples *samples, const char *series, const char *entity)
{
    const struct sample_line line = {.series = arena_strdup(samples->arena, series),
                                     .entity = arena_strdup(samples->arena, entity)};
    if (line.series == NULL || line.entity == NULL) return SIM_E_NOMEM;
    samples->last = samples->n_lines;
    return vec_push(&samples->lines, &samples->n_lines, &samples->capacity, line);
}

/* Rows mostly visit the lines in the same order, so the search starts after the last one. */
static int find_line(struct samples *samples, const char *series, const char *entity)
{
    for (size_t i = 1; i <= samples->n_lines; i++) {
        const size_t k = (samples->last + i) % samples->n_lines;
        if (strcmp(samples->lines[k].entity, entity) != 0 || strcmp(samples->lines[k].series, series) != 0) continue;
        samples->last = k;
        return 0;
    }
    return add_line(samples, series, entity);
}

static int add_point(struct sample_line *line, double t_s, double value)
{
    size_t capacity = line->capacity;
    if (vec_reserve(&line->t_s, &capacity, line->n + 1) != 0) return SIM_E_NOMEM;
    if (vec_reserve(&line->values, &line->capacity, line->n + 1) != 0) return SIM_E_NOMEM;
    line->t_s[line->n] = t_s;
    line->values[line->n++] = value;
    return 0;
}

static int add_sample(void *context, sqlite3_stmt *row)
{
    struct samples *samples = context;
    const char *series = (const char *)sqlite3_column_text(row, 0);
    const char *entity = (const char *)sqlite3_column_text(row, 1);
    const double t_s = query_number(row, 2);
    samples->n_rows++;
    if (isnan(t_s)) return 0;
    int code = find_line(samples, series != NULL ? series : "", entity != NULL ? entity : "");
    return code != 0 ? code : add_point(&samples->lines[samples->last], t_s, query_number(row, 3));
}

int samples_read(const struct report_source *source, struct samples *samples)
{
    *samples = (struct samples){.arena = source->arena};
    samples->query.sql = arena_printf(source->arena,
                                      "SELECT series, entity, t_s, value FROM sample WHERE run_id = %" PRId64,
                                      source->run.id);
    int code = source_each(source, &samples->query, "read samples", add_sample, samples);
    samples->query.n_rows = samples->n_rows;
    return code;
}

void samples_fini(struct samples *samples)
{
    for (size_t i = 0; i < samples->n_lines; i++) {
        mem_free(samples->lines[i].t_s);
        mem_free(samples->lines[i].values);
    }
    mem_free(samples->lines);
}

/* --- Figures --- */

/* The title and labels of a series. */
struct series_words {
    const char *series, *title, *axis;
};

/* In the order of the figures: the site, jobs, services, replicas. */
static const struct series_words known[] = {
    {"cluster.gpus_by_use", "GPUs by use, one above the other", "GPUs"},
    {"power.site_w", "Power of the site", "W"},
    {"power.domain_w", "Power of the domains that have a budget", "W"},
    {"cluster.gpus_in_use", "GPUs in use", "GPUs"},
    {"rental.gpus", "GPUs rented and in use, by type", "GPUs"},
    {"cost.usd", "Bill so far, by offer", "dollars"},
    {"job.pending", "Jobs waiting", "jobs"},
    {"job.running", "Jobs running", "jobs"},
    {"service.replicas", "Replicas up, per service that scales", "replicas"},
    {"service.replicas_wanted", "Replicas wanted, per service that scales", "replicas"},
    {"service.waiting", "Requests waiting, per service", "requests"},
    {"service.running", "Requests in the batch, per service", "requests"},
    {"service.kv_used_frac", "KV cache in use, per service", "share of the blocks"},
    {"replica.waiting", "Requests waiting, per replica", "requests"},
    {"replica.running", "Requests in the batch, per replica", "requests"},
    {"replica.kv_used_frac", "KV cache in use, per replica", "share of the blocks"},
    {"link.bytes_per_s", "Traffic over links", "bytes per second"}};

enum { N_KNOWN = sizeof known / sizeof known[0] };

/* The rank of a series; N_KNOWN if it is not listed: such series come last, under their own names. */
static size_t rank_of(const char *series)
{
    size_t i = 0;
    while (i < N_KNOWN && strcmp(known[i].series, series) != 0) i++;
    return i;
}

static struct series_words words_for(const char *series)
{
    const size_t rank = rank_of(series);
    return rank < N_KNOWN ? known[rank] : (struct series_words){series, series, series};
}

/* One series: its lines, in order of their first rows. */
struct group {
    const struct report_source *source;
    const struct samples *samples;
    struct series_words words;
    size_t n;
    const struct sample_line **lines;
};

static int collect_group(const struct report_source *source, const struct samples *samples, const char *series,
                         struct group *group)
{
    *group = (struct group){.source = source, .samples = samples, .words = words_for(series)};
    group->lines = arena_alloc(source->arena, samples->n_lines * sizeof(struct sample_line *));
    if (group->lines == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < samples->n_lines; i++)
        if (strcmp(samples->lines[i].series, series) == 0) group->lines[group->n++] = &samples->lines[i];
    return 0;
}

/* --- Limits: budgets and capacities, as far as the run says them --- */

/* `words`: the value, NULL: as GPUs. */
static size_t add_limit(const struct group *group, const char *name, double value, const char *words,
                        struct plot_line *lines)
{
    char gpus[WORDS_CHARS];
    if (!(value > 0.0)) return 0;
    if (words == NULL) words = words_value(value, "GPUs", gpus);
    lines[0] = (struct plot_line){.kind = PLOT_AT_Y, .value = value, .is_dashed = true,
                                  .name = arena_printf(group->source->arena, "%s %.40s", name, words)};
    return 1;
}

static size_t find_limits(const struct group *group, struct plot_line lines[MAX_LIMITS])
{
    const struct subject *subject = &group->source->subject;
    const char *series = group->words.series;
    const bool is_site = subject->power_level != NULL && strcmp(subject->power_level, "site") == 0;
    if (strcmp(series, "power.domain_w") == 0 || (is_site && strcmp(series, "power.site_w") == 0))
        return add_limit(group, "budget", subject->budget_w, subject->budget, lines);
    if (strcmp(series, "rental.gpus") == 0) return add_limit(group, "budget", subject->budget_gpus, NULL, lines);
    if (strcmp(series, "cluster.gpus_in_use") == 0 || strcmp(series, "cluster.gpus_by_use") == 0)
        return add_limit(group, "capacity", source_metric(group->source, "cluster.gpus"), NULL, lines);
    return 0;
}

/* --- Charts --- */

static const struct plot_axis time_axis = {.title = "time", .scale = PLOT_TIME};

static struct page_figure figure_of(const struct group *group, const struct plot_chart *chart, const char *note)
{
    return (struct page_figure){.chart = chart, .note = note, .queries = &group->samples->query, .n_queries = 1,
                                .group = "time"};
}

/* A chart over time with everything but its series and title. */
static struct plot_chart chart_of(const struct group *group, enum plot_kind kind, const struct plot_line *limits,
                                  size_t n_limits)
{
    return (struct plot_chart){.kind = kind, .title = group->words.title, .x = time_axis,
                               .y = {.title = group->words.axis}, .n_lines = n_limits, .lines = limits,
                               .n_events = group->source->n_events, .events = group->source->events};
}

static void draw(const struct group *group, const struct plot_series *series, size_t n, enum plot_kind kind,
                 const char *note, struct text *html)
{
    struct plot_line limits[MAX_LIMITS];
    const size_t n_limits = find_limits(group, limits);
    struct plot_chart chart = chart_of(group, kind, limits, n_limits);
    chart.n_series = n;
    chart.series = series;
    const struct page_figure figure = figure_of(group, &chart, note);
    page_figure(html, &figure);
}

/* The same range of y for all, from zero: heights compare. */
static void draw_multiples(const struct group *group, const struct plot_series *series, struct text *html)
{
    struct plot_chart charts[MAX_LINES];
    struct plot_line limits[MAX_LIMITS];
    const size_t n_limits = find_limits(group, limits);
    double low = 0.0, high = n_limits > 0 ? limits[0].value : 0.0;
    for (size_t i = 0; i < group->n; i++)
        for (size_t k = 0; k < series[i].n; k++) {
            low = fmin(low, series[i].y[k]);
            high = fmax(high, series[i].y[k]);
        }
    for (size_t i = 0; i < group->n; i++) {
        charts[i] = chart_of(group, PLOT_STEP, limits, n_limits);
        charts[i].title = series[i].name;
        charts[i].name = arena_printf(group->source->arena, "%s: %s", group->words.title, series[i].name);
        charts[i].x.title = NULL;
        charts[i].y.low = low;
        charts[i].y.high = low < high ? high + 0.04 * (high - low) : low;
        charts[i].n_series = 1;
        charts[i].series = &series[i];
    }
    const struct page_figure figure = figure_of(group, NULL, "All with the same range of values.");
    page_multiples(html, group->words.title, charts, group->n, &figure);
}

static int draw_lines(const struct group *group, struct text *html)
{
    struct plot_series series[MAX_LINES];
    memset(series, 0, sizeof series);
    for (size_t i = 0; i < group->n; i++) {
        const struct sample_line *line = group->lines[i];
        struct curve curve;
        if (curve_thin_extremes(line->t_s, line->values, line->n, MAX_POINTS / group->n, group->source->arena, &curve))
            return SIM_E_NOMEM;
        series[i] = (struct plot_series){.name = group->n > 1 || line->entity[0] != 0 ? line->entity : NULL,
                                         .n = curve.n, .x = curve.x, .y = curve.y};
    }
    if (group->n > MAX_TOGETHER)
        draw_multiples(group, series, html);
    else
        draw(group, series, group->n, PLOT_STEP, NULL, html);
    return 0;
}

/* Whether every value of the series is 0. */
static bool is_zero(const struct group *group)
{
    for (size_t i = 0; i < group->n; i++)
        for (size_t k = 0; k < group->lines[i]->n; k++)
            if (group->lines[i]->values[k] != 0.0) return false;
    return true;
}

static void say_zero(const struct group *group, struct text *html)
{
    text_add(html, "<figure class=\"said\"><p class=\"note\"><strong>");
    page_escape(html, group->words.title);
    text_add(html, "</strong>: 0 in every sample.</p>\n");
    page_sql(html, &group->samples->query, 1);
    text_add(html, "</figure>\n");
}

/* Means of every line in `n_bins` parts of the run: a matrix of n lines by n_bins, in the arena. */
static double *bin_lines(const struct group *group, size_t n_bins)
{
    double *means = arena_alloc(group->source->arena, group->n * n_bins * sizeof *means);
    for (size_t i = 0; means != NULL && i < group->n; i++)
        curve_bin_means(group->lines[i]->t_s, group->lines[i]->values, group->lines[i]->n, 0.0, group->source->end_s,
                        n_bins, means + i * n_bins);
    return means;
}

struct band {
    double t_s[BAND_COLUMNS], mean[BAND_COLUMNS], low[BAND_COLUMNS], high[BAND_COLUMNS];
};

static void fill_band(const struct group *group, const double *means, struct band *band)
{
    for (size_t bin = 0; bin < BAND_COLUMNS; bin++) {
        double n = 0.0, sum = 0.0, low = (double)INFINITY, high = -(double)INFINITY;
        for (size_t i = 0; i < group->n; i++) {
            const double value = means[i * BAND_COLUMNS + bin];
            if (isnan(value)) continue;
            n++;
            sum += value;
            low = fmin(low, value);
            high = fmax(high, value);
        }
        band->t_s[bin] = group->source->end_s * ((double)bin + 0.5) / BAND_COLUMNS;
        band->mean[bin] = n > 0.0 ? sum / n : (double)NAN;
        band->low[bin] = n > 0.0 ? low : (double)NAN;
        band->high[bin] = n > 0.0 ? high : (double)NAN;
    }
}

static int draw_band(const struct group *group, struct text *html)
{
    struct band *band = arena_alloc(group->source->arena, sizeof *band);
    const double *means = bin_lines(group, BAND_COLUMNS);
    if (band == NULL || means == NULL) return SIM_E_NOMEM;
    fill_band(group, means, band);
    const struct plot_series series = {.name = "mean, lowest to highest", .n = BAND_COLUMNS, .x = band->t_s,
                                       .y = band->mean, .low = band->low, .high = band->high};
    char note[160];
    snprintf(note, sizeof note,
             "Mean of %zu, and the range from the lowest to the highest of them, in %d parts of the run.", group->n,
             BAND_COLUMNS);
    draw(group, &series, 1, PLOT_LINE, note, html);
    return 0;
}

/* Lines that are parts of one amount, stacked. */
static int draw_stack(const struct group *group, struct text *html)
{
    struct arena *arena = group->source->arena;
    struct plot_series series[MAX_LINES];
    const double *means = bin_lines(group, BAND_COLUMNS);
    double *t_s = arena_alloc(arena, BAND_COLUMNS * sizeof *t_s);
    double *tops = arena_alloc(arena, (group->n + 1) * BAND_COLUMNS * sizeof *tops); /* sum of the first i lines */
    if (means == NULL || t_s == NULL || tops == NULL) return SIM_E_NOMEM;
    memset(series, 0, sizeof series);
    for (size_t bin = 0; bin < BAND_COLUMNS; bin++) {
        t_s[bin] = group->source->end_s * ((double)bin + 0.5) / BAND_COLUMNS;
        tops[bin] = 0;
    }
    for (size_t i = 0; i < group->n; i++) {
        const double *low = tops + i * BAND_COLUMNS;
        double *high = tops + (i + 1) * BAND_COLUMNS;
        for (size_t bin = 0; bin < BAND_COLUMNS; bin++) high[bin] = low[bin] + means[i * BAND_COLUMNS + bin];
        series[i] = (struct plot_series){.name = group->lines[i]->entity, .n = BAND_COLUMNS, .x = t_s, .y = high, .low = low,
                                         .high = high};
    }
    char note[80];
    snprintf(note, sizeof note, "Means of %d parts of the run.", BAND_COLUMNS);
    draw(group, series, group->n, PLOT_LINE, note, html);
    return 0;
}

static int draw_map(const struct group *group, struct text *html)
{
    struct arena *arena = group->source->arena;
    const double *means = bin_lines(group, HEAT_COLUMNS);
    const char **names = arena_alloc(arena, group->n * sizeof *names);
    if (means == NULL || names == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < group->n; i++) names[i] = group->lines[i]->entity;
    const struct heat heat = {.title = group->words.title, .axis = group->words.axis, .n = group->n, .names = names,
                              .means = means, .end_s = group->source->end_s, .query = &group->samples->query};
    return heat_draw(&heat, group->source, html);
}

static int draw_group(const struct group *group, bool maps, struct text *html)
{
    const bool has_map = group->n > MAX_LINES;
    if (is_zero(group)) {
        if (!maps) say_zero(group, html);
        return 0;
    }
    if (maps) return has_map ? draw_map(group, html) : 0;
    if (!has_map && strcmp(group->words.series, "cluster.gpus_by_use") == 0) return draw_stack(group, html);
    return has_map ? draw_band(group, html) : draw_lines(group, html);
}

/* Whether this is the first line of its series. */
static bool is_first(const struct samples *samples, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(samples->lines[i].series, samples->lines[index].series) == 0) return false;
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Whether the line is the curve of rented GPUs in use once more: the site has one type of GPUs and rents them. */
static bool is_repeated(const struct samples *samples, const struct sample_line *line)
{
    if (strcmp(line->series, "cluster.gpus_in_use") != 0) return false;
    for (size_t i = 0; i < samples->n_lines; i++) {
        const struct sample_line *other = &samples->lines[i];
        if (strcmp(other->series, "rental.gpus") != 0 || !ends_with(other->entity, " in use")) continue;
        if (other->n == line->n && memcmp(other->values, line->values, line->n * sizeof *line->values) == 0)
            return true;
    }
    return false;
}

static int draw_groups(const struct report_source *source, const struct samples *samples, bool maps, struct text *html)
{
    int code = 0;
    for (size_t rank = 0; rank <= N_KNOWN; rank++) {
        for (size_t i = 0; i < samples->n_lines && code == 0; i++) {
            struct group group;
            if (rank_of(samples->lines[i].series) != rank || !is_first(samples, i)) continue;
            if (is_repeated(samples, &samples->lines[i])) continue;
            code = collect_group(source, samples, samples->lines[i].series, &group);
            if (code == 0) code = draw_group(&group, maps, html);
        }
    }
    return code;
}

int samples_over_time(const struct report_source *source, const struct samples *samples, struct text *html)
{
    int code = draw_groups(source, samples, false, html);
    return code == 0 ? draw_groups(source, samples, true, html) : code;
}
