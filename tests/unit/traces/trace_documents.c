/* Traces that are JSON documents: results of serving benchmarks, conversations, and the reader below them. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/formats/json_stream.h"
#include "traces/registry.h"

/* Requests as "time:prompt/output " in seconds, then the first finding without its hint. `more` is further JSON of the
 * trace section. */
static const char *requests_of(const char *format, const char *more, const char *document)
{
    static char result[1024];
    char text[4096];
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    size_t length = 0;
    result[0] = 0;
    snprintf(text, sizeof text, "%s", document);
    test_quotes(text);
    trace_source_requests(&trace, 1, "{'format': '%s', 'path': '%s'%s}", format, trace_source_file("d.json", text),
                          more);
    while (trace.code == 0 && trace_source_request(&trace, &r) == 1)
        length += (size_t)snprintf(result + length, sizeof result - length, "%lld@%g:%d/%d ", (long long)r.id,
                                   sim_s_from_ns(r.arrival_ns), r.prompt_tokens, r.output_tokens);
    const char *finding = strstr(trace.message, "error: ");
    if (finding != NULL) snprintf(result + length, sizeof result - length, "%.*s", (int)strcspn(finding, ";"), finding);
    return result;
}

#define EVERY_SECOND ", 'arrival': {'process': 'fixed', 'rate': '1/s'}"
#define LENS "'input_lens': [10, 20, 5], 'output_lens': [5, 7, 0]"

/* --- Benchmarks --- */

