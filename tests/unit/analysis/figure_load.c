/* Figures as they are read: what is wrong with one is told with its place. */
#include "tests/support/figure_fixture.h"
#include "tests/support/harness.h"

#define LEVEL(rest) "{'says': 's', 'tag': 'src', " rest ", 'test': {'kind': 'level', 'of': {'series': 'up', 'x': 2}}}"

/* Loads, and checks the first finding, that of the wrong line. `place`: without the folder. */
static void expect(const char *json, const char *place, const char *text)
{
    SCOPED(arena) arena = {0};
    struct figure figure;
    struct diag diag = {0};
    char line[DIAG_LINE_CHARS];
    CHECK_EQ_INT(figure_load("fig.json", figure_file(json), NULL, &arena, &figure, &diag), SIM_E_CONFIG);
    if (CHECK(diag.n_items > 0)) {
        diag_format(&diag.items[0], line, sizeof line);
        const char *file = strstr(line, "fig.json");
        if (!CHECK(file != NULL && strncmp(file, place, strlen(place)) == 0 && strstr(line, text) != NULL))
            printf("  got: %s\n", line);
    }
}

static void expect_claim(const char *claim, const char *text)
{
    expect(figure_json(claim, ""), "fig.json:14:", text);
}

/* The figure with `old` replaced by `new`, once. */
static const char *changed(const char *old, const char *new)
{
    static char json[8192];
    const char *whole = figure_json(LEVEL("'value': 4, 'tolerance': 0.1"), "");
    const char *at = strstr(whole, old);
    if (!CHECK(at != NULL)) return whole;
    snprintf(json, sizeof json, "%.*s%s%s", (int)(at - whole), whole, new, at + strlen(old));
    return json;
}

TEST(right_figures_are_read)
{
    SCOPED(figure_case) test;
    MUST(figure_case_init(&test, figure_json(LEVEL("'value': 4, 'tolerance': 0.1"), "")) == 0);
    CHECK_EQ_STR(test.figure.id, "test/one");
    CHECK_EQ_INT(test.figure.charts.n, 2);
    CHECK_EQ_INT(figure_series_index(&test.figure, "noisy"), 2);
    CHECK(figure_series_index(&test.figure, "none") == SIZE_MAX);
    CHECK(figure_series_at(&test.figure, 3) == NULL);
    CHECK_EQ_INT(figure_study_index(&test.figure, NULL), 0);
    const struct figure_claim *claim = FIGURE_ITEM(struct figure_claim, test.figure.claims, 0);
    CHECK_NEAR(claim->tolerance_frac, 0.1, 0);
    CHECK(figure_claim_gates(&test.figure, claim));
    CHECK(figure_claim_unjudged(&test.figure, claim) == NULL);
}

TEST(lists_must_be_present)
{
    expect(changed(" 'fitted': []", " 'notes': []"), "fig.json", "missing 'fitted'");
    expect(changed("'place': 'figure 1'", "'notes': []"), "fig.json", "missing 'place'");
    expect(changed("'title': 'A test'", "'titel': 'A test'"), "fig.json:1:", "did you mean 'title'?");
    expect(figure_json("", ""), "fig.json:14:", "claims");
}

TEST(names_must_exist)
{
    expect_claim("{'says': 's', 'value': 1, 'tolerance': 0, 'tag': 'src', 'test': {'kind': 'level', "
                 "'of': {'series': 'upp', 'x': 1}}}",
                 "no series 'upp'; did you mean 'up'?");
    expect_claim("{'says': 's', 'value': 1, 'tolerance': 0, 'tag': 'src', 'test': {'kind': 'levle', "
                 "'of': {'series': 'up', 'x': 1}}}",
                 "did you mean 'level'?");
    expect(changed("'name': 'down'", "'name': 'up'"), "fig.json:9:", "there are two series 'up'");
    expect(changed("'name': 'down'", "'name': 'down', 'study': 'other'"), "fig.json:9:", "no study 'other'");
    expect(changed("'only': 'none.study.json'", "'a': 'a.json', 'b': 'b.json'"),
           "fig.json:6:", "with several studies a query must say which one it asks");
    expect(figure_json(LEVEL("'value': 4, 'tolerance': 0.1"),
                       "{'parameter': 'p', 'value': '1', 'why': 'w', 'points': [{'series': 'dwon'}]}"),
           "fig.json:15:", "no series 'dwon'; did you mean 'down'?");
    expect(figure_json(LEVEL("'value': 4, 'tolerance': 0.1"),
                       "{'parameter': 'p', 'value': '1', 'why': 'w', 'points': []}"),
           "fig.json:15:", "'p' was fitted on no points");
}

