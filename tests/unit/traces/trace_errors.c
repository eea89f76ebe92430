/* Wrong traces: each finding names the place, what was expected, and what to do. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/registry.h"

#define AZURE_HEAD "TIMESTAMP,ContextTokens,GeneratedTokens\n"

/* The first finding of reading an Azure file with these rows. */
static void check_azure(const char *rows, int expected_code, const char *expected)
{
    char text[1024], message[1024];
    snprintf(text, sizeof text, "%s%s", AZURE_HEAD, rows);
    const char *path = trace_source_file("azure.csv", text);
    SCOPED(trace_source) trace = {0};
    struct trace_totals totals = {0};
    if (trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0) {
        totals = trace_source_totals(&trace);
        CHECK_EQ_INT(totals.code, expected_code);
    }
    snprintf(message, sizeof message, "%s%s", path, expected);
    CHECK_EQ_STR(trace.message, message);
}

#define FIX "; correct the row, or let \"allow_bad_rows\" leave such rows out"

TEST(bad_rows_say_where_and_what_was_expected)
{
    check_azure("2023-11-16 18:15:46.68,37x4,44\n", SIM_E_DATA,
                ":2:24: error: 'ContextTokens' must be a whole number, got '37x4'" FIX);
    check_azure("2023-11-16 18:15:46.68,374,-5\n", SIM_E_DATA,
                ":2:28: error: 'GeneratedTokens' must be at least 0, got '-5'" FIX);
    check_azure("2023-11-16 18:15:46.68,3000000000,5\n", SIM_E_DATA,
                ":2:24: error: 'ContextTokens' must be at most 2147483647, got '3000000000'" FIX);
    check_azure("2023-11-16 18:15:46.68,30000000000000000000,5\n", SIM_E_DATA,
                ":2:24: error: 'ContextTokens' must be a number of at most 18 digits, got '30000000000000000000'" FIX);
    check_azure("2023-11-16 18:15:46.68,,44\n", SIM_E_DATA,
                ":2:24: error: 'ContextTokens' is empty; expected a whole number" FIX);
    check_azure("2023-11-16 18:15:46.68,374\n", SIM_E_DATA,
                ":2:27: error: row has 2 fields, but 'GeneratedTokens' is column 3" FIX);
    check_azure("16.11.2023,374,44\n", SIM_E_DATA,
                ":2:1: error: 'TIMESTAMP' must be a time such as 2023-11-16 18:15:46.68, got '16.11.2023'" FIX);
    check_azure(
        "2023-11-16 18:15:46.5,1,1\n2023-11-16 18:15:45.25,1,1\n", SIM_E_DATA,
        ":3:1: error: 'TIMESTAMP' runs backwards: 1.25 s before the latest row above; sort the file, or set \"sort\": true");
    check_azure("", SIM_E_DATA, ": error: trace is empty; expected rows of data");
    check_azure("2023-11-16 18:15:46.5,1,0\n", SIM_E_DATA,
                ": error: none of the 1 rows can be used; requests without output tokens left out");
}

