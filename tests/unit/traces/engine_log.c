/* Logs of real engines: what is read from them, and what is found wrong with them. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/engine_log.h"

/* A log that was read from text, or the finding. */
struct read_log {
    struct arena arena;
    struct engine_log log;
    struct diag diag;
    const char *path;
    int code;
};

static void log_read(struct read_log *read, const char *format, const char *text)
{
    read->path = trace_source_file("log", text);
    read->log = (struct engine_log){0};
    arena_init(&read->arena);
    diag_init(&read->diag);
    read->code = engine_log_read(read->path, format, 0, &read->arena, &read->log, &read->diag);
}

/* The finding at "PATH:PLACE: error: EXPECTED", up to its hint. */
static void check_bad(const char *format, const char *text, const char *expected)
{
    struct read_log read;
    char message[1024], wanted[1024];
    log_read(&read, format, text);
    CHECK_EQ_INT(read.code, SIM_E_DATA);
    diag_format(&read.diag.items[0], message, sizeof message);
    snprintf(wanted, sizeof wanted, "%s%s", read.path, expected);
    message[strlen(wanted) < sizeof message ? strlen(wanted) : 0] = 0;
    CHECK_EQ_STR(message, wanted);
    arena_fini(&read.arena);
}

#define LINE(id, arrival, queued, scheduled, first, last)                                                              \
    "{\"request_id\": \"" id "\", \"input_toks\": 8, \"output_toks\": 5, \"arrival_time\": " arrival                   \
    ", \"queued_ts\": " queued ", \"scheduled_ts\": " scheduled ", \"first_token_ts\": " first                         \
    ", \"last_token_ts\": " last "}\n"

/* By one clock: times are differences to the arrival, and the trace starts at the first arrival, whatever the row's
 * place. */
TEST(one_clock)
{
    struct read_log read;
    log_read(&read, "vllm-log",
             LINE("b", "101.5", "101.5", "101.75", "102.5", "104.5")
                 LINE("a", "100.25", "100.5", "100.75", "101", "103"));
    MUST(read.code == 0);
    CHECK_EQ_INT(read.log.n, 2);
    const struct log_entry *b = &read.log.entries[0], *a = &read.log.entries[1];
    CHECK_EQ_STR(b->name, "b");
    CHECK_EQ_INT(b->id, 0);
    CHECK_EQ_INT(b->arrival_ns, 1250000000);
    CHECK_EQ_INT(a->arrival_ns, 0);
    CHECK_EQ_INT(b->prompt_tokens, 8);
    CHECK_EQ_INT(b->output_tokens, 5);
    CHECK_NEAR(b->queue_s, 0.25, 1e-12);
    CHECK_NEAR(b->ttft_s, 1.0, 1e-12);
    CHECK_NEAR(b->tpot_s, 0.5, 1e-12);
    CHECK_NEAR(b->e2e_s, 3.0, 1e-12);
    CHECK_NEAR(a->queue_s, 0.5, 1e-12);
    arena_fini(&read.arena);
}

/* The clock of the day and one of the engine's: the request that was queued soonest sets them. */
TEST(two_clocks)
{
    struct read_log read;
    log_read(&read, "vllm-log",
             LINE("a", "1700000000.0", "50.25", "50.5", "51.0", "53.0")
                 LINE("b", "1700000001.0", "51.0", "51.0", "52.0", "56.0"));
    MUST(read.code == 0);
    CHECK_NEAR(read.log.entries[0].queue_s, 0.5, 1e-12); /* the offset is that of b: 50 s */
    CHECK_NEAR(read.log.entries[0].ttft_s, 1.0, 1e-12);
    CHECK_NEAR(read.log.entries[1].queue_s, 0.0, 1e-12);
    CHECK_NEAR(read.log.entries[1].e2e_s, 5.0, 1e-12);
    CHECK_EQ_INT(read.log.entries[1].arrival_ns, 1000000000);
    arena_fini(&read.arena);
}

TEST(tables)
{
    struct read_log read;
    log_read(&read, "request-log",
             "id,arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s,tpot_s,queue_s\n"
             "x,5,10,3,1,2,,0.25\ny,6,10,1,1,1,,\nz,6.5,10,3,1,2,0.75,\n");
    MUST(read.code == 0);
    CHECK_EQ_INT(read.log.n, 3);
    CHECK_NEAR(read.log.entries[0].tpot_s, 0.5, 1e-12);
    CHECK_NEAR(read.log.entries[0].queue_s, 0.25, 1e-12);
    CHECK(isnan(read.log.entries[1].tpot_s) && isnan(read.log.entries[1].queue_s));
    CHECK_NEAR(read.log.entries[2].tpot_s, 0.75, 1e-12); /* as given */
    CHECK_EQ_INT(read.log.entries[2].arrival_ns, 1500000000);
    arena_fini(&read.arena);
    log_read(&read, "request-log", "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n0,10,0,1,2\n0,10,3,1,2\n");
    MUST(read.code == 0);
    CHECK_EQ_INT(read.log.n, 1); /* as a trace leaves it out */
    CHECK_EQ_INT(read.log.entries[0].id, 1);
    CHECK_EQ_STR(read.log.entries[0].name, "1");
    arena_fini(&read.arena);
}

