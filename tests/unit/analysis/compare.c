/* What is paired with what, which interval it gets, and which word it earns. That intervals cover is for
 * tests/property/stats_coverage.c. */
#include "sim/cli/cli.h"
#include "tests/support/compare_fixture.h"
#include "tests/support/harness.h"

#include <sqlite3.h>

static double steady_ttft_s(int64_t id)
{
    return 1 + 0.5 * sin(12.9898 * (double)id);
}

static double slower_ttft_s(int64_t id)
{
    return steady_ttft_s(id) + 0.1 + 0.05 * sin(78.233 * (double)id);
}

static double hiccup_ttft_s(int64_t id)
{
    return steady_ttft_s(id) + (id == 42 ? 2 : id == 43 ? 1 : id % 3 == 0 ? 0.01 : -0.01);
}

static double faster_ttft_s(int64_t id)
{
    return steady_ttft_s(id) - 0.1 - 0.05 * sin(78.233 * (double)id);
}

static double barely_slower_ttft_s(int64_t id)
{
    return steady_ttft_s(id) + 0.002 + 0.001 * sin(78.233 * (double)id);
}

static double noisy_ttft_s(int64_t id)
{
    return steady_ttft_s(id) + sin(78.233 * (double)id);
}

/* Of two in three it has a time, and of one in three the other run has. */
static double two_thirds_ttft_s(int64_t id)
{
    return id % 3 == 0 ? (double)NAN : steady_ttft_s(id);
}

/* Starts at 4 and settles at the steady values after 100 requests. */
static double settling_ttft_s(int64_t id)
{
    return slower_ttft_s(id) + (id < 100 ? 3 - 0.03 * (double)id : 0);
}

static double rising_ttft_s(int64_t id)
{
    return steady_ttft_s(id) + 0.1 * (double)id;
}

static int compare_1_with_2(const char *path, const struct compare_options *options, struct comparison *comparison,
                            struct diag *diag)
{
    const struct compare_source base = {path, 1}, changed = {path, 2};
    diag_init(diag);
    return compare_runs(&base, &changed, options, comparison, diag);
}

/* The row of the mean of two runs with 400 requests each. */
static struct compare_row compare_times(double (*base)(int64_t), double (*changed)(int64_t),
                                        const struct compare_options *options)
{
    const char *path = compare_path();
    const struct made_run runs[] = {{.n_requests = 400, .ttft_s = base}, {.n_requests = 400, .ttft_s = changed}};
    struct comparison comparison = {0};
    struct diag diag;
    struct compare_row row = {0};
    if (!compare_make(path, runs, 2)) return row;
    CHECK_EQ_INT(compare_1_with_2(path, options, &comparison, &diag), 0);
    const struct compare_row *found = compare_find(&comparison, "request.ttft_s.mean", NULL);
    if (CHECK(found != NULL)) row = *found;
    comparison_fini(&comparison);
    return row;
}

TEST(verdicts_follow_from_the_intervals)
{
    struct compare_row row = compare_times(steady_ttft_s, slower_ttft_s, &compare_defaults);
    CHECK(row.verdict == COMPARE_WORSE && row.method == COMPARE_BOOTSTRAP && row.n == 400);
    CHECK_NEAR(row.delta.mean, 0.1, 1e-3);
    CHECK(row.delta.low > 0.095 && row.delta.high < 0.105 && row.worse_frac == 1 && row.p < 1e-6);
    row = compare_times(steady_ttft_s, faster_ttft_s, &compare_defaults);
    CHECK(row.verdict == COMPARE_BETTER && row.worse_frac == 0);
    row = compare_times(steady_ttft_s, noisy_ttft_s, &compare_defaults);
    CHECK(row.verdict == COMPARE_UNCLEAR && row.worse_frac > 0.4 && row.worse_frac < 0.6);
    CHECK(row.delta.low < 0 && row.delta.high > 0);
}

/* 0.2 % more is certain, and does not matter; with a margin of 0.1 % it does. */
TEST(differences_within_the_margin_do_not_matter)
{
    struct compare_row row = compare_times(steady_ttft_s, barely_slower_ttft_s, &compare_defaults);
    CHECK(row.verdict == COMPARE_SAME && row.p < 1e-6);
    struct compare_options options = compare_defaults;
    options.margin_frac = 0.001;
    row = compare_times(steady_ttft_s, barely_slower_ttft_s, &options);
    CHECK(row.verdict == COMPARE_WORSE);
}

