#include "analysis/report/run_page.h"

#include "analysis/report/head.h"
#include "analysis/report/jobs.h"
#include "analysis/report/metrics.h"
#include "analysis/report/page.h"
#include "analysis/report/placements.h"
#include "analysis/report/provenance.h"
#include "analysis/report/requests.h"
#include "analysis/report/samples.h"

/* All that was read of a run, before anything is written: the head tells of what comes behind it. */
struct run_rows {
    struct requests requests;
    struct jobs jobs;
    struct samples samples;
    struct placements placements;
};

static int read_rows(const struct report_source *source, struct run_rows *rows)
{
    int code = requests_read(source, &rows->requests);
    if (code == 0) code = jobs_read(source, &rows->jobs);
    if (code == 0) code = samples_read(source, &rows->samples);
    if (code == 0) code = placements_read(source, &rows->placements);
    return code;
}

static void free_rows(struct run_rows *rows)
{
    requests_fini(&rows->requests);
    jobs_fini(&rows->jobs);
    samples_fini(&rows->samples);
    placements_fini(&rows->placements);
}

static int add_head(const struct report_source *source, const struct run_rows *rows, size_t n_runs, struct text *html)
{
    const struct requests *requests = &rows->requests;
    struct verdict_trend *services = arena_alloc(source->arena, (requests->n_trends + 1) * sizeof *services);
    if (services == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < requests->n_trends; i++)
        services[i] = (struct verdict_trend){requests->trends[i].service, requests->trends[i].growth};
    const struct head head = {.source = source,
                              .n_runs = n_runs,
                              .n_services = requests->n_trends,
                              .services = services,
                              .jobs = rows->jobs.n_rows > 0 ? &rows->jobs.growth : NULL,
                              .has_time = rows->samples.n_rows + rows->requests.n_rows > 0,
                              .has_places = rows->placements.n > 0};
    return head_add(&head, html);
}

static int add_distributions(const struct report_source *source, const struct run_rows *rows, struct text *html)
{
    page_section(html, "distributions", "Distributions");
    const size_t before = html->length;
    page_figures(html);
    const size_t empty = html->length;
    int code = requests_distributions(source, &rows->requests, html);
    if (code == 0 && rows->jobs.n_rows > 0) code = jobs_distributions(source, &rows->jobs, html);
    const bool has_any = html->length > empty;
    page_figures_end(html);
    if (!has_any && !html->failed) {
        html->length = before;
        page_note(html, "Nothing finished, or no rows were kept.");
    }
    if (rows->jobs.n_rows == 0 && source_metric(source, "job.submitted") > 0.0)
        page_note(html,
                  "Of the jobs there are metrics only: the run was kept without its rows (\"keep\": \"metrics\").");
    page_section_end(html);
    return code;
}

static int add_over_time(const struct report_source *source, const struct run_rows *rows, struct text *html)
{
    page_section(html, "time", "Over time");
    int code = 0;
    if (rows->requests.n_rows + rows->samples.n_rows > 0) {
        page_figures(html);
        if (rows->requests.n_rows > 0) code = requests_over_time(source, &rows->requests, html);
        if (code == 0) code = samples_over_time(source, &rows->samples, html);
        page_figures_end(html);
    }
    if (rows->samples.n_rows == 0)
        page_note(html,
                  "The run kept no time series of queues, batches or KV cache (\"keep\": \"metrics\", or sampling "
                  "was switched off).");
    page_section_end(html);
    return code;
}

static int add_places(const struct report_source *source, struct run_rows *rows, struct text *html)
{
    if (!(source_metric(source, "job.submitted") > 0.0) && rows->placements.n == 0) return 0;
    page_section(html, "nodes", "Jobs on nodes");
    int code = 0;
    if (rows->placements.n > 0) {
        page_figures(html);
        code = placements_draw(source, &rows->placements, html);
        page_figures_end(html);
    } else {
        page_note(html, "Where jobs ran was not kept (\"keep\": \"metrics\"), or none ever ran.");
    }
    page_section_end(html);
    return code;
}

int run_page(const struct report_source *source, size_t n_runs, struct text *html)
{
    struct run_rows *rows = mem_zalloc(1, sizeof *rows);
    if (rows == NULL) return SIM_E_NOMEM;
    int code = read_rows(source, rows);
    if (code == 0) code = add_head(source, rows, n_runs, html);
    if (code == 0) code = add_over_time(source, rows, html);
    if (code == 0) code = add_places(source, rows, html);
    if (code == 0) code = add_distributions(source, rows, html);
    if (code == 0) {
        page_section(html, "metrics", "Metrics");
        code = metrics_tables(source, html);
        page_section_end(html);
    }
    if (code == 0) code = provenance_add(source, n_runs, html);
    free_rows(rows);
    mem_free(rows);
    return code;
}
