/* Requests of the user's own, as tables and as JSON Lines: both say the same, and name the place of what is wrong.
 * Sessions that they name: one number each, begun by their first request in the run. */
#include "sim/world/service/session_stats.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a trace has, in one line: arrival prompt/output, blocks, chunks, class and session of each request. */
static const char *shown(const char *params, const char *file, const char *text)
{
    static char result[4096];
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    size_t length = 0;
    int code = 0;
    result[0] = 0;
    trace_source_requests(&trace, 1, "{'path': '%s'%s}", trace_source_file(file, text), params);
    while (trace.code == 0 && (code = trace_source_request(&trace, &r)) == 1 && length < sizeof result - 256) {
        length += (size_t)snprintf(result + length, sizeof result - length, "%g %d/%d", sim_s_from_ns(r.arrival_ns),
                                   r.prompt_tokens, r.output_tokens);
        for (int i = 0; i < r.n_prefix_blocks; i++)
            length += (size_t)snprintf(result + length, sizeof result - length, " b%d", (int)r.prefix_blocks[i]);
        for (int i = 0; i < r.n_chunks; i++)
            length += (size_t)snprintf(result + length, sizeof result - length, " c%d:%d", (int)r.chunks[i].id,
                                       r.chunks[i].tokens);
        length += (size_t)snprintf(result + length, sizeof result - length, " %s s%d%s; ",
                                   r.class_name != NULL ? r.class_name : "-", (int)r.session_id,
                                   r.starts_session ? "*" : "");
    }
    if (trace.code != 0 || code < 0) snprintf(result, sizeof result, "%s", strstr(trace.message, file));
    return result;
}

#define CSV_NAMES "'format': 'csv', 'columns': {'arrival': 't', 'prompt': 'p', 'output': 'o', 'session': 's'}"
#define JSON_NAMES                                                                                                     \
    "'format': 'jsonl', 'columns': {'arrival': 'at', 'prompt': 'usage.in', 'output': 'usage.more.out', 'session': 's'}"

TEST(a_table_and_json_lines_say_the_same)
{
    char csv[4096];
    snprintf(csv, sizeof csv, "%s",
             shown(", " CSV_NAMES, "a.csv",
                   "t,p,o,prefix_blocks,chunks,class,s\n2024-03-01T08:30:00Z,600,5,7 8,17:512 4:80,long chat,u 1\n"
                   "2024-03-01T08:30:01.5Z,9,2,,,,\n2024-03-01T08:30:01.5Z,700,3,7 8,,x,u 1\n"
                   "2024-03-01T08:30:02Z,9,2,,,,u2\n"));
    CHECK_EQ_STR(csv, "0 600/5 b7 b8 c17:512 c4:80 long-chat s1*; 1.5 9/2 default s0; 1.5 700/3 b7 b8 x s1; "
                      "2 9/2 default s2*; ");
    CHECK_EQ_STR(
        shown(
            ", " JSON_NAMES, "a.jsonl",
            "{\"at\": \"2024-03-01T08:30:00Z\", \"usage\": {\"in\": 600, \"x\": {\"out\": 9}, \"more\": {\"out\": 5.0}},"
            " \"prefix_blocks\": [7, 8], \"chunks\": [[17, 512], \"4:80\"], \"class\": \"long chat\", \"s\": \"u 1\"}\n"
            "\n{\"in\": 4, \"at\": \"2024-03-01T08:30:01.5Z\", \"usage\": {\"in\": 9, \"more\": {\"out\": 2}},"
            " \"prefix_blocks\": [], \"class\": null, \"text\": \"}{\\\"\"}\n"
            "{\"s\": \"u 1\", \"at\": \"2024-03-01T08:30:01.5Z\", \"usage.in\": 700, \"usage\": {\"more.out\": 3},"
            " \"prefix_blocks\": \"7 8\", \"class\": \"x\"}\n"
            "{\"s\": \"u2\", \"at\": \"2024-03-01T08:30:02Z\", \"usage\": {\"in\": 9, \"more\": {\"out\": 2}}}\n"),
        csv);
}