TEST(equal_runs_are_the_same_to_the_last_bit)
{
    const char *path = compare_path();
    const struct made_run run = {.n_requests = 100, .ttft_s = steady_ttft_s}, runs[] = {run, run};
    struct comparison comparison;
    struct diag diag;
    MUST(compare_make(path, runs, 2));
    for (int steady = 0; steady < 2; steady++) {
        struct compare_options options = compare_defaults;
        options.steady = steady == 1;
        CHECK_EQ_INT(compare_1_with_2(path, &options, &comparison, &diag), 0);
        CHECK(comparison.n_rows == 4 && comparison.n_paired_rows == 100 && comparison.n_worst == 0);
        for (size_t i = 0; i < comparison.n_rows; i++) {
            const struct compare_row *row = &comparison.rows[i];
            CHECK(row->verdict == COMPARE_SAME && row->delta.mean == 0 && row->delta.low == 0 && row->delta.high == 0);
        }
        CHECK(compare_says(&comparison, "the result hashes are equal"));
        comparison_fini(&comparison);
    }
}

TEST(unpaired_requests_are_counted)
{
    const char *path = compare_path();
    const struct made_run runs[] = {{.n_requests = 90, .ttft_s = steady_ttft_s, .scenario = "{\"warmup\": \"9s\"}"},
                                    {.n_requests = 92, .ttft_s = two_thirds_ttft_s, .first_id = 3, .trace_hash = "other"}};
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    MUST(compare_make(path, runs, 2));
    CHECK_EQ_INT(compare_1_with_2(path, &compare_defaults, &comparison, &diag), 0);
    /* ids 0 ... 89 and 3 ... 94; those below 9 arrive during the warm-up; every third is unfinished in the second
     * run */
    CHECK_EQ_INT(comparison.n_paired_rows, 81 - 27);
    CHECK_EQ_INT(comparison.n_unpaired_rows, 3 + 5);
    CHECK(compare_says(&comparison, "3 in the base only, 5 in the new run only"));
    CHECK(compare_says(&comparison, "27 requests in the base, 0 in the new run"));
    CHECK(compare_says(&comparison, "the input files differ") && compare_says(&comparison, "traces, or files of"));
    CHECK_EQ_INT(diag.n_warnings, 1);
}

/* As runs on two kinds of GPUs do; runs of shifted requests have another load. */
TEST(runs_of_one_load_may_read_other_files)
{
    for (int shift = 0; shift < 2; shift++) {
        const char *path = compare_path();
        const struct made_run runs[] = {{.n_requests = 90, .ttft_s = steady_ttft_s},
                                        {.n_requests = 90, .ttft_s = slower_ttft_s, .first_id = shift, .trace_hash = "other"}};
        SCOPED(comparison) comparison = {0};
        struct diag diag;
        MUST(compare_make(path, runs, 2) && compare_1_with_2(path, &compare_defaults, &comparison, &diag) == 0);
        CHECK(compare_says(&comparison, "as the requests have equal sizes and times") == (shift == 0));
        CHECK_EQ_INT(diag.n_warnings, shift);
    }
}

TEST(worst_regressions_come_first)
{
    const char *path = compare_path();
    const struct made_run runs[] = {{.n_requests = 100, .ttft_s = steady_ttft_s},
                                    {.n_requests = 100, .ttft_s = hiccup_ttft_s}};
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    MUST(compare_make(path, runs, 2));
    CHECK_EQ_INT(compare_1_with_2(path, &compare_defaults, &comparison, &diag), 0);
    MUST(comparison.n_worst == COMPARE_WORST);
    CHECK(comparison.worst[0].id == 42 && comparison.worst[1].id == 43);
    for (size_t i = 1; i < comparison.n_worst; i++) {
        const struct compare_regression *a = &comparison.worst[i - 1], *b = &comparison.worst[i];
        CHECK(a->changed - a->base >= b->changed - b->base);
    }
}