TEST(a_benchmark_has_its_start_times)
{
    const char *const times = "{" LENS ", 'ttfts': [0.1, NaN, 0.0], 'itls': [[0.01], [], []], "
                              "'start_times': [1000.5, 1000.25, 0.0], 'generated_texts': ['a \\u00e9 }]', '', '']}";
    CHECK_EQ_STR(requests_of("vllm-bench", "", times), "1@0:20/7 0@0.25:10/5 ");
    CHECK_EQ_STR(requests_of("vllm-bench", ", 'rate_scale': 0.5", times), "1@0:20/7 0@0.5:10/5 ");
    CHECK_EQ_STR(requests_of("vllm-bench", EVERY_SECOND, times), "0@0:10/5 1@1:20/7 ");
    SCOPED(trace_source) trace = {0};
    const char *path = trace_source_file("d.json", test_json("%s", times));
    MUST(trace_source_requests(&trace, 1, "{'format': 'vllm-bench', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_totals(&trace).n, 2);
    CHECK_EQ_INT(trace_source_note(&trace, "no-output"), 1);
}

TEST(a_benchmark_without_times_needs_a_process)
{
    CHECK_EQ_STR(requests_of("sglang-bench", EVERY_SECOND, "{" LENS "}"), "0@0:10/5 1@1:20/7 ");
    CHECK_EQ_STR(requests_of("sglang-bench", "", "{" LENS ", 'request_rate': 4}"),
                 "error: 'start_times' is missing: the file does not say when requests were sent");
    const char *const rates[][2] = {{"4.0", "its request_rate was 4.0: set \"arrival\": {\"process\": \"poisson\", "
                                            "\"rate\": \"4.0/s\"}"},
                                    {"'inf'", "(request_rate inf)"},
                                    {"Infinity", "(request_rate inf)"},
                                    {"'trace'", "name an arrival process"}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        SCOPED(trace_source) trace = {0};
        struct request_record r;
        const char *path = trace_source_file("d.json", test_json("{'request_rate': %s, " LENS "}", rates[i][0]));
        MUST(trace_source_requests(&trace, 1, "{'format': 'vllm-bench', 'path': '%s'}", path) == 0);
        CHECK_EQ_INT(trace_source_request(&trace, &r), SIM_E_DATA);
        CHECK(strstr(trace.message, rates[i][1]) != NULL);
    }
    CHECK(strncmp(requests_of("vllm-bench", ", 'arrival': {'process': 'poisson', 'rate': '4.0/s'}",
                              "{'input_lens': [3], 'output_lens': [2]}"),
                  "0@", 2) == 0);
}

TEST(one_of_several_benchmarks_is_chosen)
{
    const char *const two = "{'input_lens': [1], 'output_lens': [2], 'start_times': [5]}\n"
                            "{'input_lens': [3], 'output_lens': [4], 'start_times': [5]}\n";
    CHECK_EQ_STR(requests_of("sglang-bench", "", two), "error: the file has several benchmarks");
    CHECK_EQ_STR(requests_of("sglang-bench", ", 'benchmark': 1", two), "0@0:1/2 ");
    CHECK_EQ_STR(requests_of("sglang-bench", ", 'benchmark': 2", two), "0@0:3/4 ");
    CHECK_EQ_STR(requests_of("sglang-bench", ", 'benchmark': 3", two), "error: the file has 2 benchmarks, not 3");
}

TEST(wrong_benchmarks_say_what_is_wrong)
{
    CHECK_EQ_STR(requests_of("vllm-bench", "", "{'input_lens': [1]}"),
                 "error: 'output_lens' is missing: the file has no lengths of single requests");
    CHECK_EQ_STR(requests_of("vllm-bench", "", "{'completed': 1}"),
                 "error: 'input_lens' is missing: the file has no lengths of single requests");
    CHECK_EQ_STR(requests_of("vllm-bench", EVERY_SECOND, "{'input_lens': [1], 'output_lens': [1, 2]}"),
                 "error: 'input_lens' has 1 entries, 'output_lens' has 2");
    CHECK_EQ_STR(requests_of("vllm-bench", "", "{" LENS ", 'start_times': [1]}"),
                 "error: 'input_lens' has 3 entries, 'start_times' has 1");
    CHECK_EQ_STR(requests_of("vllm-bench", "", "{'input_lens': [-1]}"),
                 "error: 'input_lens' must be a whole number from 0 to 2147483647, got '-1'");
    CHECK_EQ_STR(requests_of("vllm-bench", "", "{'start_times': ['a']}"), "error: expected a number");
    CHECK_EQ_STR(requests_of("vllm-bench", "", "{'start_times': [-1]}"),
                 "error: 'start_times' must be a number of seconds from 0, within 146 years, got '-1'");
    CHECK_EQ_STR(requests_of("vllm-bench", "", "{'input_lens': 3}"), "error: expected '['");
    CHECK_EQ_STR(requests_of("vllm-bench", "", ""), "error: file is empty");
    CHECK_EQ_STR(requests_of("vllm-bench", EVERY_SECOND, "{'input_lens': [], 'output_lens': []}"),
                 "error: no request can be used");
    CHECK_EQ_STR(requests_of("vllm-bench", "", "{'input_lens': [1, 2"),
                 "error: expected ',' or ']', but the file ends here");
}

/* --- Conversations --- */

#define SAYS(who, what) "{'from': '" who "', 'value': '" what "'}"

TEST(a_conversation_is_its_first_exchange)
{
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND,
                             "[{'id': 'a', 'conversations': [" SAYS("system", "1234") ", " SAYS("human", "12345") ", "
                             SAYS("gpt", "123456789") ", " SAYS("human", "more") ", " SAYS("gpt", "even more") "]},\n"
                             "{'conversations': [" SAYS("gpt", "hi") "]}, {'conversations': []},\n"
                             "{'conversations': [" SAYS("human", "hi") "], 'x': {'conversations': 3}},\n"
                             "{'conversations': [" SAYS("human", "hi") ", " SAYS("gpt", "12345") "]}]"),
                 "0@0:3/3 4@1:1/2 ");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND,
                             "{'messages': [{'content': 'hi', 'role': 'user'}, {'content': 'hi', 'role': 'assistant'}]}\n"
                             "{'messages': [{'content': 'hi', 'role': 'user'}, {'content': null, 'role': 'assistant'}, "
                             "{'content': 'x', 'role': 'assistant'}]}\n"),
                 "0@0:1/1 ");
}

TEST(lengths_are_characters_or_token_counts)
{
    const char *const text =
        "[{'conversations': [{'from': 'human', 'value': '\xC3\xA4\xF0\x9F\x98\x80\\ud83d\\ude00\\n\\u00e9', "
        "'n': 11}, {'from': 'gpt', 'value': '', 'tokens': 7}]}]";
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND ", 'chars_per_token': 1", text), "0@0:5/7 ");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND ", 'chars_per_token': 2.5", text), "0@0:2/7 ");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND ", 'chars_per_token': 0.5", text), "0@0:10/7 ");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND ", 'token_field': 'n'", text), "error: no request can be used");
}