/* The first finding of a Mooncake line. */
static void check_mooncake(const char *line, const char *expected)
{
    char message[1024];
    const char *path = trace_source_file("m.jsonl", test_json("%s", line));
    SCOPED(trace_source) trace;
    MUST(trace_source_requests(&trace, 1, "{'format': 'mooncake', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_totals(&trace).code, SIM_E_DATA);
    snprintf(message, sizeof message, "%s%s", path, expected);
    CHECK_EQ_STR(trace.message, message);
}

#define FIX_JSON "; write {\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": []}"

TEST(bad_json_lines_say_where_and_what_was_expected)
{
    check_mooncake("{'timestamp': 0, 'input_length': 6758.5, 'output_length': 500}",
                   ":1:34: error: 'input_length' must be a whole number from 0 to 2147483647, got '6758.5'" FIX_JSON);
    check_mooncake("{'timestamp': 0, 'input_length': -1, 'output_length': 500}",
                   ":1:34: error: 'input_length' must be a whole number from 0 to 2147483647, got '-1'" FIX_JSON);
    check_mooncake("{'timestamp': '0'}", ":1:15: error: expected a number" FIX_JSON);
    check_mooncake("{'timestamp': 0, 'input_length': 1}", ":1:1: error: 'output_length' is missing" FIX_JSON);
    check_mooncake("{'timestamp': 0, 'hash_ids': [1 2]}", ":1:33: error: expected ',' or ']'" FIX_JSON);
    check_mooncake("{'timestamp': 0, 'hash_ids': [1,]}", ":1:33: error: expected a number" FIX_JSON);
    check_mooncake("{'timestamp': 0, 'hash_ids': 1}", ":1:30: error: expected '['" FIX_JSON);
    check_mooncake("{'timestamp': 0} x", ":1:18: error: expected the end of the line" FIX_JSON);
    check_mooncake("{'timestamp' 0}", ":1:14: error: expected ':'" FIX_JSON);
    check_mooncake("{'timestamp", ":1:12: error: expected the closing quote of a string" FIX_JSON);
    check_mooncake("timestamp,input_length\n", ":1:1: error: expected '{'" FIX_JSON);
    check_mooncake("{'x': tru}", ":1:7: error: expected a value" FIX_JSON);
    check_mooncake("{'x': [[}", ":1:10: error: expected a value" FIX_JSON);
}

TEST(missing_files_and_columns_say_so)
{
    SCOPED(trace_source) trace;
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': 'no/trace.csv'}"), SIM_E_IO);
    CHECK_EQ_STR(trace.message, "no/trace.csv: error: cannot open: No such file or directory");
    trace_source_fini(&trace);
    const char *path = trace_source_file("azure.csv", "TIMESTAMP,ContextToken,GeneratedTokens\n");
    char expected[1024];
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path), SIM_E_DATA);
    snprintf(expected, sizeof expected,
             "%s:1:1: error: no column 'ContextTokens' in the header; did you mean 'ContextToken'?", path);
    CHECK_EQ_STR(trace.message, expected);
}

TEST(bad_rows_can_be_left_out_up_to_a_number)
{
    const char *path = trace_source_file("azure.csv",
                                         AZURE_HEAD "2023-11-16 18:15:46.5,1,1\n2023-11-16 18:15:47.5,x,1\n"
                                                    "2023-11-16 18:15:48.5,\"1,1\n\"2023-11-16 18:15:49.5,2,1\n"
                                                    "2023-11-16 18:15:40.5,3,1\n2023-11-16 18:15:50.5,4,1\n");
    SCOPED(trace_source) trace;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s', 'allow_bad_rows': 4}", path) == 0);
    struct trace_totals totals = trace_source_totals(&trace);
    CHECK_EQ_INT(totals.code, 0);
    CHECK_EQ_INT(totals.n, 2);
    CHECK_EQ_INT(totals.prompt_tokens, 5);
    CHECK_EQ_INT(trace_source_note(&trace, "bad-row"), 4);
    trace_source_fini(&trace);
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s', 'allow_bad_rows': 3}", path) == 0);
    CHECK_EQ_INT(trace_source_totals(&trace).code, SIM_E_DATA);
    CHECK_EQ_INT(trace_source_totals(&trace).n, 1);
}

/* Two stray quotes make one row of all that is between them: it counts as the lines that it has. */
TEST(a_bad_row_of_many_lines_counts_as_many)
{
    const char *path = trace_source_file("t.csv", "arrival_s,prompt_tokens,output_tokens\n1,1,1\n2,\"1,1\n3,1,1\n"
                                                  "4,1,1\"\n5,1,1\n");
    struct trace_source trace;
    for (int allowed = 0; allowed <= 3; allowed++) {
        MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s', 'allow_bad_rows': %d}", path, allowed) ==
             0);
        struct trace_totals totals = trace_source_totals(&trace);
        CHECK_EQ_INT(totals.code, allowed < 3 ? SIM_E_DATA : 0);
        CHECK_EQ_INT(totals.n, allowed < 3 ? 1 : 2);
        CHECK_EQ_INT(trace_source_note(&trace, "bad-row"), allowed < 3 ? 0 : 3);
        trace_source_fini(&trace);
    }
}

