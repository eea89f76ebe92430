#include "analysis/report/sections.h"

#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

double source_metric(const struct report_source *source, const char *name)
{
    for (size_t i = 0; i < source->metrics.n; i++)
        if (strcmp(source->metrics.rows[i].name, name) == 0) return source->metrics.rows[i].value;
    return (double)NAN;
}

/* Whether `name` is the metric `known`, without entity or of a service or class: "slo.attained_frac[chat]". */
static bool is_named(const char *name, const char *known)
{
    const size_t n = strcspn(name, "[");
    return strncmp(name, known, n) == 0 && known[n] == '\0';
}

const struct report_metric *source_define(const struct report_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_dictionary; i++)
        if (is_named(name, options->dictionary[i].name)) return &options->dictionary[i];
    return NULL;
}

/* --- Tiles --- */

struct tile {
    const char *metric, *label, *unit; /* unit "share": in percent */
    const char *instead;               /* this metric has no tile if that one has; or NULL */
    bool if_any;                       /* no tile for 0 */
};

/* Requests or jobs in the distributions of the whole run; NAN: unknown. */
static double count_of(const struct report_source *source, const char *name)
{
    return source_metric(source, strncmp(name, "job.", 4) == 0 ? "job.ended" : "request.finished");
}

/* Whether the run finished too few requests or jobs for a percentile. */
static bool has_too_few(const struct report_source *source, const char *name)
{
    return strstr(name, ".p99") != NULL && !words_has_quantile(count_of(source, name), 0.99);
}

static bool has_tile(const struct report_source *source, const struct tile *tile)
{
    const double value = source_metric(source, tile->metric);
    if (isnan(value) || (tile->if_any && value == 0.0) || has_too_few(source, tile->metric)) return false;
    return tile->instead == NULL || isnan(source_metric(source, tile->instead)) || has_too_few(source, tile->instead);
}

static const char *in_words(double value, const char *unit, char words[WORDS_CHARS])
{
    if (strcmp(unit, "$") == 0) return words_usd(value, words);
    return strcmp(unit, "share") == 0 ? words_percent(value, words) : words_value(value, unit, words);
}

/* "; 0.31 s to 0.62 s"; nothing without an interval. */
static void add_ends(const struct metric_interval *interval, const char *unit, struct text *html)
{
    char low[WORDS_CHARS], high[WORDS_CHARS];
    if (interval == NULL) return;
    page_printf(html, "; %s to %s", in_words(interval->low, unit, low), in_words(interval->high, unit, high));
}

/* "; $860.69 for services, $545 for jobs while they hold GPUs, $575 for idle GPUs". */
static void add_bill(const struct report_source *source, struct text *html)
{
    char services[WORDS_CHARS], jobs[WORDS_CHARS], idle[WORDS_CHARS];
    const double services_usd = source_metric(source, "cost.services_usd");
    const double jobs_usd = source_metric(source, "cost.jobs_usd"), idle_usd = source_metric(source, "cost.idle_usd");
    if (isnan(services_usd) || isnan(jobs_usd) || isnan(idle_usd)) return;
    page_printf(html, "; %s for services, %s for jobs while they hold GPUs, %s for idle GPUs",
                words_usd(services_usd, services), words_usd(jobs_usd - idle_usd, jobs), words_usd(idle_usd, idle));
}

