/* What the gate's report says to do, and of the metrics that it does not list. */
#include "analysis/gate/gate.h"
#include "analysis/stats/importance.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <string.h>

enum { N = 14, FILES = 6 };

/* A scenario whose hash has moved, with N metrics of 100 that have not. */
struct bench {
    struct arena arena;
    struct gate_metric before[N], now[N];
    char names[N][16];
    struct baseline_entry entry;
    struct baseline baseline;
    struct gate_outcome outcome;
    struct gate_result result;
};

static void bench_init(struct bench *bench)
{
    *bench = (struct bench){0};
    arena_init(&bench->arena);
    for (int i = 0; i < N; i++) {
        snprintf(bench->names[i], sizeof bench->names[i], "odd.m%02d", i);
        bench->before[i] = bench->now[i] = (struct gate_metric){bench->names[i], "s", 100, -1};
    }
    bench->entry = (struct baseline_entry){.name = "a", .n_metrics = N, .metrics = bench->before, .hash = "a",
                                           .decisions = {.chars = ""}, .maker = {"", "", ""}};
    bench->baseline = (struct baseline){.maker = {"", "", ""}, .n_entries = 1, .entries = &bench->entry};
    bench->outcome = (struct gate_outcome){.n_metrics = N, .metrics = bench->now, .hash = "b",
                                           .decisions = {.chars = ""}};
}

/* The verdict under this tolerance; pattern NULL: none. */
static enum gate_verdict verdict(struct bench *bench, const char *pattern, double percent)
{
    struct tolerance tolerance = {.pattern = pattern, .amount = percent, .is_relative = true};
    bench->baseline.tolerances = (struct tolerance_list){pattern != NULL, &tolerance};
    CHECK_EQ_INT(gate_judge(&bench->baseline, &bench->entry, &bench->outcome, &bench->arena, &bench->result, NULL), 0);
    bench->baseline.tolerances = (struct tolerance_list){0};
    return bench->result.verdict;
}

/* The report of the scenario, or its advice; the caller frees the text. */
static void tell(struct bench *bench, bool as_advice, struct text *text)
{
    struct gate_report report = {.baseline = &bench->baseline, .n_results = 1, .results = &bench->result};
    text_init(text);
    gate_count(&report);
    if (as_advice)
        gate_advise(&report, text);
    else
        gate_describe(&report, &bench->result, text);
}

static bool tells(struct bench *bench, bool as_advice, const char *part)
{
    struct text text;
    tell(bench, as_advice, &text);
    const bool found = text.chars != NULL && strstr(text.chars, part) != NULL;
    text_fini(&text);
    return found;
}

TEST(a_tolerance_for_all_covers_small_moves)
{
    struct bench bench;
    bench_init(&bench);
    bench.now[0].value = 100 * (1 + 1.56e-7); /* 1.56e-05 % */
    bench.now[1].value = 100 * (1 - 3e-4);    /* 0.03 %, the largest */
    CHECK_EQ_INT(verdict(&bench, NULL, 0), GATE_MOVED);
    CHECK(tells(&bench, true, "an improvement too, with --update"));
    CHECK(tells(&bench, true, "that covers every move: \"tolerances\": {\"*\": \"0.05%\"}"));
    CHECK_EQ_INT(verdict(&bench, "*", 0.05), GATE_TOLERATED);
    bench.now[1].value = 101; /* one per cent is still small */
    CHECK_EQ_INT(verdict(&bench, NULL, 0), GATE_MOVED);
    CHECK(tells(&bench, true, "that covers every move: \"tolerances\": {\"*\": \"1%\"}"));
    CHECK_EQ_INT(verdict(&bench, "*", 1), GATE_TOLERATED);
    CHECK(!tells(&bench, true, ""));
    arena_fini(&bench.arena);
}

TEST(a_tolerance_of_one_metric_is_at_most_ten_per_cent)
{
    struct bench bench;
    bench_init(&bench);
    bench.now[0].value = 109;
    bench.now[1].value = 100.0015;
    CHECK_EQ_INT(verdict(&bench, NULL, 0), GATE_MOVED);
    CHECK(tells(&bench, true, "such as \"tolerances\": {\"odd.m00\": \"10%\"}"));
    CHECK(!tells(&bench, true, "noisy"));
    bench.now[0].value = 130;
    CHECK_EQ_INT(verdict(&bench, NULL, 0), GATE_MOVED);
    CHECK(tells(&bench, true,
                "such as \"tolerances\": {\"odd.m01\": \"0.002%\"}; odd.m00 moved by 30 %, more than a gate "
                "should tolerate (10 %): if that is noise, the metric is too noisy for a gate"));
    bench.now[1].value = 100;
    CHECK_EQ_INT(verdict(&bench, NULL, 0), GATE_MOVED);
    CHECK(tells(&bench, true, "with --update; odd.m00 moved by 30 %, more"));
    CHECK(!tells(&bench, true, "\"tolerances\""));
    bench.now[1].value = 100.0015;
    /* A tolerance that the user has set is not to be raised. */
    CHECK_EQ_INT(verdict(&bench, "odd.m00", 1), GATE_MOVED);
    CHECK(tells(&bench, true, "such as \"tolerances\": {\"odd.m01\": \"0.002%\"}"));
    CHECK_EQ_INT(verdict(&bench, "odd.*", 1), GATE_MOVED);
    CHECK(tells(&bench, true, "--update"));
    CHECK(!tells(&bench, true, "tolerances"));
    arena_fini(&bench.arena);
}