/* The longest that a file may say, added up, is within the range of time; a little more is refused. */
TEST(times_and_durations_have_limits)
{
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    const char *path = trace_source_file("j.csv",
                                         "submit_s,duration_s,gpus,estimate_s\n2305843009,2305843009,1,2305843009\n");
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'origin': 'zero'}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.submit_ns <= SIM_NS_MAX - job.duration_ns && job.duration_ns == job.submit_ns);
    trace_source_fini(&trace);
    path = trace_source_file("j.csv", "submit_s,duration_s,gpus\n0,2305843010,1\n");
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'origin': 'zero'}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), SIM_E_DATA);
    CHECK(strstr(trace.message, ":2:3: error: 'duration_s' must be a number of seconds within 73 years") != NULL);
    trace_source_fini(&trace);
    path = trace_source_file("j.csv", "submit_s,duration_s,gpus\n0,1,1\n2e9,1,1\n");
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'rate_scale': 0.1}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &job), SIM_E_CONFIG);
    CHECK(strstr(trace.message, "services.chat.trace: error: \"rate_scale\" stretches the trace") != NULL);
}

/* What is asked for is more than fits into time. */
static void check_out_of_time(const char *trace_text)
{
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    const char *text = "the trace goes on past the 292 years that time covers";
    int code;
    if (strstr(trace_text, "generate-jobs") != NULL) {
        MUST(trace_source_jobs(&trace, 1, "%s", trace_text) == 0);
        while ((code = trace_source_job(&trace, &job)) == 1) CHECK(job.submit_ns < SIM_NS_MAX - job.duration_ns);
    } else {
        MUST(trace_source_requests(&trace, 1, "%s", trace_text) == 0);
        code = trace_source_totals(&trace).code;
    }
    CHECK_EQ_INT(code, SIM_E_CONFIG);
    CHECK(strstr(trace.message, text) != NULL);
}

/* A first day matters where days differ, a wave where no hours are listed. */
TEST(what_has_no_effect_on_a_daily_rate_is_warned_of)
{
#define HOURS_OF_DAY "'hours': [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]"
    static const struct {
        const char *keys;
        const char *says; /* NULL: nothing */
    } cases[] = {{"'start_day': 'friday'", "'start_day' has no effect"},
                 {"'start_day': 'monday'", NULL},
                 {"'amplitude': 0.2, 'peak_hour': 3", NULL},
                 {"'peak_hour': 3, " HOURS_OF_DAY, "'amplitude' and 'peak_hour' have no effect"},
                 {"'amplitude': 0.2, " HOURS_OF_DAY, "'amplitude' and 'peak_hour' have no effect"},
                 {"'amplitude': 0.5, 'peak_hour': 14, " HOURS_OF_DAY, NULL},
                 {"'start_day': 'friday', 'weekdays': [1, 1, 1, 1, 1, 0, 0]", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        MUST(trace_source_requests(&trace, 1,
                                   "{'format': 'generate', 'count': 1, 'arrival': {'process': 'diurnal',"
                                   " 'rate': '1/s', %s}}",
                                   cases[i].keys) == 0);
        CHECK_EQ_INT(trace.diag.n_warnings, cases[i].says != NULL);
        if (cases[i].says != NULL) CHECK(strstr(trace.message, cases[i].says) != NULL);
    }
}

TEST(a_trace_that_outlasts_time_is_an_error)
{
    static const char *const processes[] = {
        "'process': 'poisson', 'rate': '1e-9/s'",
        "'process': 'gamma', 'rate': '1e-9/s'",
        "'process': 'fixed', 'rate': '1e-9/s'",
        "'process': 'modulated', 'rate': '1e-9/s'",
        "'process': 'diurnal', 'rate': '1e-9/s'",
        "'process': 'mmpp', 'states': [{'rate': '1e-9/s', 'dwell': '1e8s'}, {'rate': '0/s', 'dwell': '1e8s'}]"};
    char text[1024];
    char path[512];
    snprintf(path, sizeof path, "%s",
             trace_source_file("l.csv",
                               "num_prefill_tokens,num_decode_tokens\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n"
                               "1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n1,1\n"));
    for (size_t i = 0; i < sizeof processes / sizeof *processes; i++) {
        snprintf(text, sizeof text, "{'format': 'generate', 'count': 1000, 'arrival': {%s}}", processes[i]);
        check_out_of_time(text);
        snprintf(text, sizeof text, "{'format': 'generate-jobs', 'mix': 'philly', 'count': 1000, 'arrival': {%s}}",
                 processes[i]);
        check_out_of_time(text);
        snprintf(text, sizeof text, "{'format': 'lengths', 'path': '%s', 'allow_bad_rows': 99, 'arrival': {%s}}", path,
                 processes[i]);
        check_out_of_time(text);
    }
    SCOPED(trace_source) trace;
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'generate', 'count': 1000, 'duration': '9e9s',"
                               " 'arrival': {'process': 'fixed', 'rate': '1e-9/s'}}") == 0);
    CHECK_EQ_INT(trace_source_totals(&trace).code, 0);
}