TEST(tags_name_where_a_number_was_read)
{
    CHECK(figure_tag_gates("src") && figure_tag_gates("src2:note") && figure_tag_gates("derived") &&
          figure_tag_gates("own"));
    CHECK(figure_tag_is_own("own:fp") && !figure_tag_is_own("src:own") && !figure_tag_is_own("owner"));
    CHECK(!figure_tag_gates("memory") && !figure_tag_gates("memory:mine"));
    expect(changed("'tag': 'src:here'", "'tag': 'somewhere'"),
           "fig.json:2:", "the tag 'somewhere' does not tell where it was read");
    expect(changed("'tag': 'derived'", "'tag': 'srcs'"), "fig.json:13:", "the tag 'srcs'");
    expect(changed("'paper': {'tag': 'src', ", "'paper': {"), "fig.json:7:", "do not tell where they were read");
    expect_claim("{'says': 's', 'value': 1, 'tolerance': 0, 'tag': '', 'test': {'kind': 'level', "
                 "'of': {'series': 'up', 'x': 1}}}",
                 "tag");
}

/* A claim from memory, or one stated as "up to", has no way to pass or fail. */
TEST(what_is_only_reported_has_no_tolerance)
{
    const char *reported[][2] = {
        {"'tag': 'memory'", "a claim that is from memory is only reported"},
        {"'tag': 'memory:mine'", "a claim that is from memory is only reported"},
        {"'tag': 'src', 'up_to': true", "a claim that is stated as 'up to' is only reported"},
    };
    for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
        char claim[512];
        snprintf(claim, sizeof claim,
                 "{'says': 's', 'value': 4, 'tolerance': 0.1, %s, 'test': {'kind': 'level', 'of': "
                 "{'series': 'up', 'x': 2}}}",
                 reported[i][0]);
        expect_claim(claim, reported[i][1]);
        snprintf(claim, sizeof claim,
                 "{'says': 's', 'value': 4, 'known_to_fail': 'r', %s, 'test': {'kind': 'level', 'of': "
                 "{'series': 'up', 'x': 2}}}",
                 reported[i][0]);
        expect_claim(claim, "does not fail");
    }
    expect_claim(LEVEL("'value': 4, 'tolerance': 0.1, 'low': 3"), "a range has two ends");
    expect_claim(LEVEL("'value': 4, 'tolerance': 0.1, 'low': 3, 'high': 2"), "a range has two ends");
    expect_claim(LEVEL("'value': 4, 'tolerance': 0.1, 'low': 3, 'high': 6"), "the midpoint of the range is 4.5");
    expect_claim(LEVEL("'value': 4, 'tolerance': 0.1, 'reported_because': 'r', 'known_to_fail': 'r'"),
                 "a claim that is said to be reported does not fail");
}

/* Neither may one on points that are; a query says what it rests on. */
TEST(points_from_memory_are_no_measure)
{
    const char *old = "'paper': {'tag': 'src'", *new = "'paper': {'tag': 'memory'";
    expect(changed(old, new), "fig.json:14:", "a claim that is about points that are from memory is only reported");
    static char json[8192];
    const char *claim = "{'says': 's', 'value': 4, 'tolerance': 0.1, 'tag': 'src', 'test': {'kind': "
                        "'level', 'of': {'sql': 'select 4'}}}";
    const char *whole = figure_json(claim, ""), *at = strstr(whole, old);
    MUST(at != NULL);
    snprintf(json, sizeof json, "%.*s%s%s", (int)(at - whole), whole, new, at + strlen(old));
    expect(json, "fig.json:14:", "points of this figure are from memory, and a query does not tell");
}

