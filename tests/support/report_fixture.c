#include "tests/support/report_fixture.h"

#include "sim/world/rows/metric.h"
#include "tests/support/harness.h"

#include <sqlite3.h>

static const char small_scenario[] =
    "{\"name\": \"small\", \"cluster\": {\"nodes\": 3, \"gpus_per_node\": 8}, \"warmup\": \"10s\"}";

/* --- Databases --- */

static int put_requests(const struct sink *sink, double scale)
{
    int code = 0;
    for (int i = 0; i < REPORT_FIXTURE_REQUESTS && code == 0; i++) {
        const struct request_row row = {.id = i, .service = i % 10 == 9 ? "b" : "a", .arrival_s = i, .prompt_tokens = 100,
                                        .output_tokens = 100, .queue_s = 1e-3 * scale, .ttft_s = 1e-3 * scale * (i + 1),
                                        .tpot_s = 1e-2 * scale, .e2e_s = scale, .max_gap_s = 2e-2 * scale,
                                        .status = "finished"};
        if (sink->request != NULL) code = sink->request(sink->context, &row);
    }
    if (code == 0) code = metric_emit(sink, "request.arrived", REPORT_FIXTURE_REQUESTS);
    if (code == 0) code = metric_emit(sink, "request.finished", REPORT_FIXTURE_REQUESTS);
    if (code == 0) code = metric_emit(sink, "request.ttft_s.p50", 0.205 * scale);
    if (code == 0) code = metric_emit(sink, "request.ttft_s.p99", 0.396 * scale);
    if (code == 0) code = metric_emit(sink, "request.tpot_s.p99", 0.01 * scale);
    return code == 0 ? metric_emit(sink, "service.output_tokens_per_s", 100 / scale) : code;
}

static int put_jobs(const struct sink *sink, double scale)
{
    int code = 0;
    for (int j = 0; j < REPORT_FIXTURE_JOBS && code == 0; j++) {
        const double submit_s = 60.0 * j, start_s = submit_s + 10 * scale, end_s = start_s + 100;
        const struct job_row row = {.id = j, .submit_s = submit_s, .start_s = start_s, .end_s = end_s, .gpus = 1 + j % 4,
                                    .gpu_s = 100.0 * (1 + j % 4), .jct_s = end_s - submit_s, .status = "finished",
                                    .energy_j = (double)NAN};
        const struct placement_row place = {.job = j, .node = j % 3, .gpus = 1 + j % 4, .start_s = start_s, .end_s = end_s};
        if (sink->job != NULL) code = sink->job(sink->context, &row);
        if (code == 0 && sink->placement != NULL) code = sink->placement(sink->context, &place);
    }
    if (code == 0) code = metric_emit(sink, "job.submitted", REPORT_FIXTURE_JOBS);
    if (code == 0) code = metric_emit(sink, "job.ended", REPORT_FIXTURE_JOBS);
    if (code == 0) code = metric_emit(sink, "job.finished", REPORT_FIXTURE_JOBS);
    return code == 0 ? metric_emit(sink, "job.jct_s.mean", 100 + 10 * scale) : code;
}

/* A queue of each of two services, and ten replicas. */
static int put_samples(const struct sink *sink)
{
    int code = 0;
    for (int t = 0; t < 400 && code == 0 && sink->sample != NULL; t++)
        for (int e = 0; e < 12 && code == 0; e++) {
            char entity[16];
            snprintf(entity, sizeof entity, e < 2 ? "s%d" : "a/%d", e < 2 ? e : e - 2);
            const struct sample_row row = {.series = e < 2 ? "service.waiting" : "replica.waiting", .entity = entity,
                                           .t_s = t, .value = t % (e + 2)};
            code = sink->sample(sink->context, &row);
        }
    return code;
}