/* Of the maximum one run has one value: no interval, and no claim. */
TEST(single_values_earn_no_verdict)
{
    const char *path = compare_path();
    const struct made_run runs[] = {{.n_requests = 30, .ttft_s = steady_ttft_s},
                                    {.n_requests = 30, .ttft_s = slower_ttft_s}};
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    MUST(compare_make(path, runs, 2));
    CHECK_EQ_INT(compare_1_with_2(path, &compare_defaults, &comparison, &diag), 0);
    const struct compare_row *max = compare_find(&comparison, "request.ttft_s.max", NULL);
    const struct compare_row *p50 = compare_find(&comparison, "request.ttft_s.p50", NULL);
    const struct compare_row *gpus = compare_find(&comparison, "cluster.gpus", NULL);
    MUST(max != NULL && p50 != NULL && gpus != NULL);
    CHECK(max->method == COMPARE_SINGLE && max->verdict == COMPARE_UNCLEAR && isnan(max->delta.low) && isnan(max->p));
    CHECK(p50->verdict == COMPARE_UNCLEAR && strcmp(p50->note, "too few pairs beyond this percentile") == 0);
    CHECK(gpus->verdict == COMPARE_SAME);
}

TEST(steady_state_leaves_the_warm_up_out)
{
    struct compare_options options = compare_defaults;
    options.steady = true;
    struct compare_row row = compare_times(steady_ttft_s, settling_ttft_s, &options);
    CHECK(row.method == COMPARE_BATCH_MEANS && row.n == 20 && row.verdict == COMPARE_WORSE);
    CHECK_NEAR(row.delta.mean, 0.1, 0.02);
    row = compare_times(steady_ttft_s, settling_ttft_s, &compare_defaults);
    CHECK(row.delta.mean > 0.4); /* what the transient does to those who count it */
    row = compare_times(steady_ttft_s, rising_ttft_s, &options);
    CHECK(row.verdict == COMPARE_UNCLEAR && row.note != NULL && strncmp(row.note, "no steady state", 15) == 0);
}

/* The columns of a row are of the same pairs, and another row tells what the metric is for the whole run. */
TEST(columns_agree)
{
    const char *path = compare_path();
    const struct made_run runs[] = {{.n_requests = 4007, .ttft_s = steady_ttft_s},
                                    {.n_requests = 4007, .ttft_s = settling_ttft_s}};
    struct compare_options options = compare_defaults;
    MUST(compare_make(path, runs, 2));
    for (int steady = 0; steady < 2; steady++) {
        static const char *const metrics[] = {"request.ttft_s.mean", "request.ttft_s.p50"};
        SCOPED(comparison) comparison = {0};
        struct diag diag;
        options.steady = steady == 1;
        CHECK_EQ_INT(compare_1_with_2(path, &options, &comparison, &diag), 0);
        for (int i = 0; i < 2; i++) {
            const struct compare_row *row = compare_find(&comparison, metrics[i], NULL);
            MUST(row != NULL);
            CHECK(!isnan(row->delta.low));
            CHECK_NEAR(row->delta.mean, row->changed - row->base, 1e-12);
            if (i == 0) CHECK((fabs(row->changed_run - row->changed) > 0.01) == (steady == 1));
        }
        /* the fixture's p50 is half of the maximum, and no median */
        CHECK(compare_says(&comparison, "the largest deviation is that of request.ttft_s.p50, which is 0.75 and"));
    }
}

