#include "analysis/report/sections.h"

#include "analysis/report/figures.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Columns of the scan. */
enum { SCAN_SUBMIT, SCAN_QUEUE, SCAN_JCT, SCAN_SLOWDOWN, SCAN_COUNTED };

struct scan {
    struct jobs *jobs;
    double end_s;
};

/* A job that never started has waited at least until the end. */
static int add_job(void *context, sqlite3_stmt *row)
{
    static const int columns[] = {[JOB_JCT] = SCAN_JCT, [JOB_QUEUE] = SCAN_QUEUE, [JOB_SLOWDOWN] = SCAN_SLOWDOWN};
    struct scan *scan = context;
    struct jobs *jobs = scan->jobs;
    const double submit_s = query_number(row, SCAN_SUBMIT), queue_s = query_number(row, SCAN_QUEUE);
    int code = 0;
    jobs->n_rows++;
    trend_add(&jobs->trend, submit_s, isnan(queue_s) ? scan->end_s - submit_s : queue_s, isnan(queue_s));
    if (sqlite3_column_int(row, SCAN_COUNTED) == 0) return 0;
    for (int i = 0; i < JOB_QUANTITIES && code == 0; i++) {
        const double value = query_number(row, columns[i]);
        if (value >= 0.0) code = histogram_add(&jobs->histograms[i], value, 1);
    }
    return code;
}

static int read_span(const struct report_source *source, struct jobs *jobs)
{
    struct query_answer answer;
    jobs->span.sql = arena_printf(source->arena,
                                  "SELECT min(submit_s) AS first_s, max(submit_s) AS last_s,\n"
                                  "       count(*) AS jobs, total(gpu_s / nullif(gpus, 0)) AS held_s\n"
                                  "FROM job WHERE run_id = %" PRId64 " AND status <> 'rejected'",
                                  source->run.id);
    int code = source_query(source, &jobs->span, "read jobs", &answer);
    if (code != 0) return code;
    const double first_s = answer.columns[0].numbers[0], last_s = answer.columns[1].numbers[0];
    trend_init(&jobs->trend, first_s, last_s);
    jobs->submissions = (struct verdict_submissions){.n = answer.columns[2].numbers[0], .first_s = first_s,
                                                     .last_s = last_s, .held_s = answer.columns[3].numbers[0]};
    return 0;
}

int jobs_read(const struct report_source *source, struct jobs *jobs)
{
    memset(jobs, 0, sizeof *jobs);
    struct scan scan = {.jobs = jobs, .end_s = source->end_s};
    int code = read_span(source, jobs);
    for (int i = 0; i < JOB_QUANTITIES && code == 0; i++) code = histogram_init(&jobs->histograms[i]);
    jobs->scan.sql = arena_printf(source->arena,
                                  "SELECT submit_s, start_s - submit_s AS queue_s, jct_s,\n"
                                  "       jct_s / (gpu_s / gpus) AS slowdown,\n"
                                  "       end_s NOT NULL AND submit_s >= %.9g AS in_metrics\n"
                                  "FROM job WHERE run_id = %" PRId64 " AND status <> 'rejected'",
                                  source->warmup_s, source->run.id);
    if (code == 0) code = source_each(source, &jobs->scan, "read jobs", add_job, &scan);
    jobs->scan.n_rows = jobs->n_rows;
    jobs->growth = trend_growth(&jobs->trend);
    return code;
}

void jobs_fini(struct jobs *jobs)
{
    for (int i = 0; i < JOB_QUANTITIES; i++) histogram_fini(&jobs->histograms[i]);
}

int jobs_distributions(const struct report_source *source, const struct jobs *jobs, struct text *html)
{
    static const struct {
        const char *title, *unit, *note;
    } figures[JOB_QUANTITIES] = {
        [JOB_JCT] = {"Job completion time", "s", "From submission to the end, of the finished jobs."},
        [JOB_QUEUE] = {"Time before the first start", "s", "From submission to the first start, of the finished jobs."},
        [JOB_SLOWDOWN] = {"Slowdown", "", "Completion time over the time that the job held its GPUs."}};
    int code = 0;
    for (int i = 0; i < JOB_QUANTITIES && code == 0; i++) {
        struct cdf figure;
        code = cdf_open(source, &figure, figures[i].title, figures[i].unit);
        if (code == 0) code = cdf_add_histogram(&figure, &jobs->histograms[i], figures[i].title);
        if (code != 0) break;
        cdf_add_query(&figure, &jobs->scan);
        cdf_draw(&figure, figures[i].note, html);
    }
    return code;
}
