/* The page of one run. */
#include "analysis/report/caution.h"
#include "analysis/report/incidents.h"
#include "analysis/report/sections.h"
#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The data of the page, read before anything is written: the head depends on what follows. */
struct run_page {
    struct report_source *source;
    struct incidents incidents;
    size_t n_runs; /* in the file */
    struct requests requests;
    struct jobs jobs;
    struct samples samples;
    struct placements placements;
};

static int read_rows(struct run_page *page)
{
    int code = requests_read(page->source, &page->requests);
    if (code == 0) code = jobs_read(page->source, &page->jobs);
    if (code == 0) code = samples_read(page->source, &page->samples);
    if (code == 0) code = placements_read(page->source, &page->placements);
    if (code == 0) code = incidents_read(page->source, &page->incidents);
    page->source->events = page->incidents.events;
    page->source->n_events = page->incidents.n_events;
    return code;
}

/* --- Sections --- */

enum { MOST_FIGURES = 8 }; /* over time, before more are unfolded */

static int add_over_time(const void *context, struct text *html)
{
    const struct run_page *page = context;
    int code = 0;
    if (page->incidents.n_events > 0) {
        page_note(html, "Ticks above a chart mark incidents.");
        page_sql(html, &page->incidents.query, 1);
    }
    if (page->requests.n_rows + page->samples.n_rows > 0) {
        const size_t from = html->length;
        page_figures(html);
        if (page->requests.n_rows > 0) code = requests_over_time(page->source, &page->requests, html);
        if (code == 0) code = samples_over_time(page->source, &page->samples, html);
        page_fold_figures(html, from, MOST_FIGURES);
        page_figures_end(html);
    }
    if (page->samples.n_rows == 0)
        page_note(html,
                  "The run kept no time series of queues, batches or KV cache (\"keep\": \"metrics\", or sampling "
                  "was switched off).");
    return code;
}

static bool has_places(const void *context)
{
    const struct run_page *page = context;
    return source_metric(page->source, "job.submitted") > 0.0 || page->placements.n > 0;
}

static int add_places(const void *context, struct text *html)
{
    const struct run_page *page = context;
    if (page->placements.n == 0) {
        page_note(html, "Where jobs ran was not kept (\"keep\": \"metrics\"), or none ever ran.");
        return 0;
    }
    page_figures(html);
    int code = placements_draw(page->source, &page->placements, html);
    page_figures_end(html);
    return code;
}

static int add_distributions(const void *context, struct text *html)
{
    const struct run_page *page = context;
    const size_t before = html->length;
    page_figures(html);
    const size_t empty = html->length;
    int code = requests_distributions(page->source, &page->requests, html);
    if (code == 0 && page->jobs.n_rows > 0) code = jobs_distributions(page->source, &page->jobs, html);
    const bool has_any = html->length > empty;
    page_figures_end(html);
    if (!has_any && !html->failed) {
        html->length = before;
        page_note(html, "Nothing finished, or no rows were kept.");
    }
    if (page->jobs.n_rows == 0 && source_metric(page->source, "job.submitted") > 0.0)
        page_note(html, "Jobs have metrics only: the run was kept without its rows (\"keep\": \"metrics\").");
    return code;
}

static int add_metrics(const void *context, struct text *html)
{
    const struct run_page *page = context;
    return metrics_tables(page->source, html);
}

static void add_terms(const struct report_source *source, struct text *html)
{
    const struct report_run *run = &source->run;
    char words[WORDS_CHARS], seed[32];
    snprintf(seed, sizeof seed, "%" PRId64, run->seed);
    text_add(html, "<dl>\n");
    page_term(html, "scenario", run->name);
    page_term(html, "seed", seed);
    page_term(html, "policies", run->policies);
    page_term(html, "oracle knowledge", run->oracle[0] != 0 ? run->oracle : "none");
    page_term(html, "time outside the measured range",
              isnan(run->extrapolated_frac) ? "unknown" : words_percent(run->extrapolated_frac, words));
    page_term(html, "version", run->version);
    page_term(html, "commit", run->git_commit);
    page_term(html, "platform", run->platform);
    page_term(html, "hash of the scenario", run->scenario_hash);
    page_term(html, "hash of the inputs", run->trace_hash);
    page_term(html, "hash of the result", run->result_hash);
    text_add(html, "</dl>\n<details class=\"scenario\"><summary>The scenario, resolved: `orrery run` repeats the run "
                   "from it</summary>\n<pre><code>");
    page_escape(html, run->scenario);
    text_add(html, "</code></pre></details>\n");
}

