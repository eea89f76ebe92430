#include "analysis/report/head.h"

#include "analysis/query.h"
#include "analysis/report/metrics.h"
#include "analysis/report/page.h"
#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double find_metric(const void *context, const char *name)
{
    return source_metric(context, name);
}

/* --- Warnings --- */

/* Codes that bear on whether the numbers mean anything. */
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
    if (strcmp(run->status, "done") != 0)
        add_warning("incomplete", "the run did not come to its end; its numbers are those of a part of it", 1, true,
                    html);
    if (verdict_requests_saturate(facts))
        add_warning(
            "saturated",
            verdict_requests_grow(facts)
                ? "requests come faster than they are served: waiting times say how long the run is, not how good "
                  "the system is"
                : "many requests were left when the run was cut short: waiting times may say how long the run is, "
                  "not how good the system is",
            1, true, html);
    if (verdict_jobs_saturate(facts))
        add_warning(
            "saturated",
            facts->jobs->grows
                ? "jobs come faster than the cluster does them: waiting times say how long the run is, not how good "
                  "the scheduler is"
                : "many jobs had not started when the run was cut short: waiting times may say how long the run is, "
                  "not how good the scheduler is",
            1, true, html);
    if (run->oracle[0] != 0) add_warning("oracle", run->oracle, 1, false, html);
}

static void add_kept_warnings(const struct query_answer *answer, bool grave, double extrapolated, struct text *html)
{
    const struct query_column *code = query_column(answer, "code"), *text = query_column(answer, "text");
    for (size_t i = 0; i < answer->n_rows; i++) {
        const char *name = code->texts[i] != NULL ? code->texts[i] : "";
        const bool is_extrapolated = strcmp(name, "extrapolated") == 0 && !(extrapolated < 0.01);
        if ((is_grave(name) || is_extrapolated) != grave) continue;
        add_warning(name, text->texts[i] != NULL ? text->texts[i] : "", query_column(answer, "count")->numbers[i],
                    grave, html);
    }
}

static int read_warnings(const struct report_source *source, const char **sql, struct query_answer *answer)
{
    *sql = arena_printf(source->arena,
                        "SELECT code, text, sum(count) AS count, min(t_s) AS first_s FROM warning\n"
                        "WHERE run_id = %" PRId64 " GROUP BY code, text ORDER BY min(rowid)",
                        source->run.id);
    if (*sql == NULL) return SIM_E_NOMEM;
    return query_run(source->database, *sql, NULL, 0, "read warnings", source->arena, answer, source->diag);
}

static bool has_warning(const struct query_answer *answer, const char *code)
{
    const struct query_column *codes = query_column(answer, "code");
    for (size_t i = 0; i < answer->n_rows; i++)
        if (codes->texts[i] != NULL && strcmp(codes->texts[i], code) == 0) return true;
    return false;
}

static void add_warnings(const struct head *head, const struct verdict_facts *facts, const char *sql,
                         const struct query_answer *answer, struct text *html)
{
    const double extrapolated = source_metric(head->source, "model.extrapolated_frac");
    text_add(html, "<aside class=\"warnings\" aria-label=\"Warnings\">\n<ul>\n");
    const size_t empty = html->length;
    add_own_warnings(facts, &head->source->run, html);
    add_kept_warnings(answer, true, extrapolated, html);
    add_kept_warnings(answer, false, extrapolated, html);
    if (html->length == empty) text_add(html, "<li>No warnings.</li>\n");
    text_add(html, "</ul>\n");
    page_sql(html, &(struct page_query){.sql = sql, .n_rows = answer->n_rows}, 1);
    text_add(html, "</aside>\n");
}

/* --- The head --- */

void head_contents(const char *const (*sections)[2], struct text *html)
{
    text_add(html, "<nav aria-label=\"Contents\"><ul>\n");
    for (; (*sections)[0] != NULL; sections++) {
        text_printf(html, "<li><a href=\"#%s\">", (*sections)[0]);
        page_escape(html, (*sections)[1]);
        text_add(html, "</a></li>\n");
    }
    text_add(html, "</ul></nav>\n");
}

static void add_contents(const struct head *head, struct text *html)
{
    const char *sections[6][2] = {{"time", "Over time"}};
    size_t n = 1;
    if (head->has_places || source_metric(head->source, "job.submitted") > 0.0) {
        sections[n][0] = "nodes";
        sections[n++][1] = "Jobs on nodes";
    }
    static const char *const others[][2] = {{"distributions", "Distributions"}, {"metrics", "Metrics"}, {"provenance", "Provenance"}};
    memcpy(sections[n], others, sizeof others);
    n += sizeof others / sizeof *others;
    sections[n][0] = NULL;
    head_contents((const char *const(*)[2])sections, html);
}

static void add_title(const struct head *head, struct text *html)
{
    const struct report_run *run = &head->source->run;
    char end[WORDS_CHARS];
    page_open(html, run->name);
    text_add(html, "<header>\n<p class=\"kind\">Orrery report</p>\n<h1>");
    page_escape(html, run->name);
    text_add(html, "</h1>\n<p class=\"subject\">");
    page_printf(html, "Run %" PRId64, run->id);
    if (head->n_runs > 1) page_printf(html, " of the %zu in the file", head->n_runs);
    page_printf(html, ", seed %" PRId64 ", %.40s", run->seed, run->status);
    if (!isnan(head->source->end_s))
        page_printf(html, ", %s of simulated time", words_seconds(head->source->end_s, end));
    text_add(html, "</p>\n");
}

int head_add(const struct head *head, struct text *html)
{
    const struct report_source *source = head->source;
    struct query_answer warnings;
    const char *sql;
    struct text verdict;
    int code = read_warnings(source, &sql, &warnings);
    if (code != 0) return code;
    const struct verdict_facts facts = {.status = source->run.status, .metric = find_metric, .context = source,
                                        .n_services = head->n_services, .services = head->services,
                                        .jobs = head->jobs,
                                        .is_uncalibrated = has_warning(&warnings, "uncalibrated")};
    add_title(head, html);
    text_init(&verdict);
    verdict_run(&facts, &verdict);
    text_add(html, "<p class=\"verdict\">");
    page_escape(html, verdict.length > 0 ? verdict.chars : "There are no numbers to judge by.");
    text_add(html, "</p>\n");
    html->failed |= verdict.failed;
    text_fini(&verdict);
    metrics_tiles(source, html);
    add_warnings(head, &facts, sql, &warnings, html);
    text_add(html, "</header>\n");
    add_contents(head, html);
    return 0;
}
