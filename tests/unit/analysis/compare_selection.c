/* What a selection of runs means: members of their scenarios, in full or by their end, and policies in force. And
 * what selected replicates of a trace cannot decide. */
#include "tests/support/compare_fixture.h"
#include "tests/support/harness.h"

static int compare_study(const char *path, const char *base, const char *changed, struct comparison *comparison,
                         struct diag *diag)
{
    diag_init(diag);
    return compare_groups(path, base, path, changed, &compare_defaults, comparison, diag);
}

TEST(selections_reach_into_the_scenario)
{
    static const char random[] =
        "{\"services\": {\"chat\": {\"routing\": {\"policy\": \"random\"}, \"on\": true, \"n\": 3}}}";
    static const char jsq[] =
        "{\"services\": {\"chat\": {\"routing\": {\"policy\": \"jsq\"}, \"on\": false, \"n\": 4}}}";
    const char *path = compare_path();
    const struct made_run runs[] = {{.scenario = random, .metric = 2, .name = "a"}, {.scenario = jsq, .metric = 1}};
    static const char *const ways[][2] = {{"services.chat.routing=random", "services.chat.routing=jsq"},
                                          {"services.chat.routing.policy=random", "services.chat.on=false"},
                                          {"services.chat.n=3", "services.chat.n=4"},
                                          {"routing=random", "chat.routing.policy=jsq"},
                                          {"n=3", "on=false"},
                                          {"name=a", "name=chat"}};
    MUST(compare_make(path, runs, 2));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        SCOPED(comparison) comparison = {0};
        struct diag diag;
        CHECK_EQ_INT(compare_study(path, ways[i][0], ways[i][1], &comparison, &diag), 0);
        CHECK(comparison.n_rows > 0 && comparison.rows[0].base == 2 && comparison.rows[0].changed == 1);
    }
}

/* Two services with a routing each, one of them with a name that needs quotes; numbers that only look alike. */
TEST(short_keys_mean_one_thing)
{
    static const char scenario[] =
        "{\"services\": {\"gpt-4\": {\"routing\": \"jsq\", \"n\": 3, \"x\": [{\"n\": 5}]}, "
        "\"b\": {\"routing\": \"jsq\"}}, \"until\": \"1s\", \"limit\": 7, \"c\": {\"until\": 2}}";
    static const struct {
        const char *selection, *text;
    } cases[] = {{"gpt-4.routing=jsq", NULL}, {"n=3", NULL}, {"n=3.0", NULL}, {"until=1s", NULL}, {"limit=7", NULL},
                 {"routing=jsq", "'routing' may be services.gpt-4.routing or services.b.routing"},
                 {"n=5", "no run has n=5"}, {"n=nan", "no run has n=nan"}, {"outing=jsq", "no run has outing=jsq"}};
    const char *path = compare_path();
    const struct made_run runs[] = {{.scenario = scenario, .metric = 1}};
    MUST(compare_make(path, runs, 1));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(comparison) comparison = {0};
        struct diag diag;
        const int code = compare_study(path, cases[i].selection, "run=1", &comparison, &diag);
        CHECK_EQ_INT(code, cases[i].text == NULL ? 0 : SIM_E_USAGE);
        if (cases[i].text != NULL && CHECK(diag.n_items > 0)) CHECK(strstr(diag.items[0].text, cases[i].text) != NULL);
    }
}

/* An object on an axis goes by what tables show, or by its JSON in any spelling; a value that no run has gets a list
 * of those that there are. */
TEST(objects_are_chosen_as_tables_show_them)
{
    static const struct {
        const char *selection, *hint;
    } cases[] = {{"routing=lor seed=2", NULL}, {"routing={\"policy\": \"lor\",  \"seed\":2}", NULL},
                 {"routing=lor", NULL}, {"routing=lor seed=3", "routing is jsq, lor or lor seed=2"},
                 {"routing=lar", "routing is jsq, lor or lor seed=2"}};
    const char *path = compare_path();
    const struct made_run runs[] = {{.routing = "jsq", .metric = 1},
                                    {.routing = "{\"policy\":\"lor\"}", .metric = 2},
                                    {.routing = "{\"policy\": \"lor\", \"seed\": 2}", .metric = 3}};
    MUST(compare_make(path, runs, 3));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(comparison) comparison = {0};
        struct diag diag;
        const int code = compare_study(path, "routing=jsq", cases[i].selection, &comparison, &diag);
        CHECK_EQ_INT(code, cases[i].hint == NULL ? 0 : SIM_E_USAGE);
        if (cases[i].hint != NULL && CHECK(diag.n_items > 0)) CHECK(strstr(diag.items[0].hint, cases[i].hint) != NULL);
    }
}