TEST(claims_say_what_they_need)
{
    expect_claim(LEVEL("'tolerance': 0.1"), "a claim of kind 'level' needs the paper's number");
    expect_claim(LEVEL("'value': 4"), "needs a tolerance to be held against");
    expect_claim(LEVEL("'value': 4, 'reported_because': 'r'"), "needs a tolerance to be held against");
    expect_claim(LEVEL("'value': 0, 'tolerance': 0.1"), "no tolerance is a share of zero");
    expect_claim(LEVEL("'value': 4, 'tolerance': 1.5"), "tolerance");
    expect_claim("{'says': 's', 'tag': 'src'}", "a claim has no test");
    expect_claim("{'says': 's', 'tag': 'src', 'value': 1, 'test': {'kind': 'order', 'values': "
                 "[{'series': 'up', 'x': 1}, {'series': 'up', 'x': 2}]}}",
                 "a claim of kind 'order' has no number");
    expect_claim("{'says': 's', 'tag': 'src', 'tolerance': 1, 'test': {'kind': 'order', 'values': "
                 "[{'series': 'up', 'x': 1}, {'series': 'up', 'x': 2}]}}",
                 "a claim of kind 'order' has no tolerance");
    expect_claim("{'says': 's', 'value': 4, 'tolerance': 0, 'tag': 'src', 'test': {'kind': 'level', "
                 "'of': {'series': 'up'}}}",
                 "needs both 'series' and 'x'");
    expect_claim("{'says': 's', 'value': 4, 'tolerance': 0, 'tag': 'src', 'test': {'kind': 'ratio', "
                 "'of': {'sql': 'select 1'}, 'over': {'sql': 'select 1', 'series': 'up', 'x': 1}}}",
                 "either a 'series' at an 'x', or an 'sql' query");
    expect_claim("{'says': 's', 'value': 4, 'tolerance': 0, 'tag': 'src', 'test': {'kind': 'crossing', "
                 "'of': 'up', 'with': 'down', 'level': 3}}",
                 "either 'with' a series or of a 'level'");
    expect_claim("{'says': 's', 'tolerance': 0, 'tag': 'src', 'test': {'kind': 'curve', 'series': ['down']}}",
                 "the paper has no points for one of the series");
    expect_claim("{'says': 's', 'tag': 'src', 'test': {'kind': 'interval', 'series': ['up']}}",
                 "has no \"interval\" over replications");
}

/* Fitted points could hide behind a query. */
TEST(queries_say_what_they_rest_on)
{
    const char *claim = "{'says': 's', 'value': 4, 'tolerance': 0.1, 'tag': 'src', 'test': {'kind': "
                        "'level', 'of': {'sql': 'select 4'}}}";
    const char *fit = "{'parameter': 'p', 'value': '1', 'why': 'w', 'points': [{'series': 'up'}]}";
    SCOPED(figure_case) test;
    CHECK_EQ_INT(figure_case_init(&test, figure_json(claim, "")), 0);
    expect(figure_json(claim, fit), "fig.json:14:", "a query does not tell on which of the points it rests");
}

TEST(every_finding_is_reported)
{
    SCOPED(arena) arena = {0};
    struct figure figure;
    struct diag diag = {0};
    CHECK_EQ_INT(figure_load("fig.json", figure_file(figure_json(LEVEL("'tolerance': 0.1") ", " LEVEL("'value': 4"), "")),
                             NULL, &arena, &figure, &diag),
                 SIM_E_CONFIG);
    CHECK_EQ_INT(diag.n_errors, 2);
}

TEST(memory_may_run_out)
{
    const char *path = figure_file(figure_json(LEVEL("'value': 4, 'tolerance': 0.1"), ""));
    const char *paths[] = {figure_database()};
    int failures = 0;
    for (long n = 0; n < 10000; n++) {
        struct figure_case test = {0};
        arena_init(&test.arena);
        mem_fail_after(n);
        int code = figure_load("test/one", path, NULL, &test.arena, &test.figure, NULL);
        if (code == 0) code = figure_data_read(&test.figure, paths, &test.arena, &test.data, NULL);
        if (code == 0) code = figure_claims(&test.data, &test.results, NULL);
        mem_fail_never();
        figure_case_fini(&test);
        if (code == 0) break;
        CHECK_EQ_INT(code, SIM_E_NOMEM);
        failures++;
    }
    CHECK(failures > 5 && failures < 10000);
}