void metrics_tiles(const struct report_source *source, struct text *html)
{
    enum { MAX_TILES = 8 };
    static const struct tile tiles[] = {
        {"slo.attained_frac", "of the requests attained their SLO", "share", NULL, false},
        {"request.ttft_s.p99", "time to first token, p99", "s", NULL, false},
        {"request.ttft_s.max", "longest time to first token", "s", "request.ttft_s.p99", false},
        {"request.tpot_s.p99", "time per output token, p99", "s", NULL, false},
        {"request.tpot_s.max", "longest time per output token", "s", "request.tpot_s.p99", false},
        {"job.jct_s.mean", "job completion time, mean", "s", NULL, false},
        {"power.brakes", "power brakes", "1", NULL, true},
        {"failure.events", "failures", "1", NULL, true},
        {"scaling.yielded_jobs.sum", "yields of jobs to replicas", "1", NULL, true},
        {"rental.interruptions", "losses of rented GPUs", "1", NULL, true},
        {"cost.usd", "bill", "$", NULL, false},
        {"cost.usd_per_h", "price of the services' GPUs, per hour", "$", "cost.usd", false},
        {"service.requests_per_s", "requests finished per second", "1", NULL, false},
        {"job.bounded_slowdown.mean", "bounded slowdown, mean", "1", NULL, false},
        {"cluster.gpu_util", "of the GPU time is held", "share", NULL, false},
        {"replica.busy_frac", "of the time replicas compute", "share", NULL, false},
        {"energy.j", "energy", "J", NULL, false}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles && n < MAX_TILES; i++) {
        char words[WORDS_CHARS];
        const double value = source_metric(source, tiles[i].metric);
        if (!has_tile(source, &tiles[i])) continue;
        text_add(html, n++ == 0 ? "<ul class=\"tiles\">\n<li><strong>" : "<li><strong>");
        page_escape(html, in_words(value, tiles[i].unit, words));
        text_add(html, "</strong> <span>");
        page_escape(html, tiles[i].label);
        if (strcmp(tiles[i].metric, "cost.usd") == 0) add_bill(source, html);
        add_ends(intervals_of(&source->intervals, tiles[i].metric), tiles[i].unit, html);
        text_add(html, "</span></li>\n");
    }
    if (n > 0) text_add(html, "</ul>\n");
}

/* --- Tables --- */

static const char *const parts[] = {"mean", "p50", "p90", "p95", "p99", "max"};
static const double quantiles[] = {0.0, 0.5, 0.9, 0.95, 0.99, 0.0}; /* of the parts; 0: none */
enum { N_PARTS = sizeof parts / sizeof *parts, NAME_CHARS = 512 };

/* The index of the part of a distribution that a metric is, N_PARTS if none: 3 of "request.ttft_s.p99[chat/batch]". */
static int part_of(const char *name, size_t *base_bytes)
{
    const char *entity = name + strcspn(name, "["), *dot = entity;
    while (dot > name && *dot != '.') dot--;
    const size_t n = dot > name ? (size_t)(entity - dot) - 1 : 0;
    int i = 0;
    while (i < N_PARTS && (strlen(parts[i]) != n || memcmp(dot + 1, parts[i], n) != 0)) i++;
    *base_bytes = (size_t)(dot - name);
    return i;
}

/* The value of another part of the distribution, of the same service or class. */
static double part_value(const struct report_source *source, const char *name, size_t base_bytes, const char *part)
{
    char full[NAME_CHARS];
    snprintf(full, sizeof full, "%.*s.%s%s", (int)base_bytes, name, part, name + strcspn(name, "["));
    return source_metric(source, full);
}

/* The number of values of a distribution: those of requests or jobs of the whole run; NAN: unknown. */
static double count_values(const struct report_source *source, const char *name)
{
    const bool is_whole = strchr(name, '[') == NULL;
    const bool is_known = strncmp(name, "request.", 8) == 0 || strncmp(name, "job.", 4) == 0;
    return is_whole && is_known ? count_of(source, name) : (double)NAN;
}

/* Whether a part may be stated. Where the number of values is unknown, a percentile that is the maximum, to the 0.2 %
 * to which histograms know it, is one of too few. */
static bool may_state(const struct report_source *source, const char *name, size_t base_bytes, int part)
{
    if (quantiles[part] <= 0.5) return true;
    const double n = count_values(source, name), most = part_value(source, name, base_bytes, "max");
    if (!isnan(n)) return words_has_quantile(n, quantiles[part]);
    const double value = part_value(source, name, base_bytes, parts[part]);
    return isnan(most) || most == 0.0 || value < 0.998 * most;
}

/* Whether any metric has that part. */
static bool is_part_used(const struct report_source *source, int part)
{
    size_t base_bytes;
    for (size_t i = 0; i < source->metrics.n; i++)
        if (part_of(source->metrics.rows[i].name, &base_bytes) == part) return true;
    return false;
}

/* Whether at least two parts have values: a mean alone is no distribution. *is_first: no earlier part has a value. */
static bool is_distribution(const struct report_source *source, const char *name, bool *is_first)
{
    size_t base_bytes;
    const int part = part_of(name, &base_bytes);
    int found = 0;
    *is_first = true;
    for (int i = 0; part < N_PARTS && i < N_PARTS; i++) {
        if (isnan(part_value(source, name, base_bytes, parts[i]))) continue;
        *is_first &= i >= part;
        found++;
    }
    return found >= 2;
}