TEST(units_and_origins_are_those_of_tables)
{
    static const char unix_ms[] =
        "{\"t\": 1709281800000, \"p\": 9, \"o\": 2}\n{\"t\": 1709281800250, \"p\": 9, \"o\": 2}\n";
#define SHORT "'format': 'jsonl', 'columns': {'arrival': 't', 'prompt': 'p', 'output': 'o'}"
    CHECK_EQ_STR(shown(", " SHORT ", 'time_unit': 'ms'", "u.jsonl", unix_ms), "0 9/2 - s0; 0.25 9/2 - s0; ");
    CHECK(strstr(shown(", " SHORT, "u.jsonl", unix_ms), "u.jsonl:1:7: error: 't' must be a number of seconds; for a "
                                                        "Unix time in ms set time_unit to \"ms\"") != NULL);
    CHECK_EQ_STR(
        shown(", " SHORT ", 'origin': 'first'", "u.jsonl",
              "{\"t\": 5, \"p\": 9, \"o\": 2}\n{\"t\": \"7.5\", \"p\": 9, \"o\": 0}\n{\"t\": 8, \"p\": 9, \"o\": 2}\n"),
        "0 9/2 - s0; 3 9/2 - s0; ");
}

TEST(what_is_wrong_is_named_with_its_place)
{
#define LINE(more) "{\"arrival_s\": 1, \"prompt_tokens\": 9, \"output_tokens\": " more "}\n"
    static const struct {
        const char *text, *finding;
    } cases[] = {
        {"{\"arrival_s\": 1, \"prompt_tokens\": 9}\n",
         "1:1: error: 'output_tokens' is missing; expected a whole number; "
         "\"columns\" names its key, as --set columns.KEY=NAME"},
        {LINE("5") LINE("\"five\""), "2:55: error: 'output_tokens' must be a whole number, got 'five'"},
        {LINE("  null"), "1:57: error: 'output_tokens' is empty; expected a whole number"},
        {LINE("{\"n\": 5}"), "1:55: error: 'output_tokens' must be a number or a string"},
        {LINE("[5]"), "1:55: error: 'output_tokens' must be a number or a string"},
        {LINE("5, \"prompt_tokens\": 8"), "1:76: error: 'prompt_tokens' is given twice"},
        {LINE("5, \"prefix_blocks\": [7, [[8]]]"), "1:80: error: 'prefix_blocks' must be a number, a string or a list"},
        {LINE("5, \"chunks\": [[17, 512]]"), "1:68: error: 'chunks' must be chunks such as 17:512 within the prompt, "
                                             "got '17:512'"},
        {LINE("5") LINE("5, \"class\": \"a\""), "2:15: error: this object has a 'class', and the first one has none"},
        {LINE("5") "{\"arrival_s\": 0.5, \"prompt_tokens\": 9, \"output_tokens\": 5}\n",
         "2:15: error: 'arrival_s' runs backwards: 0.5 s before the latest row above"},
        {LINE("5, \"more\": [1"), "error: expected"},
        {"[1]\n", "1:1: error: expected '{'"},
        {"  [" LINE("5") "]\n", "write one object per line, without a list around them"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strstr(shown(", 'format': 'jsonl'", "w.jsonl", cases[i].text), cases[i].finding) == NULL)
            CHECK_EQ_STR(shown(", 'format': 'jsonl'", "w.jsonl", cases[i].text), cases[i].finding);
}

/* A column that the user names must be there; under its default name it may be absent. */
TEST(a_misspelt_column_of_a_table_is_an_error)
{
#define TABLE "arrival_s,prompt_tokens,output_tokens,prefix_ids\n0,600,5,7 8\n"
#define NAMED(key, name) ", 'format': 'csv', 'columns': {'" key "': '" name "'}"
#define NUMBERED(key, name)                                                                                            \
    ", 'format': 'csv', 'header': false, 'columns': {'arrival': '1', 'prompt': '2', 'output': '3', '" key "': '" name  \
    "'}"
    static const struct {
        const char *params, *text, *says;
    } cases[] = {
        {NAMED("prefix", "prefix_ids"), TABLE, "0 600/5 b7 b8 - s0; "},
        {NAMED("prefix", "prefix_blocks"), TABLE, "0 600/5 - s0; "},
        {NAMED("prefix", ""), TABLE, "0 600/5 - s0; "},
        {NAMED("prefix", "prefix_id"), TABLE,
         "m.csv:1:1: error: no column 'prefix_id' in the header; did you mean 'prefix_ids'?"},
        {NAMED("chunks", "pieces"), TABLE,
         "m.csv:1:1: error: no column 'pieces' in the header; the columns are "
         "arrival_s,prompt_tokens,output_tokens,prefix_ids"},
        {NAMED("class", "tier"), TABLE, "m.csv:1:1: error: no column 'tier' in the header"},
        {NUMBERED("prefix", "4"), "0,600,5,7 8\n1,9,2\n", "0 600/5 b7 b8 - s0; 1 9/2 - s0; "},
        {NUMBERED("prefix", "4"), "1,9,2\n1,600,5,7 8\n", "1 9/2 - s0; 1 600/5 b7 b8 - s0; "},
        {NUMBERED("prefix", "4"), "1,9,2\n1,600,5,\n", "1 9/2 - s0; 1 600/5 - s0; "},
        {NUMBERED("prefix", "4"), "1,9,2\n1,600,5\n",
         "m.csv:1:1: error: no row has more than 3 fields, but '4' is column 4; number the columns from 1"},
        {NUMBERED("prefix", "4"), "1,9\n1,600,5\n", "m.csv:2:1: error: no row has more than 3 fields"},
        {NUMBERED("prefix", "4") ", 'limit': 1", "1,9,2\n1,600,5\n", "m.csv:1:1: error: no row has more than 3 fields"},
        {NUMBERED("prefix", "4") ", 'window': ['0s', '2s']", "1,9,2\n3,600,5\n",
         "m.csv:1:1: error: no row has more than 3 fields"},
        {NUMBERED("prefix", "4") ", 'limit': 1", "1,9,2\n1,600,5,7 8\n", "1 9/2 - s0; "},
        {NUMBERED("prefix", "5"), "0,600,5,7 8\n", "m.csv:1:1: error: no row has more than 4 fields, but '5' is column 5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strstr(shown(cases[i].params, "m.csv", cases[i].text), cases[i].says) == NULL)
            CHECK_EQ_STR(shown(cases[i].params, "m.csv", cases[i].text), cases[i].says);
    SCOPED(trace_source) trace = {0};
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'path': '%s'" NUMBERED("prefix", "ids") "}",
                                       trace_source_file("m.csv", "0,600,5\n")),
                 SIM_E_CONFIG);
    CHECK(strstr(trace.message, "without a header, columns are numbers, got 'ids'") != NULL);
}

