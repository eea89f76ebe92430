#include "tests/support/compare_fixture.h"

#include "tests/support/harness.h"
#include "tests/support/store_fixture.h"

#include <unistd.h>

static const struct compare_metric dictionary[] = {{"request.ttft_s.mean", COMPARE_LOWER},
                                                   {"request.ttft_s.p50", COMPARE_LOWER},
                                                   {"request.ttft_s.max", COMPARE_LOWER},
                                                   {"request.e2e_s.mean", COMPARE_LOWER},
                                                   {"cluster.gpu_util", COMPARE_HIGHER},
                                                   {"cluster.gpus", COMPARE_NEUTRAL},
                                                   {NULL, COMPARE_NEUTRAL}};

const struct compare_options compare_defaults = {
    .dictionary = dictionary, .level = 0.95, .margin_frac = 0.01, .resamples = 500, .seed = 1};

static int put_metric(const struct sink *sink, const char *name, const char *unit, double value)
{
    const struct metric_row row = {.name = name, .unit = unit, .value = value};
    return sink->metric(sink->context, &row);
}

static int put_requests(const struct sink *sink, const struct made_run *run)
{
    double sum = 0, max = 0;
    int code = 0;
    for (int i = 0; code == 0 && i < run->n_requests; i++) {
        const int64_t id = run->first_id + i;
        const double ttft_s = run->ttft_s(id);
        const struct request_row row = {.id = id,
                                        .service = "chat",
                                        .arrival_s = (double)id,
                                        .prompt_tokens = 100 + id % 7,
                                        .output_tokens = 1,
                                        .queue_s = 0,
                                        .ttft_s = ttft_s,
                                        .tpot_s = (double)NAN,
                                        .e2e_s = ttft_s,
                                        .max_gap_s = (double)NAN,
                                        .status = isnan(ttft_s) ? "unfinished" : "finished"};
        sum += isnan(ttft_s) ? 0 : ttft_s;
        max = fmax(max, ttft_s);
        code = sink->request(sink->context, &row);
    }
    if (code == 0) code = put_metric(sink, "request.ttft_s.p50", "s", run->n_requests > 0 ? max / 2 : (double)NAN);
    if (code == 0) code = put_metric(sink, "request.ttft_s.max", "s", run->n_requests > 0 ? max : (double)NAN);
    if (code == 0) code = put_metric(sink, "cluster.gpus", "GPU", 8);
    if (code == 0 && run->arrived > 0) code = put_metric(sink, "request.arrived", "1", run->arrived);
    if (code == 0 && run->arrived > 0) code = put_metric(sink, "request.rejected", "1", run->rejected);
    return code == 0
               ? put_metric(sink, "request.ttft_s.mean", "s", run->n_requests > 0 ? sum / run->n_requests : run->metric)
               : code;
}

static int put_run(struct results *results, const struct made_run *run, struct diag *diag)
{
    const struct run_param params[] = {{"services.chat.replicas", run->replicas}, {"services.chat.routing", run->routing}};
    struct run_info info = store_run_info;
    struct run_end end = store_run_end;
    char hash[HASH_HEX_CHARS];
    int64_t id;
    if (run->name != NULL) info.name = run->name;
    if (run->status != NULL) end.status = run->status;
    info.scenario = run->scenario != NULL ? run->scenario : "{}";
    info.seed = run->seed;
    info.keep = KEEP_ROWS;
    end.trace_hash = run->trace_hash != NULL ? run->trace_hash : "trace";
    info.params = run->replicas != NULL ? params : params + 1;
    info.n_params = (size_t)(run->replicas != NULL) + (size_t)(run->routing != NULL);
    int code = results_begin_run(results, &info, &id, diag);
    if (code != 0) return code;
    const struct sink sink = results_sink(results);
    code = put_requests(&sink, run);
    return code == 0 ? results_end_run(results, &end, hash, diag) : code;
}

bool compare_make(const char *path, const struct made_run *runs, size_t n)
{
    struct results *results;
    struct diag diag = {0};
    int code = results_open(path, &(struct results_options){0}, &results, &diag);
    for (size_t i = 0; code == 0 && i < n; i++) code = put_run(results, &runs[i], &diag);
    if (results != NULL) results_close(results);
    if (code != 0 && diag.n_items > 0) printf("%s\n", diag.items[0].text);
    return CHECK_EQ_INT(code, 0);
}

const char *compare_path(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/made.db", test_tmpdir());
    unlink(path);
    return path;
}

const struct compare_row *compare_find(const struct comparison *comparison, const char *metric, const char *point)
{
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct compare_row *row = &comparison->rows[i];
        if (strcmp(row->metric, metric) != 0 || (row->point == NULL) != (point == NULL)) continue;
        if (point == NULL || strcmp(row->point, point) == 0) return row;
    }
    return NULL;
}

bool compare_says(const struct comparison *comparison, const char *text)
{
    for (size_t i = 0; i < comparison->n_remarks; i++)
        if (strstr(comparison->remarks[i], text) != NULL) return true;
    return false;
}