/* A file from elsewhere may lack a metric: then nothing is said of its value for the whole run. */
TEST(a_metric_that_is_missing_deviates_from_nothing)
{
    static const char sql[] = "DELETE FROM metric WHERE run_id = 1 AND name = 'request.ttft_s.p50'";
    const char *path = compare_path();
    const struct made_run runs[] = {{.n_requests = 4007, .ttft_s = steady_ttft_s},
                                    {.n_requests = 4007, .ttft_s = settling_ttft_s}};
    struct compare_options options = compare_defaults;
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    sqlite3 *db = NULL;
    MUST(compare_make(path, runs, 2));
    MUST(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK_EQ_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    CHECK_EQ_INT(compare_1_with_2(path, &options, &comparison, &diag), 0);
    CHECK(!compare_says(&comparison, "nan"));
}

/* Differences that go up and down slowly: 300 of them are worth a few, and say nothing. */
static double drifting_ttft_s(int64_t id)
{
    return steady_ttft_s(id) + 0.1 + 0.5 * sin(0.05 * (double)id);
}

TEST(correlated_runs_are_refused)
{
    struct compare_options options = compare_defaults;
    options.steady = true;
    const struct compare_row row = compare_times(steady_ttft_s, drifting_ttft_s, &options);
    CHECK(row.verdict == COMPARE_UNCLEAR && isnan(row.delta.low) && isnan(row.p) && isfinite(row.delta.mean));
}

/* --- Groups --- */

enum { SEEDS = 5 };

/* Two routings, two numbers of replicas, five seeds: with two replicas the second routing is faster by 0.1, with four
 * by 0.05; and each seed has a level of its own, which cancels. */
static size_t make_study(struct made_run runs[4 * SEEDS])
{
    static const double noise[SEEDS] = {0.003, -0.002, 0.001, -0.004, 0.002};
    size_t n = 0;
    for (int seed = 0; seed < SEEDS; seed++)
        for (int i = 0; i < 4; i++) {
            const bool jsq = i % 2 == 1, four = i >= 2;
            runs[n++] = (struct made_run){.seed = seed + 1,
                                          .routing = jsq ? "jsq" : "\"random\"",
                                          .replicas = four ? "4" : "2",
                                          .metric = (four ? 1 : 2) + seed * 0.7 +
                                                    (jsq ? (four ? -0.05 : -0.1) + noise[seed] : 0)};
        }
    return n;
}

static int compare_study(const char *path, const char *base, const char *changed, struct comparison *comparison,
                         struct diag *diag)
{
    diag_init(diag);
    return compare_groups(path, base, path, changed, &compare_defaults, comparison, diag);
}

TEST(groups_pair_by_seed_and_point)
{
    const char *path = compare_path();
    struct made_run runs[4 * SEEDS];
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    MUST(compare_make(path, runs, make_study(runs)));
    CHECK_EQ_INT(compare_study(path, "routing=random", "services.chat.routing=jsq", &comparison, &diag), 0);
    CHECK(comparison.n_pairs == 10 && comparison.n_unpaired == 0);
    const struct compare_row *all = compare_find(&comparison, "request.ttft_s.mean", NULL);
    const struct compare_row *two = compare_find(&comparison, "request.ttft_s.mean", "services.chat.replicas=2");
    const struct compare_row *four = compare_find(&comparison, "request.ttft_s.mean", "services.chat.replicas=4");
    MUST(all != NULL && two != NULL && four != NULL);
    CHECK(all->method == COMPARE_T_SEEDS && all->n == SEEDS && two->n == SEEDS && four->n == SEEDS);
    CHECK_NEAR(two->delta.mean, -0.1, 1e-12);
    CHECK_NEAR(four->delta.mean, -0.05, 1e-12);
    CHECK_NEAR(all->delta.mean, -0.075, 1e-12);
    /* the noises have a standard error of 0.0012884..., and t(0.975, 4) = 2.776 */
    CHECK_NEAR(two->delta.high - two->delta.mean, 2.7764451051977987 * sqrt(34e-6 / 4 / 5), 1e-12);
    CHECK(all->verdict == COMPARE_BETTER && two->verdict == COMPARE_BETTER && all->worse_frac == 0);
    CHECK_NEAR(all->base, 2.9, 1e-12);
    CHECK(compare_find(&comparison, "cluster.gpus", NULL)->verdict == COMPARE_SAME);
}

TEST(selections_narrow_the_study)
{
    const char *path = compare_path();
    struct made_run runs[4 * SEEDS];
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    MUST(compare_make(path, runs, make_study(runs)));
    CHECK_EQ_INT(compare_study(path, "routing=random,replicas=4", "routing=random,replicas=2.0", &comparison, &diag),
                 0);
    const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
    CHECK(comparison.n_pairs == SEEDS && row->n == SEEDS && row->verdict == COMPARE_WORSE);
    CHECK_NEAR(row->delta.mean, 1, 1e-12);
    comparison_fini(&comparison);
    /* one run each: what it was is a pair of runs */
    CHECK_EQ_INT(compare_study(path, "seed=1,routing=random,replicas=2", "run=2", &comparison, &diag), 0);
    CHECK(comparison.n_pairs == 1);
}

TEST(what_did_not_end_is_left_out)
{
    const char *path = compare_path();
    struct made_run runs[4 * SEEDS];
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    const size_t n = make_study(runs);
    runs[0].status = "interrupted";
    runs[5].status = "failed";
    MUST(compare_make(path, runs, n));
    CHECK_EQ_INT(compare_study(path, "routing=random", "routing=jsq", &comparison, &diag), 0);
    CHECK(comparison.n_unfinished_runs == 2 && comparison.n_unpaired == 2 && comparison.n_pairs == 8);
    CHECK(compare_says(&comparison, "left out: 2 runs that did not finish"));
    /* seeds 1 and 2 lack a point, so that overall there are three */
    CHECK_EQ_INT(compare_find(&comparison, "request.ttft_s.mean", NULL)->n, 3);
    CHECK_EQ_INT(compare_find(&comparison, "request.ttft_s.mean", "services.chat.replicas=2")->n, 3);
    CHECK_EQ_INT(compare_find(&comparison, "request.ttft_s.mean", "services.chat.replicas=4")->n, 5);
    comparison_fini(&comparison);
    /* asked for by its number */
    const struct compare_source early = {path, 1}, failed = {path, 6}, done = {path, 2};
    diag_init(&diag);
    CHECK_EQ_INT(compare_runs(&early, &done, &compare_defaults, &comparison, &diag), 0);
    CHECK_EQ_INT(diag.n_warnings, 1);
    comparison_fini(&comparison);
    CHECK_EQ_INT(compare_runs(&failed, &done, &compare_defaults, &comparison, &diag), SIM_E_DATA);
}

/* At one seed there is nothing that was repeated, be it at ever so many points that all say the same. */
TEST(one_seed_earns_no_verdict)
{
    const char *path = compare_path();
    static const char *const replicas[] = {"1", "2", "3", "4", "5", "6"};
    struct made_run runs[12];
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    for (int i = 0; i < 12; i++)
        runs[i] = (struct made_run){.seed = 1,
                                    .routing = i % 2 ? "jsq" : "random",
                                    .replicas = replicas[i / 2],
                                    .metric = 10 + 0.01 * i + (i % 2 ? 1 : 0)};
    MUST(compare_make(path, runs, 12));
    CHECK_EQ_INT(compare_study(path, "routing=random", "routing=jsq", &comparison, &diag), 0);
    const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
    MUST(row != NULL && row->note != NULL);
    CHECK(row->verdict == COMPARE_UNCLEAR && row->method == COMPARE_SINGLE && isnan(row->p) && isnan(row->delta.low));
    CHECK_EQ_STR(row->note, "one seed");
    CHECK_NEAR(row->delta.mean, 1.01, 1e-12);
    CHECK(row->n == 6 && row->worse_frac == 1);
    CHECK(compare_find(&comparison, "cluster.gpus", NULL)->verdict == COMPARE_SAME);
    CHECK(compare_says(&comparison, "6 pairs of runs, 1 seed at 6 configurations: there are no intervals"));
}

TEST(what_did_not_end_is_counted_when_nothing_pairs)
{
    const char *path = compare_path();
    struct made_run runs[4 * SEEDS];
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    const size_t n = make_study(runs);
    for (size_t i = 0; i < n; i++) runs[i].status = "failed";
    MUST(compare_make(path, runs, n));
    CHECK_EQ_INT(compare_study(path, "routing=random", "routing=jsq", &comparison, &diag), SIM_E_DATA);
    CHECK(strstr(diag.items[0].text,
                 "no runs can be paired: 0 runs of 'routing=random', 0 runs of 'routing=jsq'; left out: 20 "
                 "runs that did not finish") != NULL);
}

/* Seeds that change nothing are one case, however often it is repeated. */
TEST(copies_count_once)
{
    const char *path = compare_path();
    struct made_run runs[2 * SEEDS];
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    for (int i = 0; i < 2 * SEEDS; i++)
        runs[i] = (struct made_run){.seed = i / 2, .routing = i % 2 ? "jsq" : "random", .metric = 1 + i % 2};
    MUST(compare_make(path, runs, 2 * SEEDS));
    CHECK_EQ_INT(compare_study(path, "routing=random", "routing=jsq", &comparison, &diag), 0);
    const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
    CHECK(row->n == 1 && row->verdict == COMPARE_UNCLEAR && isnan(row->p));
    CHECK(compare_says(&comparison, "4 pairs of runs are counted once"));
}

/* No seed is in both groups: Welch, over the runs as they are. */
TEST(what_does_not_pair_is_compared_by_welch)
{
    static const double base[] = {1, 2, 3}, changed[] = {2, 5, 8};
    const char *path = compare_path();
    struct made_run runs[6];
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    for (int i = 0; i < 6; i++)
        runs[i] = (struct made_run){
            .seed = i, .routing = i < 3 ? "random" : "jsq", .metric = i < 3 ? base[i] : changed[i - 3]};
    MUST(compare_make(path, runs, 6));
    CHECK_EQ_INT(compare_study(path, "routing=random", "routing=jsq", &comparison, &diag), 0);
    const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
    const struct interval expected = stats_welch_interval(base, 3, changed, 3, 0.95, NULL);
    CHECK(row->method == COMPARE_WELCH && row->verdict == COMPARE_UNCLEAR && row->n == 3);
    CHECK_EQ_STR(row->note, "no difference seen at n=3");
    CHECK(row->delta.low == expected.low && row->delta.high == expected.high);
    CHECK(compare_says(&comparison, "Welch"));
}

TEST(wrong_selections_are_refused)
{
    const char *path = compare_path();
    SCOPED(comparison) comparison = {0};
    struct diag diag;
    const struct made_run runs[] = {{.seed = 1, .routing = "random", .metric = 1, .replicas = "1"},
                                    {.seed = 1, .routing = "jsq", .metric = 2, .replicas = "2"},
                                    {.seed = 1, .routing = "jsq", .metric = 3, .replicas = "2"},
                                    {.seed = 2, .routing = "jsq", .metric = 3, .replicas = "3"}};
    static const struct {
        const char *base, *changed, *text;
        int code;
    } cases[] = {
        {"routing", "routing=jsq", "'routing' chooses no runs", SIM_E_USAGE},
        {"routing=lru", "routing=jsq", "no run has routing=lru", SIM_E_USAGE},
        {"routing=random", "rooting=jsq", "no run has rooting=jsq", SIM_E_USAGE},
        {"routing=random", "routing=jsq,seed=1", "have the same seed and parameters", SIM_E_USAGE},
        {"routing=random", "seed=2", "", 0},
        {"routing=random", "run=2", "", 0},
    };
    MUST(compare_make(path, runs, 4));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(compare_study(path, cases[i].base, cases[i].changed, &comparison, &diag), cases[i].code);
        CHECK(cases[i].code == 0 || strstr(diag.items[0].text, cases[i].text) != NULL);
        comparison_fini(&comparison);
    }
    const struct compare_source first = {path, 1}, none = {path, 9};
    const char *const no_such[] = {"ttft", NULL};
    struct compare_options options = compare_defaults;
    options.only = no_such;
    diag_init(&diag);
    CHECK_EQ_INT(compare_runs(&first, &none, &compare_defaults, &comparison, &diag), SIM_E_STORE);
    comparison_fini(&comparison);
    CHECK_EQ_INT(compare_runs(&first, &first, &options, &comparison, &diag), SIM_E_USAGE);
}