#define HEAD "id,arrival_s,prompt_tokens,output_tokens,queue_s,ttft_s,e2e_s\n"

TEST(bad_rows)
{
    check_bad("vllm-log", LINE("a", "1", "2", "3", "4", "5") LINE("a", "2", "3", "4", "5", "6"),
              ":2:1: error: request 'a' is also in line 1");
    check_bad("vllm-log", LINE("a", "1", "2", "3", "null", "5"), ":1:1: error: 'first_token_ts' is missing");
    check_bad("vllm-log", LINE("a", "1", "2", "3", "5", "4"),
              ":1:1: error: 'last_token_ts' is 1 s before 'first_token_ts'");
    check_bad("vllm-log", LINE("a", "4", "2", "3", "5", "6"), ":1:1: error: 'queued_ts' is 2 s before 'arrival_time'");
    check_bad("vllm-log", LINE("a", "1700000000", "null", "3", "5", "6"),
              ":1:1: error: 'arrival_time' and 'first_token_ts' are by two clocks, and 'queued_ts', which would set "
              "them, is missing");
    check_bad("vllm-log", LINE("a", "1700000000", "2", "3", "5", "6") LINE("b", "1", "2", "3", "5", "6"),
              ":2:1: error: 'arrival_time' and 'first_token_ts' are less than a day apart, in the rows above they are "
              "more");
    check_bad("vllm-log", LINE("a", "1", "2", "3", "\\\"x\\\"", "5"), ":1:");
    check_bad("vllm-log", "", ": error: trace is empty");
    check_bad("request-log", HEAD "a,0,10,3,,,2\n", ":2:11: error: 'ttft_s' is empty; expected a number of seconds");
    check_bad("request-log", HEAD "a,0,10,3,,2,1\n", ":2:3: error: 'e2e_s' is 1 s before 'ttft_s'");
    check_bad("request-log", HEAD "a,0,10,3,3,2,4\n", ":2:3: error: 'ttft_s' is 1 s before 'queue_s'");
    check_bad("request-log", HEAD "a,0,10,3,,1,2\nb,0,10,3,,1,2\na,0,10,3,,1,2\n",
              ":4:3: error: request 'a' is also in line 2");
    check_bad("request-log", HEAD "a,0,10,3,,1,-2\n", ":2:13: error: 'e2e_s' must be 0 or more");
}

TEST(formats_are_recognised)
{
    const char *format = NULL;
    struct diag diag = {0};
    CHECK_EQ_INT(engine_log_guess(trace_source_file("a", "\n  {\"a\": 1}\n"), &format, &diag), 0);
    CHECK_EQ_STR(format, "vllm-log");
    CHECK_EQ_INT(engine_log_guess(trace_source_file("b", HEAD), &format, &diag), 0);
    CHECK_EQ_STR(format, "request-log");
    const char *bench = "{\"model_id\": 1, \"num_prompts\": 1, \"total_input_tokens\": 1}";
    CHECK_EQ_INT(engine_log_guess(trace_source_file("d", bench), &format, &diag), 0);
    CHECK_EQ_STR(format, "vllm-bench");
    CHECK_EQ_INT(engine_log_guess(trace_source_file("c", "\n"), &format, &diag), SIM_E_DATA);
    CHECK_EQ_INT(engine_log_guess("/no/such/file", &format, &diag), SIM_E_IO);
    CHECK(engine_log_is("vllm-log") && !engine_log_is("csv"));
}

/* --- Results of benchmarks --- */

static void bench_read(struct read_log *read, const char *json)
{
    log_read(read, "vllm-bench", test_json("%s", json));
}

#define LENS "'input_lens': [10, 20, 5, 6], 'output_lens': [3, 1, 0, 2]"

/* End-to-end time is the sum of the times of a request; one without tokens failed, one without times between its tokens
 * was not streamed. */
