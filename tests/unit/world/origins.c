/* Time 0 of traces that a site replays together: each log begins at its own first record, unless "origin" says
 * when. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

/* A service whose log begins at `requests`, and jobs whose log begins at `jobs`. */
static struct bed_rows *run_with(const char *requests, const char *jobs, const char *of_requests, const char *of_jobs)
{
    char log[512], list[512], text[512];
    snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s,100,10\n2026-03-01T20:00:00Z,100,10\n",
             requests);
    snprintf(log, sizeof log, "%s", trace_source_file("requests.csv", text));
    snprintf(text, sizeof text, "submit_s,duration_s,gpus\n%s,600,8\n", jobs);
    snprintf(list, sizeof list, "%s", trace_source_file("jobs.csv", text));
    return bed_run(NULL,
                   "{'cluster': {'gpu': 'h200-sxm', 'gpus_per_node': 8, 'nodes': 2}, 'services': {'chat': {'llm': "
                   "'llama-3.1-8b', 'trace': {'format': 'csv', 'path': '%s'%s}}}, 'jobs': {'trace': {'format': "
                   "'csv-jobs', 'path': '%s'%s}}}",
                   log, of_requests, list, of_jobs);
}

static struct bed_rows *run(const char *requests, const char *jobs, const char *keys)
{
    return run_with(requests, jobs, keys, keys);
}

TEST(logs_that_begin_at_other_times_are_told)
{
    struct bed_rows *rows = run("2026-03-01T08:00:00Z", "2026-03-01T20:00:00Z", "");
    const char *text = bed_warning(rows, "origins");
    CHECK_EQ_INT(rows->code, 0);
    MUST(text != NULL);
    CHECK(strstr(text,
                 "2026-03-01T08:00:00Z in the trace of service 'chat', and 2026-03-01T20:00:00Z in that of the jobs: "
                 "they are shifted by 43200 s") != NULL);
    CHECK_NEAR(rows->jobs[0].start_s, 0, 0.0);
    bed_free(rows);
}