/* A count without a better side, such as GPUs, follows from a key that has changed: a tolerance is no answer. */
TEST(counts_that_follow_from_keys_get_no_tolerance)
{
    struct scenario_change change = {"cluster.nodes", "4", "8"};
    struct bench bench;
    bench_init(&bench);
    bench.before[0].direction = bench.now[0].direction = 0;
    bench.now[0].value = 200;
    CHECK_EQ_INT(verdict(&bench, NULL, 0), GATE_MOVED);
    CHECK(tells(&bench, true, "odd.m00 moved by 100 %"));
    CHECK(tells(&bench, false, "odd.m00  s          100  200  +100 %"));
    bench.result.changes = &change;
    bench.result.n_changes = 1;
    CHECK(!tells(&bench, true, "odd.m00"));
    bench.now[0].value = 500;
    CHECK_EQ_INT(verdict(&bench, NULL, 0), GATE_MOVED);
    CHECK(tells(&bench, false, "5x"));
    arena_fini(&bench.arena);
}

TEST(moves_not_shown_are_told_apart)
{
    static const struct {
        double percent;
        const char *rest;
    } cases[] = {{0, "and 4 more metrics: all beyond tolerance"},
                 {1, "and 4 more metrics: 2 beyond tolerance, 2 within"},
                 {20, "and 4 more metrics: all within tolerance"}};
    struct bench bench;
    bench_init(&bench);
    for (int i = 0; i < N; i++) bench.now[i].value = i < 12 ? 110 : 100.5;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        verdict(&bench, "*", cases[i].percent);
        CHECK(tells(&bench, false, cases[i].rest));
    }
    arena_fini(&bench.arena);
}

/* --- Against naive listings --- */

/* An object of the files that are there, with their hashes: bit i of `is_there`, and of `hashes`. */
static const struct json_node *files_of(struct arena *arena, uint64_t is_there, uint64_t hashes)
{
    static const struct json_source source = {.name = "files"};
    struct json_node *root = NULL;
    SCOPED(text) text;
    text_init(&text);
    text_add(&text, "{");
    for (int i = 0, n = 0; i < FILES; i++)
        if (is_there >> i & 1) text_printf(&text, "%s\"f%d\": \"%d\"", n++ > 0 ? ", " : "", i, (int)(hashes >> i & 1));
    text_add(&text, "}");
    const char *kept = arena_printf(arena, "%s", text.chars);
    CHECK_EQ_INT(json_parse(arena, &source, kept, strlen(kept), &root, NULL), 0);
    return root;
}

/* Files of the run that are new or have another hash come first, then those that only the baseline has. */
TEST(moved_files_are_those_of_a_naive_listing)
{
    struct rng rng = test_rng(43, "files", 0);
    for (int draw = 0; draw < 200; draw++) {
        struct bench bench;
        uint64_t bits[4];
        size_t n = 0;
        bench_init(&bench);
        for (int i = 0; i < 4; i++) bits[i] = rng_below(&rng, 1 << FILES);
        bench.entry.files = files_of(&bench.arena, bits[0], bits[1]);
        bench.outcome.files = files_of(&bench.arena, bits[2], bits[3]);
        verdict(&bench, NULL, 0);
        for (int gone = 0; gone < 2; gone++)
            for (int i = 0; i < FILES; i++) {
                const bool before = bits[0] >> i & 1, now = bits[2] >> i & 1, differs = (bits[1] ^ bits[3]) >> i & 1;
                if (gone ? !before || now : !now || (before && !differs)) continue;
                if (!CHECK(n < bench.result.n_files)) break;
                char name[16];
                snprintf(name, sizeof name, "f%d", i);
                CHECK_EQ_STR(bench.result.files[n++], name);
            }
        CHECK_EQ_INT(bench.result.n_files, n);
        arena_fini(&bench.arena);
    }
}

/* The first METRICS_SHOWN by importance, of those that the baseline or the run has, are the usual ones. */
TEST(usual_metrics_are_those_of_a_naive_count)
{
    struct rng rng = test_rng(130, "metrics", 0);
    size_t n_known = 0;
    while (metrics_by_importance[n_known] != NULL) n_known++;
    for (int draw = 0; draw < 200; draw++) {
        struct bench bench;
        int n_usual = 0;
        size_t n[2] = {0};
        bench_init(&bench);
        for (size_t k = 0; k < n_known && n[0] < N && n[1] < N; k++) {
            const uint64_t where = rng_below(&rng, 4); /* in neither, the baseline, the run, both */
            if (where & 1) bench.before[n[0]++] = (struct gate_metric){metrics_by_importance[k], "s", 100, -1};
            if (where & 2) bench.now[n[1]++] = (struct gate_metric){metrics_by_importance[k], "s", 110, -1};
            n_usual += where != 0;
        }
        bench.entry.n_metrics = n[0];
        bench.outcome.n_metrics = n[1];
        verdict(&bench, NULL, 0);
        CHECK_EQ_INT(bench.result.n_moves, n_usual);
        n_usual = n_usual < METRICS_SHOWN ? n_usual : METRICS_SHOWN;
        for (size_t k = 0, rank = 0; k < n_known; k++)
            for (size_t i = 0; i < bench.result.n_moves; i++) {
                const struct gate_move *move = &bench.result.moves[i];
                if (strcmp(move->name, metrics_by_importance[k]) != 0) continue;
                CHECK_EQ_INT(move->weight, rank++ < METRICS_SHOWN ? GATE_USUAL : GATE_OTHER);
                CHECK_EQ_INT(i < (size_t)n_usual, move->weight == GATE_USUAL); /* they come first */
            }
        arena_fini(&bench.arena);
    }
}