TEST(all_bad_rows_can_be_reported_in_one_pass)
{
    const char *path = trace_source_file("azure.csv",
                                         AZURE_HEAD "2023-11-16 18:15:46.5,1,x\n2023-11-16 18:15:47.5,x,1\n"
                                                    "2023-11-16 18:15:48.5,5,1\nx,1,1\n");
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_DATA);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_DATA);
    CHECK_EQ_INT(trace_source_request(&trace, &record), 1);
    CHECK_EQ_INT(record.id, 2);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_DATA);
    CHECK_EQ_INT(trace_source_request(&trace, &record), 0);
    CHECK_EQ_INT(trace.diag.n_errors, 3);
}

/* Opens the trace and reads all of it. Returns 0, or the code of what went wrong. */
static int read_requests(const struct trace_source *trace, struct diag *diag)
{
    const struct trace_format *format = trace->variant.entry;
    struct request_source *source;
    struct request_record record;
    int code = format->open_requests(trace->variant.params, &trace->options, &source, diag);
    if (code != 0) return code;
    while ((code = source->next(source, &record, diag)) == 1) {
    }
    source->close(source);
    return code;
}

static int read_jobs(const struct trace_source *trace, struct diag *diag)
{
    const struct trace_format *format = trace->variant.entry;
    struct job_source *source;
    struct job_record record;
    int code = format->open_jobs(trace->variant.params, &trace->options, &source, diag);
    if (code != 0) return code;
    while ((code = source->next(source, &record, diag)) == 1) {
    }
    source->close(source);
    return code;
}

/* Lets the first allocation fail, then the second, and so on until the trace can be read. Closes the trace. */
static void check_memory(struct trace_source *trace)
{
    int code = trace->code != 0 ? 0 : SIM_E_NOMEM;
    CHECK_EQ_INT(trace->code, 0);
    for (long n = 0; code == SIM_E_NOMEM && n < 200; n++) {
        struct diag diag = {0};
        mem_fail_after(n);
        code = trace->requests != NULL ? read_requests(trace, &diag) : read_jobs(trace, &diag);
        mem_fail_never();
        CHECK_EQ_INT(diag.code, code);
    }
    CHECK_EQ_INT(code, 0);
    trace_source_fini(trace);
}

