/* Prompts of a trace that begin like earlier ones, without a cache that keeps them: the run says how many. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_TOKENS = 512 };

/* Serves prompts whose blocks are `ids` ("[1, 2]"), each of so many tokens. */
static struct bed_rows *serve(const char *const *ids, size_t n, const int *prompt_tokens, const char *kv)
{
    char text[2048] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "{\"timestamp\": %zu, \"input_length\": %d, \"output_length\": 5, \"hash_ids\": %s}\n", 100 * i,
                 prompt_tokens[i], ids[i]);
    return bed_ok(BED(.quiet = true, .check = true),
                  "{'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'llama-3-8b', 'kv': {%s}, 'trace': "
                  "{'format': 'mooncake', 'path': '%s'}}}}",
                  kv, trace_source_file("m.jsonl", text));
}

static double told_percent(const struct bed_rows *rows)
{
    double percent;
    const char *text = bed_warning(rows, "no-prefix-cache");
    if (text == NULL) return -1;
    CHECK_EQ_INT(sscanf(text, "service 's': %lf %% of the prompt tokens repeat", &percent), 1);
    return percent;
}

/* Only leading full blocks that an earlier prompt had count, against all tokens of all prompts. */
TEST(repeated_beginnings_are_told)
{
    static const struct {
        const char *ids[3];
        int tokens[3], n_repeated;
    } cases[] = {
        {{"[1, 2]", "[1, 2]", "[1, 2]"}, {1024, 1024, 1024}, 4}, /* all of the second and the third */
        {{"[1, 2]", "[1, 3]", "[1, 3]"}, {1024, 1024, 1024}, 3},
        {{"[1, 2]", "[4, 2]", "[5, 6]"}, {1024, 1024, 1024}, 0},   /* not where another block stands before */
        {{"[1, 2]", "[1, 2]", "[5, 6]"}, {1024, 1023, 1024}, 1},   /* not a block that is not full */
        {{"[1]", "[1]", "[7]"}, {512, 512, 8 * 1024}, 1},          /* 5.6 % */
        {{"[1]", "[1]", "[7]"}, {512, 512, 10 * 1024}, 0},         /* 4.5 % */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = serve(cases[i].ids, 3, cases[i].tokens, "");
        const double all = cases[i].tokens[0] + cases[i].tokens[1] + cases[i].tokens[2];
        const double expected = cases[i].n_repeated > 0 ? 100.0 * BLOCK_TOKENS * cases[i].n_repeated / all : -1;
        CHECK_NEAR(told_percent(rows), expected, 0.005 * fabs(expected));
        bed_free(rows);
    }
}

/* A cache keeps what repeats: then its own metrics tell. */
TEST(with_a_cache_nothing_is_told)
{
    static const char *const ids[] = {"[1, 2]", "[1, 2]"};
    static const int tokens[] = {1024, 1024};
    struct bed_rows *rows = serve(ids, 2, tokens, "'prefix_cache': 'lru'");
    CHECK(told_percent(rows) < 0);
    CHECK(bed_metric(rows, "prefix.hit_frac") > 0);
    bed_free(rows);
}

static struct bed_rows *serve_generated(const char *trace)
{
    return bed_ok(BED(.quiet = true, .check = true, .no_rows = true),
                  "{'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'llama-3-8b', 'trace': {%s}}}}",
                  trace);
}

/* What turns of sessions repeat is told by the report, from their own metrics. Generated requests that only begin
 * alike have no such metrics. */
TEST(turns_of_sessions_are_left_to_the_report)
{
    struct bed_rows *rows = serve_generated(
        "'format': 'generate-sessions', 'count': 5, 'arrival': {'process': 'fixed', 'rate': '5/s'}, "
        "'classes': {'a': {'shape': 'agent', 'max_turns': 5, 'max_context': 1500, 'system_tokens': 50}}");
    CHECK(told_percent(rows) < 0);
    CHECK(bed_metric(rows, "session.recomputed_tokens.sum") > 0);
    bed_free(rows);
    rows = serve_generated("'format': 'generate', 'count': 40, 'sessions': {'continue': 0.7, 'block_tokens': 64}");
    CHECK(told_percent(rows) > 0);
    CHECK(isnan(bed_metric(rows, "session.recomputed_tokens.sum")));
    bed_free(rows);
}