TEST(logs_of_one_beginning_are_not_told)
{
    static const struct {
        const char *requests, *jobs, *keys;
    } cases[] = {{"2026-03-01T20:00:00Z", "2026-03-01T20:00:00Z", ""},
                 {"2026-03-01T19:59:01Z", "2026-03-01T20:00:00Z", ""},
                 {"2026-03-01T08:00:00Z", "0", ""},
                 {"2026-03-01T08:00:00Z", "2026-03-01T20:00:00Z", ", 'origin': 'first'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = run(cases[i].requests, cases[i].jobs, cases[i].keys);
        CHECK_EQ_INT(rows->code, 0);
        CHECK(bed_warning(rows, "origins") == NULL);
        bed_free(rows);
    }
}

/* Midnight, in UTC or in a zone: the requests come 8 and 20 hours later, the job 20. */
TEST(one_origin_keeps_logs_together)
{
    static const struct {
        const char *keys;
        double later_s;
    } cases[] = {{", 'origin': '2026-03-01'", 0}, {", 'origin': '2026-03-01T00:00+01:00'", 3600}};
    for (size_t i = 0; i < 2; i++) {
        struct bed_rows *rows = run("2026-03-01T08:00:00Z", "2026-03-01T20:00:00Z", cases[i].keys);
        CHECK_EQ_INT(rows->code, 0);
        MUST(rows->n_requests == 2 && rows->n_jobs == 1);
        CHECK_NEAR(rows->requests[0].arrival_s, 28800 + cases[i].later_s, 0.0);
        CHECK_NEAR(rows->requests[1].arrival_s, 72000 + cases[i].later_s, 0.0);
        CHECK_NEAR(rows->jobs[0].submit_s, 72000 + cases[i].later_s, 0.0);
        CHECK(bed_warning(rows, "origins") == NULL);
        bed_free(rows);
    }
}

/* A time without a zone beside others with one is taken as UTC, and told with its place. Times of one kind are not. */
TEST(zones_of_some_rows_are_told)
{
    static const struct {
        const char *first;
        bool is_told;
    } cases[] = {{"2026-03-01T08:00:00", true},       {"2026-03-01 08:00", true},           {"2026-03-01", true},
                 {"2026-03-01T08:00:00Z", false},     {"2026-03-01 08:00:00 UTC", false},   {"20260301T080000Z", false},
                 {"2026-03-01T08:00+01:00", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = run(cases[i].first, "2026-03-01T20:00:00", "");
        const char *text = bed_warning(rows, "mixed-zones");
        CHECK_EQ_INT(rows->code, 0);
        CHECK((text != NULL) == cases[i].is_told);
        if (text != NULL) CHECK(strstr(text, "service 'chat'") != NULL && strstr(text, "taken as UTC") != NULL);
        if (text != NULL) CHECK(strstr(text, "requests.csv:3:1") != NULL);
        bed_free(rows);
    }
}

/* A window begins time anew: at its beginning, in all traces that have it. */
TEST(a_window_moves_the_origin)
{
    struct bed_rows *rows = run("2026-03-01T08:00:00Z", "2026-03-01T20:00:00Z",
                                ", 'origin': '2026-03-01', 'window': ['20h', '21h']");
    CHECK_EQ_INT(rows->code, 0);
    MUST(rows->n_requests == 1 && rows->n_jobs == 1);
    CHECK_NEAR(rows->requests[0].arrival_s, 0, 0.0);
    CHECK_NEAR(rows->jobs[0].submit_s, 0, 0.0);
    CHECK(bed_warning(rows, "origins") == NULL);
    bed_free(rows);
}

/* A window of one trace: its time 0 is that of its beginning, 20:00, as is that of the jobs, or 7 h before theirs. */
TEST(a_window_of_one_trace_counts)
{
    static const struct {
        const char *jobs;
        bool is_told;
    } cases[] = {{"2026-03-01T20:00:00Z", false}, {"2026-03-02T03:00:00Z", true}};
    for (size_t i = 0; i < 2; i++) {
        struct bed_rows *rows = run_with("2026-03-01T08:00:00Z", cases[i].jobs, ", 'window': ['12h', '13h']", "");
        const char *text = bed_warning(rows, "origins");
        CHECK_EQ_INT(rows->code, 0);
        CHECK((text != NULL) == cases[i].is_told);
        if (text != NULL) CHECK(strstr(text, "2026-03-01T20:00:00Z in the trace of service 'chat'") != NULL);
        if (text != NULL) CHECK(strstr(text, "shifted by 25200 s") != NULL);
        bed_free(rows);
    }
}

/* Requests that all come at once, and windows drawn from a trace, have no origin. */
TEST(traces_without_an_origin_are_not_told)
{
    static const char *const keys[] = {", 'offline': 'as-it-is'", ", 'replicate': {'method': 'windows', 'length': '1h'}"};
    for (size_t i = 0; i < 2; i++) {
        struct bed_rows *rows = run_with("2026-03-01T08:00:00Z", "2026-03-01T20:00:00Z", keys[i], "");
        CHECK_EQ_INT(rows->code, 0);
        CHECK(bed_warning(rows, "origins") == NULL);
        bed_free(rows);
    }
}

/* Calendar times from the file's own zero, which is 1970. */
TEST(a_run_from_1970_is_told)
{
    static const struct {
        const char *keys, *time;
        int64_t n_told;
    } cases[] = {{", 'origin': 'zero'", "2026-03-01T08:00Z", 1},
                 {", 'origin': 'zero', 'window': ['490000h', '500000h']", "2026-03-01T08:00Z", 0},
                 {", 'origin': 'zero'", "7.5", 0},
                 {", 'origin': 'first'", "2026-03-01T08:00Z", 0},
                 {", 'origin': '2026-03-01'", "2026-03-01T08:00Z", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        SCOPED(trace_source) trace = {0};
        snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s,1,1\n", cases[i].time);
        MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s'%s}", trace_source_file("e.csv", text),
                                   cases[i].keys) == 0);
        CHECK_EQ_INT(trace_source_totals(&trace).code, 0);
        CHECK_EQ_INT(trace_source_note(&trace, "since-1970"), cases[i].n_told);
    }
}

TEST(wrong_origins_are_refused)
{
    static const struct {
        const char *keys, *time, *says;
    } cases[] = {{", 'origin': 'noon'", "1", "'origin' must be a time after 1970 and before 2116, got 'noon'"},
                 {", 'origin': '1970-01-01'", "1", "'origin' must be a time after 1970"},
                 {", 'origin': '2262-03-01'", "-2200000000", "'origin' must be a time after 1970 and before 2116"},
                 {", 'origin': '2115-12-31'", "-2200000000", "'arrival_s' is no calendar time"},
                 {", 'origin': '2026-03-02'", "7.5", "'arrival_s' is no calendar time"},
                 {", 'origin': '2026-03-02'", "2026-03-01T08:00Z", "s before the \"origin\"; choose an earlier \"origin\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        SCOPED(trace_source) trace = {0};
        snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s,1,1\n", cases[i].time);
        const char *path = trace_source_file("r.csv", text);
        int code = trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s'%s}", path, cases[i].keys);
        if (code == 0) code = trace_source_totals(&trace).code;
        CHECK_EQ_INT(code, i < 3 ? SIM_E_CONFIG : SIM_E_DATA);
        if (strstr(trace.message, cases[i].says) == NULL) CHECK_EQ_STR(trace.message, cases[i].says);
    }
}
