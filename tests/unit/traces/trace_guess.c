/* Formats that are guessed: each from what its files begin with, and none where two or none fit. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/guess.h"
#include "traces/registry.h"

/* The name of the format, or the finding. */
static const char *guessed(const char *text, enum trace_kinds kinds)
{
    static char result[1024];
    const struct trace_format *format;
    struct diag diag = {0};
    if (trace_guess(trace_source_file("f", text), kinds, "name it", &format, &diag) == 0) return format->name;
    snprintf(result, sizeof result, "%s; %s", diag.items[0].text, diag.items[0].hint);
    return result;
}

/* A file with what the format says its files begin with, written as a table or as JSON. */
static const char *file_of(const struct trace_format *format)
{
    static char text[1024];
    const char *word = format->header != NULL ? format->header : format->members;
    size_t length = (size_t)snprintf(text, sizeof text,
                                     format->header != NULL ? "# note\nmore;" : "{\"more\": [{}, 1]");
    while (*word != 0) {
        const int n = (int)strcspn(word, ",");
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   format->header != NULL ? "%.*s;" : ",\"%.*s\":0", n, word);
        word += n + (word[n] == ',');
    }
    snprintf(text + length, sizeof text - length, format->header != NULL ? "last\n" : "}\n");
    return text;
}

TEST(a_format_is_known_by_what_it_asks_for)
{
    int n = 0;
    for (size_t i = 0; i < trace_format_count(); i++) {
        const struct trace_format *format = trace_format_at(i);
        CHECK((format->header != NULL) + (format->members != NULL) + (format->first_row != NULL) <= 1);
        if (format->header == NULL && format->members == NULL) continue;
        CHECK_EQ_STR(guessed(file_of(format), TRACE_BOTH), format->name);
        n++;
    }
    CHECK(n >= 12);
}

TEST(files_without_header_are_known_by_their_first_row)
{
    CHECK_EQ_STR(guessed("job,worker,2,Terminated,100.5,160.5,600,29.3,50,T4\n", TRACE_BOTH), "pai");
    CHECK_EQ_STR(guessed("job,worker,2,Waiting,,,600,29.3,,\r\n", TRACE_JOBS), "pai");
    CHECK_EQ_STR(guessed("; Version: 2\n;\n 1 0 -1 60 4 -1 -1 4 60 -1 1 7 -1 -1 1 -1 -1 -1\n", TRACE_BOTH), "swf");
    CHECK_EQ_STR(guessed("1 0 -1 60 4 -1 -1 4 60 -1 1 7 -1 -1 1 -1 -1\n", TRACE_BOTH),
                 "no format fits: the first row is '1 0 -1 60 4 -1 -1 4 60 -1 1 7 -1 -1 1 -1 -1'; name it");
}

TEST(a_guess_is_refused_when_none_or_several_fit)
{
    CHECK_EQ_STR(guessed("when,in,out\n", TRACE_BOTH), "no format fits: the first row is 'when,in,out'; name it");
    CHECK_EQ_STR(guessed("{\"a\": 1, \"b\": {\"timestamp\": 2}}", TRACE_BOTH),
                 "no format fits: the first object has the keys 'a,b'; name it");
    CHECK_EQ_STR(guessed("arrival_s,prompt_tokens,output_tokens,num_prefill_tokens,num_decode_tokens\n", TRACE_BOTH),
                 "several formats fit: lengths, csv; name it");
    CHECK_EQ_STR(guessed("timestamp,duration,num_gpus,num_gpu,gpu_milli\n", TRACE_JOBS),
                 "several formats fit: philly, openb; name it");
    CHECK_EQ_STR(guessed("submit_s,duration_s,gpus\n", TRACE_REQUESTS),
                 "this is a trace of jobs, format csv-jobs; expected requests; ");
    CHECK_EQ_STR(guessed("", TRACE_BOTH), "file is empty; ");
    CHECK_EQ_STR(guessed("[]", TRACE_BOTH), "no format fits: the first object has the keys ''; name it");
    CHECK_EQ_STR(guessed("[[[{", TRACE_BOTH), "no format fits: the first object has the keys ''; name it");
}

TEST(a_word_that_one_format_lacks_is_named)
{
    CHECK_EQ_STR(guessed("TIMESTAMP,ContextTokens,GeneratedToken\n", TRACE_BOTH),
                 "no format fits (azure-llm also needs 'GeneratedTokens'): the first row is "
                 "'TIMESTAMP,ContextTokens,GeneratedToken'; name it");
    CHECK_EQ_STR(guessed("TIMESTAMP,ContextTokens,GeneratedToken\n", TRACE_JOBS),
                 "no format fits: the first row is 'TIMESTAMP,ContextTokens,GeneratedToken'; name it");
    CHECK_EQ_STR(guessed("TIMESTAMP,Tokens\n", TRACE_BOTH),
                 "no format fits: the first row is 'TIMESTAMP,Tokens'; name it");
}

TEST(a_format_gives_way_to_one_that_asks_for_more)
{
    const char *head = "arrival_s,prompt_tokens,output_tokens,prefix_blocks,class\n";
    CHECK_EQ_STR(guessed(head, TRACE_BOTH), "csv");
    CHECK_EQ_STR(guessed("id,arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s\n", TRACE_BOTH), "request-log");
    CHECK_EQ_STR(guessed("arrival_s,prompt_tokens,output_tokens,submit_s,duration_s,gpus\n", TRACE_JOBS), "csv-jobs");
}

TEST(a_scenario_may_leave_the_format_out)
{
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    const char *path = trace_source_file("a.csv", "arrival_s;prompt_tokens;output_tokens\n2;9;4\n");
    MUST(trace_source_requests(&trace, 1, "{'path': '%s', 'rate_scale': 2}", path) == 0);
    CHECK_EQ_STR(trace.variant.name, "csv");
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.arrival_ns == SIM_NS_PER_S && r.prompt_tokens == 9);
    trace_source_fini(&trace);

    CHECK_EQ_INT(trace_source_jobs(&trace, 1, "{'path': '%s'}", path), SIM_E_CONFIG);
    CHECK(strstr(trace.message, "t.json:1:20: error: ") == trace.message);
    CHECK(strstr(trace.message, ": this is a trace of requests, format csv; expected jobs") != NULL);
    trace_source_fini(&trace);
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'path': '%s', 'block': 2}", path), SIM_E_CONFIG);
    CHECK(strstr(trace.message, "unknown key 'block' in 'trace'") != NULL);
    trace_source_fini(&trace);
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'rate_scale': 2}"), SIM_E_CONFIG);
    CHECK(strstr(trace.message, "missing 'format' in 'trace'; it is one of 'azure-llm', 'burstgpt', ") != NULL);
    trace_source_fini(&trace);
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'path': 'no/file.csv'}"), SIM_E_CONFIG);
    CHECK_EQ_STR(trace.message, "t.json:1:20: error: no/file.csv: cannot open: No such file or directory");
}