TEST(only_some_metrics_are_tested)
{
    const char *path = compare_path();
    struct made_run runs[4 * SEEDS];
    SCOPED(comparison) comparison = {0};
    struct diag diag = {0};
    const char *const only[] = {"ttft_s", NULL};
    struct compare_options options = compare_defaults;
    options.only = only;
    MUST(compare_make(path, runs, make_study(runs)));
    CHECK_EQ_INT(compare_groups(path, "routing=random", path, "routing=jsq", &options, &comparison, &diag), 0);
    CHECK(comparison.n_rows == 9 && compare_find(&comparison, "cluster.gpus", NULL) == NULL); /* all, two points */
}

/* Five differences with t = 3.3 at four degrees: p = 0.03. Alone that is enough; as one of two tests it is not. */
TEST(many_tests_ask_for_more)
{
    static const double differences[] = {0.143, 0.5715, 1, 1.4285, 1.857};
    static const char *const only[] = {"ttft_s", NULL};
    const char *path = compare_path();
    struct made_run runs[2 * SEEDS];
    for (int i = 0; i < 2 * SEEDS; i++)
        runs[i] = (struct made_run){.seed = i / 2,
                                    .routing = i % 2 ? "jsq" : "random",
                                    .metric = 10 + (i % 2 ? differences[i / 2] : 0)};
    MUST(compare_make(path, runs, 2 * SEEDS));
    for (int alone = 0; alone < 2; alone++) {
        SCOPED(comparison) comparison = {0};
        struct diag diag = {0};
        struct compare_options options = compare_defaults;
        options.only = alone ? only : NULL;
        CHECK_EQ_INT(compare_groups(path, "routing=random", path, "routing=jsq", &options, &comparison, &diag), 0);
        const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
        MUST(row != NULL);
        CHECK(row->delta.low > 0);
        CHECK_NEAR(row->p, (alone ? 1 : 2) * stats_paired_t_p(differences, SEEDS), 1e-9);
        CHECK(row->verdict == (alone ? COMPARE_WORSE : COMPARE_UNCLEAR));
        if (!alone) CHECK_EQ_STR(row->note, "not significant after correction");
    }
}