/* A key that the user names and objects lack is counted. */
TEST(objects_without_a_named_key_are_counted)
{
    SCOPED(trace_source) trace = {0};
    MUST(trace_source_requests(&trace, 1, "{'format': 'jsonl', 'path': '%s', 'columns': {'class': 'tier'}}",
                               trace_source_file("k.jsonl", LINE("5") LINE("5, \"tier\": \"a\"") LINE("5"))) == 0);
    CHECK_EQ_INT(trace_source_totals(&trace).n, 3);
    CHECK_EQ_INT(trace_source_note(&trace, "no-key"), 2);
    static const char *const keys[] = {"prefix", "chunks"}; /* the default names may be absent */
    for (int i = 0; i < 4; i++) {
        SCOPED(trace_source) lists = {0};
        MUST(trace_source_requests(&lists, 1, "{'format': 'jsonl', 'path': '%s', 'columns': {'%s': '%s%s'}}",
                                   trace_source_file("k.jsonl", LINE("5") LINE("5, \"mine\": \"\"")), keys[i / 2],
                                   i % 2 == 1 ? "mine" : keys[i / 2], i == 0 ? "_blocks" : "") == 0);
        CHECK_EQ_INT(trace_source_totals(&lists).n, 2);
        CHECK_EQ_INT(trace_source_note(&lists, "no-key"), i % 2);
    }
}