int fixture_write_run(const char *path, const struct fixture_run *run, struct diag *diag)
{
    struct results *results;
    int64_t run_id;
    char hash[HASH_HEX_CHARS];
    const struct run_info info = {.name = run->name, .version = "1.2.3", .git_commit = "0123456789ab",
                                  .scenario = run->scenario != NULL ? run->scenario : small_scenario,
                                  .scenario_hash = "00ff", .seed = run->seed, .policies = "routing=jsq", .oracle = "",
                                  .platform = "here", .keep = run->no_rows ? KEEP_METRICS : KEEP_ROWS,
                                  .n_params = run->n_params, .params = run->params};
    const struct run_end end = {.status = run->status, .trace_hash = "ff00", .extrapolated_frac = (double)NAN,
                                .cost = {.started_utc = "2026-01-01T00:00:00Z"}};
    const double scale = run->scale > 0 ? run->scale : 1;
    int code = results_open(path, &(struct results_options){0}, &results, diag);
    if (code != 0) return code;
    code = results_begin_run(results, &info, &run_id, diag);
    struct sink sink = results_sink(results);
    if (code == 0 && run->requests) code = put_requests(&sink, scale);
    if (code == 0 && run->jobs) code = put_jobs(&sink, scale);
    if (code == 0 && (run->requests || run->jobs)) code = put_samples(&sink);
    if (code == 0) code = metric_emit(&sink, "sim.end_s", run->jobs ? 3720 : 400);
    if (code == 0) code = results_end_run(results, &end, hash, diag);
    results_close(results);
    return code;
}

bool fixture_sql(const char *path, const char *sql)
{
    sqlite3 *handle;
    bool ok = sqlite3_open(path, &handle) == SQLITE_OK;
    char *error = NULL;
    ok = ok && sqlite3_exec(handle, sql, NULL, NULL, &error) == SQLITE_OK;
    if (error != NULL) printf("%s: %s\n", sql, error);
    sqlite3_free(error);
    sqlite3_close(handle);
    return ok;
}

static int make_report(struct report_options options, struct text *html, struct diag *diag)
{
    enum { MOST = 512 };
    static const enum report_direction directions[] = {
        [METRIC_NEUTRAL] = REPORT_NEUTRAL, [METRIC_LOWER] = REPORT_LOWER, [METRIC_HIGHER] = REPORT_HIGHER};
    struct report_metric dictionary[MOST];
    size_t n = 0;
    for (; metric_dictionary[n].name != NULL && n < MOST; n++)
        dictionary[n] = (struct report_metric){.name = metric_dictionary[n].name, .unit = metric_dictionary[n].unit,
                                               .direction = directions[metric_dictionary[n].direction],
                                               .definition = metric_dictionary[n].definition};
    options.dictionary = dictionary;
    options.n_dictionary = n;
    text_init(html);
    return report_html(&options, html, diag);
}

int fixture_report(const char *path, int64_t run_id, struct text *html, struct diag *diag)
{
    return make_report((struct report_options){.path = path, .run_id = run_id}, html, diag);
}

int fixture_versus(const char *path, const char *base, const char *changed, struct text *html, struct diag *diag)
{
    return make_report((struct report_options){.path = path, .base = base, .changed = changed}, html, diag);
}

/* --- Laws of pages --- */

bool fixture_has(const struct text *html, const char *what)
{
    return html->chars != NULL && strstr(html->chars, what) != NULL;
}

static bool is_void(const char *tag)
{
    return strcmp(tag, "meta") == 0 || strcmp(tag, "br") == 0;
}

/* The name of the tag at "<", without "/", in lower case as all tags are. */
static void tag_name(const char *at, char name[32])
{
    size_t n = strcspn(at, " \t\n/>");
    snprintf(name, 32, "%.*s", (int)n, at);
}

/* Where the tag ends: behind the ">" that no quoted value holds. */
static const char *tag_end(const char *at)
{
    char quote = 0;
    for (; *at != 0 && (quote != 0 || *at != '>'); at++) {
        if (quote != 0)
            quote = *at == quote ? 0 : quote;
        else if (*at == '"' || *at == '\'')
            quote = *at;
    }
    return *at != 0 ? at + 1 : at;
}