/* The differences of the case before. Primary metrics are corrected for themselves alone, any other one for all; a
 * name that no run has makes all metrics primary. */
TEST(primary_metrics_are_corrected_for_themselves)
{
    static const double differences[] = {0.143, 0.5715, 1, 1.4285, 1.857};
    static const char *const ranked[] = {"job.jct_s.mean", "request.ttft_s.mean", NULL};
    static const char *const unknown[] = {"job.jct_s.mean", NULL};
    static const char *const other[] = {"cluster.gpus", NULL};
    const struct {
        const char *const *ranked;
        bool is_primary;
        size_t n_tests;
    } cases[] = {{ranked, true, 1}, {unknown, true, 2}, {other, false, 2}};
    const char *path = compare_path();
    struct made_run runs[2 * SEEDS];
    for (int i = 0; i < 2 * SEEDS; i++)
        runs[i] = (struct made_run){.seed = i / 2,
                                    .routing = i % 2 ? "jsq" : "random",
                                    .metric = 10 + (i % 2 ? differences[i / 2] : 0)};
    MUST(compare_make(path, runs, 2 * SEEDS));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(comparison) comparison = {0};
        struct diag diag = {0};
        struct compare_options options = compare_defaults;
        options.ranked = cases[i].ranked;
        CHECK_EQ_INT(compare_groups(path, "routing=random", path, "routing=jsq", &options, &comparison, &diag), 0);
        const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
        MUST(row != NULL);
        CHECK(row->is_primary == cases[i].is_primary && row->n_tests == cases[i].n_tests);
        CHECK_NEAR(row->p, (double)cases[i].n_tests * stats_paired_t_p(differences, SEEDS), 1e-9);
        CHECK(row->verdict == (cases[i].n_tests == 1 ? COMPARE_WORSE : COMPARE_UNCLEAR));
    }
}