TEST(wrong_conversations_say_what_is_wrong)
{
    CHECK_EQ_STR(requests_of("sharegpt", "", "[]"), "error: missing 'arrival' in 'trace'");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND, "[]"), "error: no request can be used");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND, "[{'id': 1}]"), "error: 'conversations' is missing");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND, "[{'conversations': [{'from': 1}]}]"),
                 "error: expected a string");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND, "[{'conversations': [{'tokens': 1.5}]}]"),
                 "error: 'tokens' must be a whole number from 0 to 2147483647, got '1.5'");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND,
                             "{'conversations': [{'from': 'h', 'tokens': 2147483647}, "
                             "{'tokens': 1}]}"),
                 "error: a conversation has more than 2147483647 tokens");
    CHECK_EQ_STR(requests_of("sharegpt", EVERY_SECOND, "[{'conversations': [" SAYS("human", "a") ", " SAYS("gpt", "b") "]} x"),
                 "0@0:1/1 error: expected ',' or ']'");
    CHECK_EQ_STR(requests_of("sharegpt", ", 'arrival': {'process': 'closed', 'users': 3}", "[]"),
                 "error: lengths of a file cannot follow a closed loop");
}

/* --- The reader of documents --- */

/* The finding of skipping the text, without its hint; "" if it is one JSON value. */
static const char *skipped(const char *text)
{
    static char result[1024];
    struct diag diag = {0};
    struct input *input;
    struct json_stream stream;
    if (input_open_memory("t", text, strlen(text), &input, &diag) != 0) return "no input";
    if (json_stream_open(input, "fix", &stream, &diag) != 0) return "no stream";
    json_stream_skip(&stream);
    CHECK_EQ_INT(stream.code, diag.n_items > 0 ? SIM_E_DATA : 0);
    snprintf(result, sizeof result, "%s%s%s", diag.n_items > 0 ? diag.items[0].where : "", diag.n_items > 0 ? " " : "",
             diag.n_items > 0 ? diag.items[0].text : "");
    json_stream_close(&stream);
    return result;
}

TEST(documents_are_skipped_or_refused_with_a_place)
{
    static const char *const good[] = {"1", "-1.5e3", "\"a\\\"b\\u00e9\"", "[]", "{}", "[1, [2, {\"a\": null}], true]",
                                       "{\"a\": NaN, \"b\": -Infinity}", "\xEF\xBB\xBF[1]"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) CHECK_EQ_STR(skipped(good[i]), "");
    CHECK_EQ_STR(skipped(""), "t:1:1 expected a number, but the file ends here");
    CHECK_EQ_STR(skipped("[1,\n \"\xC3\xA4\" \"x"),
                 "t:2:8 expected the closing quote of a string, but the file ends here");
    CHECK_EQ_STR(skipped("[1,\n nul]"), "t:2:2 expected a value");
    CHECK_EQ_STR(skipped("\"\\x\""), "t:1:3 expected an escape such as \\n or \\u00e9");
    CHECK_EQ_STR(skipped("\"\\u12g4\""), "t:1:6 expected four hexadecimal digits");
    CHECK_EQ_STR(skipped("[1"), "t:1:3 expected a number, but the file ends here");
    char deep[80];
    memset(deep, '[', 70);
    deep[70] = 0;
    CHECK_EQ_STR(skipped(deep), "t:1:66 expected less nesting");
}

/* Texts far longer than the buffer are counted, not kept. */
TEST(a_string_may_be_longer_than_the_buffer)
{
    enum { N = 300000 };
    char *text = malloc(N + 3);
    struct diag diag = {0};
    struct input *input;
    struct json_stream stream;
    MUST(text != NULL);
    memset(text, 'a', N + 2);
    text[0] = text[N + 1] = '"';
    MUST(input_open_memory("t", text, N + 2, &input, &diag) == 0);
    MUST(json_stream_open(input, "fix", &stream, &diag) == 0);
    CHECK(json_stream_string(&stream));
    CHECK_EQ_INT(stream.n_chars, N);
    CHECK_EQ_INT(strlen(stream.text), JSON_STREAM_TEXT_CHARS - 1);
    CHECK_EQ_INT(json_stream_peek(&stream), 0);
    json_stream_close(&stream);
    free(text);
}
