/* Which warnings a comparison tells of: those that one side has more often than the other. */
#include "tests/support/compare_fixture.h"
#include "tests/support/harness.h"

#include <sqlite3.h>
#include <unistd.h>

static const char same_tells[] = "(both-sides)";

/* Makes runs 1 to n and their warnings. */
static bool make(const char *path, const struct made_run *runs, size_t n, const char *warnings)
{
    sqlite3 *db = NULL;
    if (!compare_make(path, runs, n) || !CHECK(sqlite3_open(path, &db) == SQLITE_OK)) return false;
    const int code = sqlite3_exec(db, warnings, NULL, NULL, NULL);
    sqlite3_close(db);
    return CHECK_EQ_INT(code, SQLITE_OK);
}

TEST(of_two_runs_the_one_that_warns)
{
    static const char warnings[] =
        "INSERT INTO warning (run_id, code, text, count) VALUES (1, 'both-sides', '1 of 4', 1),\n"
        "(2, 'both-sides', '2 of 4', 1), (1, 'named', 'service ''a'': 1', 1), (2, 'named', 'service ''a'': 2', 1),\n"
        "(2, 'named', 'service ''a'': 3', 1), (2, 'named', 'service ''b'': 1', 1), (2, 'new-one', 'first', 1), (2, 'new-one', 'second', 3), (1, 'old-one', 'gone', 1),\n"
        "(1, 'floor', 'the brake''s clock of 1200 MHz: site drew 10321 W', 1),\n"
        "(2, 'floor', 'the brake''s clock of 1200 MHz: site drew 10399 W', 1)";
    const char *path = compare_path();
    const struct made_run runs[] = {{.metric = 1}, {.metric = 2}};
    const struct compare_source one = {path, 1}, two = {path, 2};
    SCOPED(comparison) comparison = {0};
    struct diag diag = {0};
    MUST(make(path, runs, 2, warnings));
    CHECK_EQ_INT(compare_runs(&one, &two, &compare_defaults, &comparison, &diag), 0);
    CHECK(compare_says(&comparison, "only the new run warns (new-one): first"));
    CHECK(compare_says(&comparison, "only the base warns (old-one): gone"));
    CHECK(compare_says(&comparison, "only the new run warns (named): service 'b': 1"));
    CHECK(!compare_says(&comparison, "service 'a'"));
    CHECK(!compare_says(&comparison, "brake"));
    CHECK(!compare_says(&comparison, same_tells)); /* whatever its words */
    comparison_fini(&comparison);
    /* the other way about */
    CHECK_EQ_INT(compare_runs(&two, &one, &compare_defaults, &comparison, &diag), 0);
    CHECK(compare_says(&comparison, "only the base warns (new-one): first"));
    CHECK(compare_says(&comparison, "only the new run warns (old-one): gone"));
    CHECK(!compare_says(&comparison, same_tells));
    comparison_fini(&comparison);
    /* a run beside itself */
    CHECK_EQ_INT(compare_runs(&two, &two, &compare_defaults, &comparison, &diag), 0);
    CHECK(!compare_says(&comparison, "warn"));
}

/* Seeds 1 to 3, each under two routings: odd runs are the base. Run 7 has no counterpart, so its warning is none
 * of the comparison's. */
TEST(of_groups_the_side_that_warns_more_often)
{
    static const char warnings[] =
        "INSERT INTO warning (run_id, code, text, count) VALUES (7, 'unpaired', '', 1),\n"
        "(1, 'both-sides', '', 1), (3, 'both-sides', '', 1), (2, 'both-sides', '', 1), (6, 'both-sides', '', 1),\n"
        "(1, 'often', 'a', 1), (3, 'often', 'b', 1), (5, 'often', 'c', 1), (4, 'often', 'd', 1),\n"
        "(2, 'new-one', 'of seed 1', 1), (6, 'new-one', 'of seed 3', 1)";
    const char *path = compare_path();
    struct made_run runs[7];
    SCOPED(comparison) comparison = {0};
    struct diag diag = {0};
    for (int i = 0; i < 7; i++)
        runs[i] = (struct made_run){.seed = 1 + i / 2, .routing = i % 2 == 0 ? "\"random\"" : "jsq", .metric = i};
    MUST(make(path, runs, 7, warnings));
    CHECK_EQ_INT(compare_groups(path, "routing=random", path, "routing=jsq", &compare_defaults, &comparison, &diag), 0);
    CHECK(compare_says(&comparison, "3 of 3 runs of the base and 1 of 3 new runs warn (often), one of them: a"));
    CHECK(compare_says(&comparison,
                       "0 of 3 runs of the base and 2 of 3 new runs warn (new-one), one of them: of seed 1"));
    CHECK(!compare_says(&comparison, same_tells));
    CHECK(!compare_says(&comparison, "unpaired"));
}

/* A file may hold any number of kinds: the first ones are compared, and what is beyond is not left out in silence. */
TEST(many_warnings_are_told_up_to_a_limit)
{
    static const char warnings[] =
        "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)\n"
        "INSERT INTO warning (run_id, code, text, count) SELECT 2, 'kind' || i, '', 1 FROM n";
    const char *path = compare_path();
    const struct made_run runs[] = {{.metric = 1}, {.metric = 2}};
    const struct compare_source one = {path, 1}, two = {path, 2};
    for (int n = 512; n <= 513; n++) {
        char sql[512];
        SCOPED(comparison) comparison = {0};
        struct diag diag = {0};
        snprintf(sql, sizeof sql, warnings, n);
        unlink(path);
        MUST(make(path, runs, 2, sql));
        CHECK_EQ_INT(compare_runs(&one, &two, &compare_defaults, &comparison, &diag), 0);
        CHECK(compare_says(&comparison, "only the new run warns (kind512)"));
        CHECK(!compare_says(&comparison, "kind513"));
        CHECK((int)compare_says(&comparison, "warnings beyond the first 512 were not compared") == (n == 513));
    }
}