static const char *better(const struct report_metric *metric)
{
    if (metric == NULL || metric->direction == REPORT_NEUTRAL) return "";
    return metric->direction == REPORT_LOWER ? "lower" : "higher";
}

/* The definition of a distribution: that of a part without the part's word. */
static const char *plain_definition(const char *definition)
{
    static const char *const words[] = {"mean ", "median ", "99th percentile of the ", "longest "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(definition, words[i], strlen(words[i])) == 0) return definition + strlen(words[i]);
    return definition;
}

/* Adds the head of a row: the first `name_bytes` of the name and its service or class; definition, unit and
 * direction as tooltip. `metric`: its dictionary entry, or NULL. */
static void add_name(const struct report_metric *metric, const char *name, size_t name_bytes, struct text *html)
{
    char short_name[NAME_CHARS];
    const char *entity = name[name_bytes] != '\0' ? name + strcspn(name, "[") : "";
    snprintf(short_name, sizeof short_name, "%.*s%s", (int)name_bytes, name, entity);
    text_add(html, "<th scope=\"row\" title=\"");
    page_escape(html, metric != NULL ? metric->definition : "not in the dictionary");
    if (metric != NULL) page_printf(html, "; unit: %s", metric->unit);
    if (metric != NULL && metric->direction != REPORT_NEUTRAL) page_printf(html, "; %s is better", better(metric));
    text_add(html, "\"><code>");
    page_escape(html, short_name);
    text_add(html, "</code></th>");
}

/* `part` labels the value where the table's head is hidden. */
static void add_value(double value, const char *unit, const char *part, struct text *html)
{
    char words[WORDS_CHARS];
    if (isnan(value)) {
        text_add(html, "<td class=\"n\"></td>");
        return;
    }
    text_printf(html, "<td class=\"n\" data-part=\"%s\" title=\"%.10g ", part, value);
    page_escape(html, strcmp(unit, "1") == 0 ? "" : unit);
    text_add(html, "\">");
    page_escape(html, words_value(value, unit, words));
    text_add(html, "</td>");
}

/* Adds the better direction and the definition. */
static void add_row_end(const struct report_metric *metric, bool is_part, struct text *html)
{
    text_printf(html, "<td class=\"better\">%s</td><td class=\"def\">", better(metric));
    if (metric != NULL) page_escape(html, is_part ? plain_definition(metric->definition) : metric->definition);
    if (metric != NULL && metric->vllm != NULL) page_printf(html, " (%.100s)", metric->vllm);
    text_add(html, "</td></tr>\n");
}

struct table_state {
    const struct report_source *source;
    struct text *html;
    bool distributions;     /* the table that is being written */
    size_t n_rows;
};

static void add_distribution(struct table_state *state, const struct report_metric *metric,
                             const struct report_value *row)
{
    size_t n;
    part_of(row->name, &n);
    state->n_rows++;
    text_add(state->html, "<tr>");
    add_name(metric, row->name, n, state->html);
    for (int i = 0; i < N_PARTS; i++) {
        const bool states = may_state(state->source, row->name, n, i);
        if (!is_part_used(state->source, i)) continue;
        add_value(states ? part_value(state->source, row->name, n, parts[i]) : (double)NAN, row->unit, parts[i],
                  state->html);
    }
    add_row_end(metric, true, state->html);
}

static void add_metric(struct table_state *state, const struct report_metric *metric, const struct report_value *row)
{
    bool is_first;
    if (is_distribution(state->source, row->name, &is_first) != state->distributions) return;
    if (state->distributions) {
        if (is_first) add_distribution(state, metric, row);
        return;
    }
    state->n_rows++;
    text_add(state->html, "<tr>");
    add_name(metric, row->name, strlen(row->name), state->html);
    add_value(row->value, row->unit, "", state->html);
    add_row_end(metric, false, state->html);
}

/* In the order of the dictionary; metrics not in it come last. */
static void add_rows(struct table_state *state)
{
    const struct report_values *metrics = &state->source->metrics;
    const struct report_options *options = state->source->options;
    for (size_t i = 0; i < options->n_dictionary; i++)
        for (size_t k = 0; k < metrics->n; k++)
            if (is_named(metrics->rows[k].name, options->dictionary[i].name))
                add_metric(state, &options->dictionary[i], &metrics->rows[k]);
    for (size_t k = 0; k < metrics->n; k++)
        if (source_define(options, metrics->rows[k].name) == NULL) add_metric(state, NULL, &metrics->rows[k]);
}