static const char *skip_raw(const char *at, const char *name)
{
    char end[40];
    snprintf(end, sizeof end, "</%s", name);
    const char *found = strstr(at, end);
    return found != NULL ? found : at + strlen(at);
}

/* Whether every element that is opened is closed, in order. */
static bool tags_nest(const char *html)
{
    enum { DEEPEST = 64 };
    char open[DEEPEST][32];
    int depth = 0;
    for (const char *at = strchr(html, '<'); at != NULL && *at != 0; at = strchr(at, '<')) {
        char name[32];
        const bool closes = at[1] == '/';
        if (at[1] == '!') {
            at = tag_end(at);
            continue;
        }
        tag_name(at + 1 + closes, name);
        const char *end = tag_end(at);
        if (closes) {
            if (depth == 0 || strcmp(open[--depth], name) != 0) {
                printf("</%s> closes <%s>: %.60s\n", name, depth >= 0 ? open[depth] : "nothing", at);
                return false;
            }
        } else if (end[-2] != '/' && !is_void(name)) {
            if (depth == DEEPEST) return false;
            memcpy(open[depth++], name, sizeof name);
        }
        const bool is_raw = !closes && (strcmp(name, "script") == 0 || strcmp(name, "style") == 0);
        at = is_raw ? skip_raw(end, name) : end;
    }
    return depth == 0;
}

/* No address but the name of SVG's namespace, no link but into the page, no import. */
static bool leads_nowhere(const char *html)
{
    for (const char *at = strstr(html, "://"); at != NULL; at = strstr(at + 1, "://"))
        if (strncmp(at, "://www.w3.org/2000/svg\"", 23) != 0) return false;
    for (const char *at = strstr(html, "href="); at != NULL; at = strstr(at + 1, "href="))
        if (strncmp(at, "href=\"#", 7) != 0) return false;
    return strstr(html, " src=") == NULL && strstr(html, "@import") == NULL && strstr(html, "url(http") == NULL;
}

static void unescape(const char *from, size_t n, char *to)
{
    static const char *const names[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
    const char *end = from + n;
    while (from < end) {
        size_t i = 0;
        while (i < 5 && strncmp(from, names[i][0], strlen(names[i][0])) != 0) i++;
        *to++ = i < 5 ? names[i][1][0] : *from;
        from += i < 5 ? strlen(names[i][0]) : 1;
    }
    *to = 0;
}

static long count_rows(sqlite3 *handle, const char *sql)
{
    sqlite3_stmt *statement;
    long n = 0;
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK) {
        printf("%s: %s\n", sqlite3_errmsg(handle), sql);
        return -1;
    }
    while (sqlite3_step(statement) == SQLITE_ROW) n++;
    sqlite3_finalize(statement);
    return n;
}

static int check_statements(const char *path, const char *html)
{
    static const char head[] = "<pre data-rows=\"", code[] = "<code>";
    sqlite3 *handle;
    int n = 0;
    CHECK(sqlite3_open(path, &handle) == SQLITE_OK);
    for (const char *at = strstr(html, head); at != NULL; at = strstr(at + 1, head)) {
        const long claimed = strtol(at + strlen(head), NULL, 10);
        const char *start = strstr(at, code) + strlen(code), *end = strstr(start, "</code>");
        char *sql = mem_alloc((size_t)(end - start) + 1);
        unescape(start, (size_t)(end - start), sql);
        CHECK_EQ_INT(count_rows(handle, sql), claimed);
        mem_free(sql);
        n++;
    }
    sqlite3_close(handle);
    return n;
}

int fixture_check_page(const char *path, const struct text *html)
{
    if (!CHECK(html->chars != NULL)) return 0;
    CHECK_EQ_INT(strlen(html->chars), html->length);
    CHECK(tags_nest(html->chars));
    CHECK(leads_nowhere(html->chars));
    CHECK(strncmp(html->chars, "<!DOCTYPE html>", 15) == 0);
    CHECK(strstr(html->chars, "default-src 'none'") != NULL);
    return check_statements(path, html->chars);
}