/* A bad row at the begin does not say whether requests have classes. */
TEST(bad_objects_do_not_settle_the_class)
{
    static const char bad[] = "{\"arrival_s\": 1, \"prompt_tokens\": 9}\n";
    char text[512];
    snprintf(text, sizeof text, "%s%s", bad, LINE("5, \"class\": \"a\"") LINE("6"));
    CHECK_EQ_STR(shown(", 'format': 'jsonl', 'allow_bad_rows': 1", "b.jsonl", text),
                 "1 9/5 a s0; 1 9/6 default s0; ");
}

/* --- Sessions --- */

enum { ROWS = 600, NAMES = 50 };

/* A log of requests whose sessions are drawn at random, in no order of time. */
static const char *drawn_log(int session_of[ROWS], int arrival_of[ROWS])
{
    static char text[ROWS * 64];
    struct rng rng = test_rng(3, "log", 0);
    size_t length = (size_t)snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens,who\n");
    for (int i = 0; i < ROWS; i++) {
        session_of[i] = (int)rng_below(&rng, NAMES); /* 0: of none */
        arrival_of[i] = (int)rng_below(&rng, 1000);
        length += (size_t)snprintf(text + length, sizeof text - length, "%d,%d,2,", arrival_of[i], i + 1);
        length += (size_t)snprintf(text + length, sizeof text - length, session_of[i] > 0 ? "user-%d\n" : "\n",
                                   session_of[i]);
    }
    return trace_source_file("log.csv", text);
}

/* The prompt of row i has i + 1 tokens. Each session of the window begins once, with its earliest request there; thin
 * keeps all its requests or none. */
TEST(a_session_begins_once_and_is_thinned_as_a_whole)
{
    int session_of[ROWS], arrival_of[ROWS], first_s[NAMES], kept[NAMES] = {0}, n_kept = 0;
    const char *path = drawn_log(session_of, arrival_of);
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    int64_t numbers[NAMES] = {0};
    for (int s = 0; s < NAMES; s++) first_s[s] = -1;
    MUST(trace_source_requests(&trace, 5,
                               "{'format': 'csv', 'path': '%s', 'sort': true, 'thin': 0.5, 'rate_scale': 2,"
                               " 'window': ['200s', '900s'], 'columns': {'session': 'who'}}",
                               path) == 0);
    while (trace_source_request(&trace, &r) == 1) {
        const int row = r.prompt_tokens - 1, s = session_of[row];
        const int at_s = (int)sim_s_from_ns(r.arrival_ns * 2) + 200;
        CHECK_EQ_INT(at_s, arrival_of[row]);
        CHECK((r.session_id > 0) == (s > 0) && r.session_is_logged == (s > 0) && !r.ends_session);
        if (s == 0) continue;
        if (numbers[s] == 0) numbers[s] = r.session_id;
        CHECK_EQ_INT(r.session_id, numbers[s]);
        CHECK(r.starts_session == (first_s[s] < 0));
        if (first_s[s] < 0) first_s[s] = at_s;
        CHECK_EQ_INT((int)sim_s_from_ns(r.session_start_ns * 2) + 200, first_s[s]);
        kept[s]++;
    }
    for (int s = 1; s < NAMES; s++) {
        int n = 0;
        for (int i = 0; i < ROWS; i++) n += session_of[i] == s && arrival_of[i] >= 200 && arrival_of[i] < 900;
        CHECK(kept[s] == 0 || kept[s] == n);
        n_kept += kept[s] > 0;
        for (int other = 1; other < s; other++) CHECK(numbers[s] == 0 || numbers[s] != numbers[other]);
    }
    CHECK(n_kept > 10 && n_kept < NAMES - 10);
}