TEST(memory_failures_are_reported_at_every_allocation)
{
    struct trace_source trace;
    trace_source_jobs(&trace, 1, "{'format': 'philly', 'path': '%s'}",
                      trace_source_file("p.csv", "timestamp,duration,num_gpus,gpu_time,virtual_cluster\n"
                                                 "2017-10-09 07:01:55,66.0,1,66.0,\"11\"\n"
                                                 "2017-10-09 06:01:55,66.0,1,66.0,12\n"));
    check_memory(&trace);
    trace_source_requests(&trace, 1, "{'format': 'mooncake', 'path': '%s', 'sort': true, 'jitter': '3s'}",
                          trace_source_file("m.jsonl",
                                            "{\"timestamp\": 1, \"input_length\": 600, \"output_length\": 5,"
                                            " \"hash_ids\": [7, 8]}\n"
                                            "{\"timestamp\": 0, \"input_length\": 7, \"output_length\": 1}\n"));
    check_memory(&trace);
    trace_source_requests(
        &trace, 1, "{'format': 'csv', 'path': '%s'}",
        trace_source_file("t.csv", "arrival_s,prompt_tokens,output_tokens,prefix_blocks\n1,1,1,5 6\n"));
    check_memory(&trace);
    trace_source_requests(&trace, 1,
                          "{'format': 'lengths', 'path': '%s', 'arrival': {'process': 'gamma', 'rate': '1/s'}}",
                          trace_source_file("l.csv", "num_prefill_tokens,num_decode_tokens\n1,1\n"));
    check_memory(&trace);
    trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 5, 'sessions': {'continue': 0.5}}");
    check_memory(&trace);
    trace_source_jobs(&trace, 1, "{'format': 'generate-jobs', 'mix': 'pai', 'count': 5}");
    check_memory(&trace);
}

TEST(a_misspelt_column_of_jobs_is_an_error)
{
    const char *path = trace_source_file("m.csv", "submit_s,duration_s,gpus,team\n0,5,1,a\n");
    SCOPED(trace_source) trace = {0};
    CHECK_EQ_INT(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'columns': {'group': 'taem'}}", path),
                 SIM_E_DATA);
    CHECK(strstr(trace.message, "m.csv:1:1: error: no column 'taem' in the header; did you mean 'team'?") != NULL);
    SCOPED(trace_source) named = {0};
    struct job_record job;
    MUST(trace_source_jobs(&named, 1, "{'format': 'csv-jobs', 'path': '%s', 'columns': {'group': 'team'}}", path) == 0);
    CHECK(trace_source_job(&named, &job) == 1 && strcmp(job.group, "a") == 0);
}

TEST(columns_that_nothing_reads_are_named_once)
{
    static const struct {
        const char *header, *columns, *text, *hint;
    } cases[] = {
        {"submit_s,duration_s,gpus,gpu_type,estimate,note", "", "nothing reads the columns gpu_type, estimate, note",
         "did you mean 'estimate_s' by 'estimate'? "},
        {"submit_s,duration_s,gpus,gpu_type,estimate,note", "'gpu_models': 'gpu_type', 'estimate': 'estimate'",
         "nothing reads the column note", "'columns' names what is read"},
        {"submit_s,duration_s,gpus,,group,user", "", "nothing reads the column number 4", "'columns' names"},
        {"submit_s,duration_s,gpus,type,group,user", "", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[256];
        snprintf(file, sizeof file, "%s\n0,5,1,a,7,c\n3,5,1,a,8,c\n", cases[i].header);
        SCOPED(trace_source) trace = {0};
        struct job_record job;
        MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'columns': {%s}}",
                               trace_source_file("u.csv", file), cases[i].columns) == 0);
        CHECK(trace_source_job(&trace, &job) == 1 && trace_source_job(&trace, &job) == 1);
        CHECK_EQ_INT(trace.diag.n_warnings, cases[i].text[0] != '\0');
        CHECK(trace.diag.n_warnings == 0 || strcmp(trace.diag.items[0].text, cases[i].text) == 0);
        CHECK(trace.diag.n_warnings == 0 ||
              strncmp(trace.diag.items[0].hint, cases[i].hint, strlen(cases[i].hint)) == 0);
    }
    const char *path = trace_source_file("r.csv", "arrival_s,prompt_tokens,output_tokens,session\n0,5,1,a\n");
    SCOPED(trace_source) requests = {0};
    MUST(trace_source_requests(&requests, 1, "{'format': 'csv', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(requests.diag.n_warnings, 1);
    SCOPED(trace_source) sessions = {0};
    MUST(trace_source_requests(&sessions, 1, "{'format': 'csv', 'path': '%s', 'columns': {'session': 'session'}}",
                               path) == 0);
    CHECK_EQ_INT(sessions.diag.n_warnings, 0);
}