/* The other runs of a file that holds several. */
static int add_others(const struct report_source *source, struct text *html)
{
    struct page_query query = {.sql = "SELECT id, name, seed, status, result_hash FROM run ORDER BY id LIMIT 200"};
    struct query_answer answer;
    int code = source_query(source, &query, "read runs", &answer);
    if (code != 0) return code;
    text_add(html,
             "<details><summary>The runs of the file</summary>\n<div class=\"scroll\"><table>\n<thead><tr>"
             "<th scope=\"col\" class=\"n\">run</th><th scope=\"col\">name</th><th scope=\"col\" class=\"n\">seed</th>"
             "<th scope=\"col\">status</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < answer.n_rows; i++) {
        const struct query_column *columns = answer.columns;
        const double id = columns[0].numbers[i];
        text_printf(html, "<tr%s><th scope=\"row\" class=\"n\">%.0f</th><td>",
                    id == (double)source->run.id ? " class=\"this\"" : "", id);
        page_escape(html, columns[1].texts[i]);
        text_printf(html, "</td><td class=\"n\">%.0f</td><td>", columns[2].numbers[i]);
        page_escape(html, columns[3].texts[i]);
        text_add(html, "</td></tr>\n");
    }
    text_add(html, "</tbody></table></div></details>\n");
    page_sql(html, &query, 1);
    return 0;
}

static int add_provenance(const void *context, struct text *html)
{
    const struct run_page *page = context;
    add_terms(page->source, html);
    return page->n_runs > 1 ? add_others(page->source, html) : 0;
}

static const struct page_section sections[] = {{"time", "Over time", NULL, add_over_time, true},
                                               {"nodes", "Jobs on nodes", has_places, add_places, false},
                                               {"distributions", "Distributions", NULL, add_distributions, false},
                                               {"metrics", "Metrics", NULL, add_metrics, false},
                                               {"provenance", "Provenance", NULL, add_provenance, false},
                                               {0}};

static double find_metric(const void *context, const char *name)
{
    return source_metric(context, name);
}

/* --- Warnings --- */

/* Whether a warning puts the validity of the numbers in question. */
static bool is_grave(const char *code)
{
    static const char *const grave[] = {"uncalibrated", "stalled", "failed", "job-rejected", "rejected"};
    for (size_t i = 0; i < sizeof grave / sizeof *grave; i++)
        if (strcmp(code, grave[i]) == 0) return true;
    return false;
}

static void add_warning(const char *code, const char *text, double count, bool grave, struct text *html)
{
    char words[WORDS_CHARS];
    text_add(html, grave ? "<li class=\"grave\"><strong>" : "<li><strong>");
    page_escape(html, code);
    text_add(html, "</strong> ");
    page_escape(html, text);
    if (count > 1.0) page_printf(html, " (%s times)", words_number(count, words));
    text_add(html, "</li>\n");
}

static void add_own_warnings(const struct verdict_facts *facts, const struct report_run *run, struct text *html)
{
    struct caution cautions[CAUTIONS_MAX];
    const size_t n = cautions_find(facts, cautions);
    for (size_t i = 0; i < n; i++) add_warning(cautions[i].code, cautions[i].text, 1, true, html);
    if (run->oracle[0] != 0) add_warning("oracle", run->oracle, 1, false, html);
}

static void add_kept_warnings(const struct query_answer *answer, bool grave, double extrapolated, struct text *html)
{
    const struct query_column *code = query_column(answer, "code"), *text = query_column(answer, "text");
    for (size_t i = 0; i < answer->n_rows; i++) {
        const char *name = words_code(code->texts[i] != NULL ? code->texts[i] : "");
        const bool is_extrapolated = strcmp(name, "extrapolated") == 0 && !(extrapolated < 0.01);
        if ((is_grave(name) || is_extrapolated) != grave) continue;
        add_warning(name, text->texts[i] != NULL ? text->texts[i] : "", query_column(answer, "count")->numbers[i],
                    grave, html);
    }
}

static bool has_warning(const struct query_answer *answer, const char *code)
{
    const struct query_column *codes = query_column(answer, "code");
    for (size_t i = 0; i < answer->n_rows; i++)
        if (codes->texts[i] != NULL && strcmp(codes->texts[i], code) == 0) return true;
    return false;
}