/* Sessions of a log are what affinity goes by. Only their number and that of their requests are known. */
TEST(affinity_keeps_sessions_of_a_log_at_one_replica)
{
    int session_of[ROWS], arrival_of[ROWS], replica_of[NAMES], n_of_sessions = 0, n_apart[2] = {0};
    const char *path = drawn_log(session_of, arrival_of);
    for (int named = 0; named < 2; named++) {
        const struct bed_rows *rows = bed_ok(
            NULL,
            "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8}, 'services': {'chat': {'llm': 'llama-3.1-8b',"
            " 'replicas': 4, 'cost': 'roofline', 'routing': {'policy': 'session-affinity', 'bound': 1e9},"
            " 'trace': {'format': 'csv', 'path': '%s', 'sort': true%s}}}}",
            path, named ? ", 'columns': {'session': 'who'}" : "");
        for (int s = 0; s < NAMES; s++) replica_of[s] = -1;
        for (size_t i = 0; i < rows->n_requests; i++) {
            const struct request_row *row = &rows->requests[i];
            const int s = session_of[row->prompt_tokens - 1];
            if (s == 0) continue;
            n_of_sessions += named;
            if (replica_of[s] < 0) replica_of[s] = (int)row->replica;
            n_apart[named] += replica_of[s] != (int)row->replica;
        }
        CHECK(isnan(bed_metric(rows, "session.begun")) == !named);
        CHECK(isnan(bed_metric(rows, "session.finished")) && isnan(bed_metric(rows, "session.hit_tokens.sum")));
        if (!named) continue;
        CHECK_EQ_INT((int)bed_metric(rows, "session.begun"), NAMES - 1);
        CHECK_EQ_INT((int)bed_metric(rows, "session.turns.sum"), n_of_sessions);
    }
    CHECK_EQ_INT(n_apart[1], 0);
    CHECK(n_apart[0] > 0);
}

/* A log beside simulated sessions: it adds to the sessions and turns, and to nothing else. */
TEST(sessions_of_a_log_hide_no_others)
{
    static const struct request logged = {.prompt_tokens = 9, .session = {.is_logged = true, .starts = true}};
    static const struct request simulated = {.prompt_tokens = 5, .session = {.starts = true, .ends = true}};
    struct session_stats stats;
    MUST(session_stats_init(&stats) == 0);
    session_stats_add_arrival(&stats, &logged);
    CHECK_EQ_INT(session_stats_add_finished(&stats, &logged, 0, 1), 0);
    CHECK(!stats.is_simulated && stats.begun == 1 && stats.turns == 1 && stats.prompt_tokens == 0);
    session_stats_add_arrival(&stats, &simulated);
    CHECK_EQ_INT(session_stats_add_finished(&stats, &simulated, 0, 1), 0);
    CHECK(stats.is_simulated && stats.begun == 2 && stats.turns == 2);
    CHECK(stats.prompt_tokens == 5 && stats.finished == 1);
    session_stats_fini(&stats);
}

/* What does not follow from a log is refused; what another format cannot say is warned of. */
TEST(copies_and_batches_of_sessions_of_a_log_are_refused)
{
    static const char *const refused[] = {"'upscale': {'factor': 2}", "'offline': 'shuffled'",
                                          "'replicate': {'method': 'block-bootstrap', 'length': '1h'}"};
    const char *path = trace_source_file("s.jsonl", LINE("5, \"who\": 7") LINE("5, \"who\": 7"));
    SCOPED(trace_source) trace = {0};
    int64_t n;
    char to[512];
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CHECK_EQ_INT(trace_source_requests(&trace, 1,
                                           "{'format': 'jsonl', 'path': '%s', %s, 'columns': {'session': 'who'}}", path,
                                           refused[i]),
                     SIM_E_CONFIG);
        if (strstr(trace.message, "sessions of a log do not support replicate, upscale and offline") == NULL)
            CHECK_EQ_STR(trace.message, refused[i]);
        trace_source_fini(&trace);
    }
    snprintf(to, sizeof to, "%s/out.csv", test_tmpdir());
    MUST(trace_source_requests(&trace, 1, "{'format': 'jsonl', 'path': '%s', 'columns': {'session': 'who'}}", path) ==
         0);
    CHECK_EQ_INT(trace_convert_requests(trace.requests, trace_writer_find("csv"), to, &n, &trace.diag), 0);
    CHECK(trace.diag.n_warnings == 1 && strstr(trace.diag.items[0].text, "sessions of its requests") != NULL);
    trace_source_fini(&trace);
    MUST(trace_source_requests(&trace, 1, "{'format': 'jsonl', 'path': '%s', 'columns': {'session': 'who'}}", path) ==
         0);
    CHECK_EQ_INT(trace_convert_requests(trace.requests, trace_writer_find("jsonl"), to, &n, &trace.diag), 0);
    CHECK(trace.diag.n_warnings == 1 && strstr(trace.diag.items[0].hint, "columns.session=session") != NULL);
}