/* The metrics that have an interval, in the order of the dictionary. */
static void add_interval_rows(const struct report_source *source, struct text *html)
{
    const struct report_options *options = source->options;
    for (size_t i = 0; i < options->n_dictionary; i++)
        for (size_t k = 0; k < source->metrics.n; k++) {
            const struct report_value *row = &source->metrics.rows[k];
            const struct metric_interval *interval = intervals_of(&source->intervals, row->name);
            if (interval == NULL || !is_named(row->name, options->dictionary[i].name)) continue;
            text_add(html, "<tr>");
            add_name(&options->dictionary[i], row->name, strlen(row->name), html);
            add_value(interval->low, row->unit, "low", html);
            add_value(row->value, row->unit, "predicted", html);
            add_value(interval->high, row->unit, "high", html);
            text_add(html, "</tr>\n");
        }
}

static int add_intervals(const struct report_source *source, struct text *html)
{
    const struct run_intervals *intervals = &source->intervals;
    const char *sql = arena_printf(
        source->arena, "SELECT name, low, high FROM metric_interval WHERE run_id = %" PRId64 " ORDER BY name",
        source->run.id);
    if (sql == NULL) return SIM_E_NOMEM;
    text_add(html, "<p class=\"note\">");
    page_printf(
        html,
        "Ends by the TPOT of %g %% of %s. Each end is a run of its own, with all times of the services fast or "
        "slow; what follows from them was not compared with measurements. Where an end is the prediction itself, or "
        "both lie on one side of it, the interval is one-sided: other times move the metric that way alone, or "
        "not at all, as the throughput of replicas that keep up.",
        100.0 * intervals->share, intervals->basis);
    text_add(html,
             "</p>\n<div class=\"scroll\"><table class=\"metrics sort\">\n<caption>Intervals</caption>\n<thead><tr>"
             "<th scope=\"col\">metric</th><th scope=\"col\" class=\"n\">low</th><th scope=\"col\" class=\"n\">"
             "predicted</th><th scope=\"col\" class=\"n\">high</th></tr></thead>\n<tbody>\n");
    add_interval_rows(source, html);
    text_add(html, "</tbody></table></div>\n");
    page_sql(html, &(struct page_query){.sql = sql, .n_rows = intervals->n}, 1);
    return 0;
}

int metrics_tables(const struct report_source *source, struct text *html)
{
    struct table_state state = {.source = source, .html = html, .distributions = true};
    const char *sql = arena_printf(
        source->arena, "SELECT name, value, unit FROM metric WHERE run_id = %" PRId64 " ORDER BY name", source->run.id);
    if (sql == NULL) return SIM_E_NOMEM;
    if (source->metrics.n == 0) {
        page_note(html, "The run has no metrics.");
        return 0;
    }
    page_note(html, "A percentile takes enough values to mean something: the 90th takes 10, the 95th 20, the 99th 100. "
                    "Those of fewer requests or jobs are left out.");
    text_add(
        html,
        "<div class=\"scroll\"><table class=\"metrics sort\">\n<caption>Distributions</caption>\n<thead><tr><th scope=\"col\">metric</th>");
    for (int i = 0; i < N_PARTS; i++)
        if (is_part_used(source, i)) text_printf(html, "<th scope=\"col\" class=\"n\">%s</th>", parts[i]);
    text_add(html,
             "<th scope=\"col\">better</th><th scope=\"col\" class=\"def\">what it is</th></tr></thead>\n<tbody>\n");
    add_rows(&state);
    text_add(
        html,
        "</tbody></table></div>\n<div class=\"scroll\"><table class=\"metrics sort\">\n<caption>Counts and levels</caption>\n"
        "<thead><tr><th scope=\"col\">metric</th><th scope=\"col\" class=\"n\">value</th>"
        "<th scope=\"col\">better</th><th scope=\"col\" class=\"def\">what it is</th></tr></thead>\n<tbody>\n");
    state.distributions = false;
    add_rows(&state);
    text_add(html, "</tbody></table></div>\n");
    page_sql(html, &(struct page_query){.sql = sql, .n_rows = source->metrics.n}, 1);
    return source->intervals.n > 0 ? add_intervals(source, html) : 0;
}