static void add_warnings(const struct run_page *page, const struct verdict_facts *facts, const struct page_query *query,
                         const struct query_answer *answer, struct text *html)
{
    const double extrapolated = source_metric(page->source, "model.extrapolated_frac");
    text_add(html, "<aside class=\"warnings\" aria-label=\"Warnings\">\n<ul>\n");
    const size_t empty = html->length;
    add_own_warnings(facts, &page->source->run, html);
    add_kept_warnings(answer, true, extrapolated, html);
    add_kept_warnings(answer, false, extrapolated, html);
    if (html->length == empty) text_add(html, "<li>No warnings.</li>\n");
    text_add(html, "</ul>\n");
    page_sql(html, query, 1);
    text_add(html, "</aside>\n");
}

/* --- Head: the verdict, the most important numbers, and the warnings --- */

static void add_title(const struct run_page *page, struct text *html)
{
    const struct report_run *run = &page->source->run;
    char end[WORDS_CHARS];
    page_open(html, run->name);
    text_add(html, "<header>\n<p class=\"kind\">Orrery report</p>\n<h1>");
    page_escape(html, run->name);
    text_add(html, "</h1>\n");
    subject_draw(&page->source->subject, html);
    text_add(html, "<p class=\"subject\">");
    page_printf(html, "Run %" PRId64, run->id);
    if (page->n_runs > 1) page_printf(html, " of the %zu in the file", page->n_runs);
    page_printf(html, ", seed %" PRId64 ", %.40s", run->seed, run->status);
    if (!isnan(page->source->end_s))
        page_printf(html, ", %s of simulated time", words_seconds(page->source->end_s, end));
    text_add(html, "</p>\n");
}

static int add_verdict(const struct verdict_facts *facts, struct text *html)
{
    struct text verdict;
    text_init(&verdict);
    verdict_run(facts, &verdict);
    text_add(html, "<p class=\"verdict\">");
    page_escape(html, verdict.length > 0 ? verdict.chars : "The run has no metrics.");
    text_add(html, "</p>\n");
    const int code = verdict.failed ? SIM_E_NOMEM : 0;
    text_fini(&verdict);
    return code;
}

static int add_head(const struct run_page *page, struct text *html)
{
    const struct requests *requests = &page->requests;
    struct query_answer warnings;
    struct verdict_trend *services = arena_alloc(page->source->arena, (requests->n_trends + 1) * sizeof *services);
    if (services == NULL) return SIM_E_NOMEM;
    struct page_query query = {
        .sql = arena_printf(page->source->arena,
                            "SELECT code, text, sum(count) AS count, min(t_s) AS first_s FROM warning\n"
                            "WHERE run_id = %" PRId64 " GROUP BY code, text ORDER BY min(rowid)",
                            page->source->run.id)};
    int code = source_query(page->source, &query, "read warnings", &warnings);
    if (code != 0) return code;
    for (size_t i = 0; i < requests->n_trends; i++)
        services[i] = (struct verdict_trend){requests->trends[i].service, requests->trends[i].growth};
    const struct verdict_facts facts = {.status = page->source->run.status, .metric = find_metric,
                                        .context = page->source, .n_services = requests->n_trends, .services = services,
                                        .jobs = page->jobs.n_rows > 0 ? &page->jobs.growth : NULL,
                                        .submissions = page->jobs.submissions,
                                        .is_uncalibrated = has_warning(&warnings, "uncalibrated"),
                                        .warmup_s = page->source->warmup_s, .oracle = page->source->run.oracle};
    add_title(page, html);
    code = add_verdict(&facts, html);
    metrics_tiles(page->source, html);
    add_warnings(page, &facts, &query, &warnings, html);
    text_add(html, "</header>\n");
    page_contents(html, sections, page);
    return code;
}

int run_page(struct report_source *source, size_t n_runs, struct text *html)
{
    struct run_page *page = mem_zalloc(1, sizeof *page);
    if (page == NULL) return SIM_E_NOMEM;
    page->source = source;
    page->n_runs = n_runs;
    int code = read_rows(page);
    if (code == 0) code = add_head(page, html);
    if (code == 0) code = page_sections(html, sections, page);
    page_events(html, page->incidents.events, page->incidents.n_events);
    requests_fini(&page->requests);
    jobs_fini(&page->jobs);
    samples_fini(&page->samples);
    placements_fini(&page->placements);
    mem_free(page);
    return code;
}