TEST(a_benchmark_has_measured_times)
{
    struct read_log read;
    bench_read(&read,
               "{" LENS ", 'itls': [[0.25, 5e-1], [], [], []], 'ttfts': [1.5, 0.125, 0.0, 9], 'max_concurrency': 8, "
               "'start_times': [100.5, 100.25, 7.0, 101]}");
    MUST(read.code == 0);
    CHECK_EQ_INT(read.log.n, 3);
    CHECK_EQ_INT(read.log.n_untimed, 1);
    CHECK_EQ_INT(read.log.max_concurrency, 8);
    CHECK(!read.log.draws_arrivals);
    const struct log_entry *first = &read.log.entries[0], *one = &read.log.entries[1], *last = &read.log.entries[2];
    CHECK_EQ_INT(first->arrival_ns, 250000000);
    CHECK_EQ_INT(one->arrival_ns, 0);
    CHECK_EQ_INT(last->id, 3);
    CHECK_EQ_STR(last->name, "3");
    CHECK_NEAR(first->ttft_s, 1.5, 1e-12);
    CHECK_NEAR(first->tpot_s, 0.375, 1e-12);
    CHECK_NEAR(first->e2e_s, 2.25, 1e-12);
    CHECK(isnan(first->queue_s));
    CHECK_NEAR(one->e2e_s, 0.125, 1e-12);
    CHECK(isnan(one->tpot_s));
    CHECK(isnan(last->ttft_s) && isnan(last->tpot_s) && isnan(last->e2e_s));
    arena_fini(&read.arena);
}

TEST(a_benchmark_may_lack_arrivals_and_times)
{
    struct read_log read;
    bench_read(&read, "{" LENS ", 'itls': [[NaN, 1], [], [], [2]], 'ttfts': [1, null, 0, 3], 'max_concurrency': null}");
    MUST(read.code == 0);
    CHECK(read.log.draws_arrivals);
    CHECK_EQ_INT(read.log.max_concurrency, 0);
    CHECK_EQ_INT(read.log.n_untimed, 2);
    CHECK_NEAR(read.log.entries[2].e2e_s, 5, 1e-12);
    arena_fini(&read.arena);
}

TEST(wrong_benchmarks_are_findings)
{
    static const char *const wrong[][2] = {
        {"{" LENS ", 'ttfts': [1, 1, 0, 1]}", ": error: 'itls' is missing: the file has no times of single requests"},
        {"{" LENS ", 'ttfts': [1], 'itls': []}", ": error: 'input_lens' has 4 entries, 'ttfts' has 1"},
        {"{" LENS ", 'ttfts': [-1]}",
         ":1:71: error: 'ttfts' must be a number of seconds from 0, within 146 years, got '-1'"},
        {"{" LENS ", 'itls': [['a']]}", ":1:71: error: expected a number"},
        {"{'input_lens': [1], 'output_lens': [0], 'ttfts': [0], 'itls': [[]]}", ": error: no request was served"},
        {"{'input_lens': [1], 'output_lens': [1], 'ttfts': [1], 'itls': [[]]} {}",
         ": error: the file has several benchmarks; copy one of them"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_bad("vllm-bench", test_json("%s", wrong[i][0]), wrong[i][1]);
}

/* As a trace it gives arrivals and lengths, sorted, and no times. */
TEST(logs_are_traces)
{
    const char *path = trace_source_file("log", LINE("b", "101.5", "101.5", "101.75", "102.5", "104.5")
                                                    LINE("a", "100.25", "100.5", "100.75", "101", "103"));
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    trace_source_requests(&trace, 1, "{'format': 'vllm-log', 'path': '%s'}", path);
    MUST(trace_source_request(&trace, &record) == 1);
    CHECK_EQ_INT(record.id, 1);
    CHECK_EQ_INT(record.arrival_ns, 0);
    CHECK_EQ_INT(record.prompt_tokens, 8);
    CHECK_EQ_INT(record.output_tokens, 5);
    MUST(trace_source_request(&trace, &record) == 1);
    CHECK_EQ_INT(record.id, 0);
    CHECK_EQ_INT(record.arrival_ns, 1250000000);
    CHECK_EQ_INT(trace_source_request(&trace, &record), 0);
}

/* Whichever allocation fails, nothing is left behind. */
static void check_memory(const char *format, const char *text)
{
    const char *path = trace_source_file("log", text);
    const long live = mem_live_blocks();
    int code = SIM_E_NOMEM;
    for (long n = 0; code == SIM_E_NOMEM && n < 100; n++) {
        {
            struct engine_log log;
            SCOPED(arena) arena = {0};
            struct diag diag = {0};
            mem_fail_after(n);
            code = engine_log_read(path, format, 0, &arena, &log, &diag);
            mem_fail_never();
        }
        CHECK_EQ_INT(mem_live_blocks(), live);
    }
    CHECK_EQ_INT(code, 0);
}

TEST(memory_runs_out)
{
    check_memory("vllm-log", LINE("a", "1", "2", "3", "4", "5") LINE("b", "1", "2", "3", "4", "5"));
    check_memory("vllm-bench",
                 "{\"model_id\": \"m\", \"num_prompts\": 1, \"total_input_tokens\": 9, \"input_lens\": [9],"
                 " \"output_lens\": [2], \"start_times\": [0.5], \"ttfts\": [0.1], \"itls\": [[0.1]]}");
}
