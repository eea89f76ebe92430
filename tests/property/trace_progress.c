/* How much of a trace has been given: 0 before its first record, 1 behind the last, and never less than before. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#include "sim/core/text.h"

#define LENGTHS                                                                                                        \
    "'prompt': {'distribution': 'fixed', 'tokens': 9}, 'output': {'distribution': 'fixed', 'tokens': 2}"
#define REQUESTS(end) "'format': 'generate', " end ", 'arrival': {'process': 'poisson', 'rate': '1/s'}, " LENGTHS

/* Where the number of records is known from the start, the share is theirs. */
static void check_progress(struct trace_source *trace, bool are_jobs, bool counts)
{
    struct source_place places[512];
    struct request_record request;
    struct job_record job;
    size_t n = 0;
    for (int code = 1; code == 1 && n < 512; n++) {
        places[n] = are_jobs ? trace->jobs->place(trace->jobs) : trace->requests->place(trace->requests);
        code = are_jobs ? trace_source_job(trace, &job) : trace_source_request(trace, &request);
        CHECK(code >= 0);
    }
    MUST(n > 10 && n < 512);
    CHECK_NEAR(places[0].done_frac, 0.0, 0.0);
    CHECK_EQ_INT(places[0].row, 0);
    CHECK_NEAR(places[n - 1].done_frac, 1.0, counts ? 0.0 : 0.2);
    for (size_t i = 1; i < n; i++) {
        CHECK(places[i].done_frac >= places[i - 1].done_frac && places[i].done_frac <= 1.0);
        CHECK_EQ_INT(places[i].row, (int64_t)i);
        if (counts) CHECK_NEAR(places[i].done_frac, (double)i / (double)(n - 1), 1e-12);
    }
}

TEST(progress_of_requests_rises_from_0_to_1)
{
    static const struct {
        const char *trace;
        bool counts;
    } traces[] = {{REQUESTS("'count': 50"), true},
                  {REQUESTS("'duration': '60s'"), false},
                  {REQUESTS("'count': 50") ", 'upscale': {'factor': 2.5}", true},
                  {REQUESTS("'count': 50") ", 'window': ['5s', '30s'], 'upscale': {'factor': 4}", true},
                  {REQUESTS("'count': 90") ", 'replicate': {'method': 'block-bootstrap', 'length': '3s'}", false}};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        SCOPED(trace_source) trace = {0};
        if (!CHECK_EQ_INT(trace_source_requests(&trace, 3, "{%s}", traces[i].trace), 0))
            puts(trace.message);
        else
            check_progress(&trace, false, traces[i].counts);
    }
}

TEST(progress_of_jobs_rises_from_0_to_1)
{
    SCOPED(text) jobs;
    SCOPED(trace_source) trace = {0};
    text_init(&jobs);
    for (int i = 0; i < 20; i++) text_printf(&jobs, "%s{'submit': '%ds', 'duration': '9s'}", i > 0 ? ", " : "", i);
    MUST(trace_source_jobs(&trace, 1, "{'format': 'inline-jobs', 'jobs': [%s]}", jobs.chars) == 0);
    check_progress(&trace, true, true);
}