/* The fixture has run under "batching=vllm-v0 routing=jsq". */
TEST(policies_are_chosen_by_their_whole_name)
{
    static const char *const found[] = {"jsq", "vllm-v0", "routing=jsq"}, *const missing[] = {"js", "sq", "vllm", "v0", "batching", "ing=jsq"};
    const char *path = compare_path();
    const struct made_run runs[] = {{.metric = 1}};
    char selection[100];
    MUST(compare_make(path, runs, 1));
    for (size_t i = 0; i < sizeof found / sizeof *found + sizeof missing / sizeof *missing; i++) {
        const bool is_found = i < sizeof found / sizeof *found;
        SCOPED(comparison) comparison = {0};
        struct diag diag;
        snprintf(selection, sizeof selection, "policies=%s",
                 is_found ? found[i] : missing[i - sizeof found / sizeof *found]);
        CHECK_EQ_INT(compare_study(path, selection, "run=1", &comparison, &diag), is_found ? 0 : SIM_E_USAGE);
    }
}

/* Percentiles of 40 replicates give no p-value below 2 / 41. So two tests cannot have a verdict, one can. */
TEST(few_replicates_allow_no_verdict)
{
    enum { REPLICATES = 40 };
    static const char *const only[] = {"ttft_s", NULL};
    const char *path = compare_path();
    struct made_run runs[2 * REPLICATES];
    for (int i = 0; i < 2 * REPLICATES; i++)
        runs[i] = (struct made_run){.seed = i / 2,
                                    .scenario = "{\"jobs\":{\"replicate\":{\"method\":\"block-bootstrap\"}}}",
                                    .routing = i % 2 ? "jsq" : "random",
                                    .metric = 10 + (i % 2 ? 1 + i / 100.0 : 0)};
    MUST(compare_make(path, runs, 2 * REPLICATES));
    for (int alone = 0; alone < 2; alone++) {
        SCOPED(comparison) comparison = {0};
        struct diag diag = {0};
        struct compare_options options = compare_defaults;
        options.only = alone ? only : NULL;
        CHECK_EQ_INT(compare_groups(path, "routing=random", path, "routing=jsq", &options, &comparison, &diag), 0);
        const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
        MUST(row != NULL);
        CHECK(row->method == COMPARE_REPLICATES && row->delta.low > 0);
        CHECK(row->verdict == (alone ? COMPARE_WORSE : COMPARE_UNCLEAR));
        if (!alone) CHECK_EQ_STR(row->note, "no verdict possible at n=40 with 2 tests");
        CHECK(compare_says(&comparison, "take 80 replicates") == !alone);
        CHECK(compare_says(&comparison, "chosen from this table, a metric proves nothing") == !alone);
    }
}

/* Where one seed differs, the seed has an effect: equal results under the others are values like it. */
TEST(equal_results_of_a_seed_with_effect_all_count)
{
    const char *path = compare_path();
    enum { N_SEEDS = 5 };
    struct made_run runs[2 * N_SEEDS];
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    for (int i = 0; i < 2 * N_SEEDS; i++)
        runs[i] = (struct made_run){.seed = i / 2, .routing = i % 2 ? "jsq" : "random",
                                    .metric = i == 2 * N_SEEDS - 1 ? 2 + N_SEEDS : 1 + i % 2};
    MUST(compare_make(path, runs, 2 * N_SEEDS));
    CHECK_EQ_INT(compare_study(path, "routing=random", "routing=jsq", &comparison, &diag), 0);
    const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
    CHECK(row->n == N_SEEDS);
    CHECK_NEAR(row->delta.mean, 2, 1e-12);
    CHECK(!compare_says(&comparison, "counted once"));
}