/* --- The verb without memory --- */

static int run_without_memory(const char *const *words, long n)
{
    char copies[8][600], *argv[9] = {NULL};
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        snprintf(copies[argc], sizeof copies[argc], "%s", words[argc]);
        argv[argc] = copies[argc];
    }
    FILE *nowhere = fopen("/dev/null", "w");
    struct cli *cli = calloc(1, sizeof *cli);
    if (nowhere == NULL || cli == NULL) abort();
    *cli = (struct cli){.out = nowhere, .err = nowhere};
    mem_fail_after(n);
    const int status = cli_main(cli, argc, argv);
    mem_fail_never();
    free(cli);
    fclose(nowhere);
    return status;
}

TEST(memory_may_run_out)
{
    const char *path = compare_path();
    struct made_run runs[4 * SEEDS];
    const size_t n_runs = make_study(runs);
    runs[0] = (struct made_run){.routing = "random", .replicas = "2", .n_requests = 40, .ttft_s = steady_ttft_s, .seed = 1};
    runs[1] = (struct made_run){.routing = "jsq", .replicas = "2", .n_requests = 40, .ttft_s = slower_ttft_s, .seed = 1};
    MUST(compare_make(path, runs, n_runs));
    char first[600], second[600];
    snprintf(first, sizeof first, "%s:1", path);
    snprintf(second, sizeof second, "%s:2", path);
    const char *const pairs[][8] = {
        {"orrery", "compare", first, second, "--json", NULL},
        {"orrery", "compare", first, second, "--steady", NULL},
        {"orrery", "compare", path, "--base", "routing=random", "--new", "routing=jsq", NULL}};
    for (size_t i = 0; i < 3; i++) {
        long n = 0;
        int status;
        while ((status = run_without_memory(pairs[i], n)) != 0 && n < 10000) {
            if (!CHECK_EQ_INT(status, 70)) break;
            n++;
        }
        CHECK(n > 20 && status == 0);
    }
}
