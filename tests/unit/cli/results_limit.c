/* What a part of a run, or some runs of a study, tell about the size of the results. */
#include "sim/cli/run/results_limit.h"
#include "sim/cli/study/sweeping.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(results_grow_with_the_run)
{
    CHECK(results_predicted_bytes(2e9, 0.02, 100e9) == 100e9);
    CHECK(results_predicted_bytes(2e9, 1, 100e9) == 2e9);
}

/* Neither a few rows nor an unknown part of the run predict anything. */
TEST(a_small_part_predicts_nothing)
{
    CHECK(results_predicted_bytes(0.9e9, 1e-6, 100e9) == 0.9e9);
    CHECK(results_predicted_bytes(2e9, 0, 100e9) == 2e9);
}

static int count_warnings(struct sweeping_size *size, const struct sweep_progress *progress, char text[1024])
{
    char *chars = NULL;
    size_t n_chars;
    int n = 0;
    size->err = open_memstream(&chars, &n_chars);
    sweeping_size_warn(size, progress);
    fclose(size->err);
    for (const char *c = chars; *c != 0; c++) n += *c == '\n';
    snprintf(text, 1024, "%s", chars);
    free(chars);
    return n;
}

/* The runs of a study predict the size of all, before that is reached, and one warning tells it with what to do. */
TEST(a_study_warns_of_the_size_of_all_runs_once)
{
    struct sweeping_size size = {.output = "all.db", .keep = "rows", .limit_bytes = 10e9};
    struct sweep_progress progress = {.n_done = 9, .n_failed = 1, .n_runs = 101, .bytes = 0.99e9};
    char text[1024];
    CHECK(count_warnings(&size, &progress, text) == 0);
    progress.bytes = 1e9;
    CHECK(count_warnings(&size, &progress, text) == 1);
    CHECK(strstr(text, "all.db: warning: 10 of 101 runs have 1 GB") != NULL);
    CHECK(strstr(text, "all have 10.1 GB") != NULL);
    CHECK(strstr(text, "--results-limit") != NULL);
    CHECK(strstr(text, "\"keep\": \"curves\"") != NULL);
    CHECK(count_warnings(&size, &progress, text) == 0);
}

/* Few bytes tell too little; runs that are all over, or more than the limit, are no prediction. */
TEST(a_study_does_not_warn_without_a_prediction)
{
    char text[1024];
    const struct sweep_progress few = {.n_done = 1, .n_runs = 1000000, .bytes = 0.09e9};
    const struct sweep_progress all = {.n_done = 10, .n_runs = 10, .bytes = 10e9};
    const struct sweep_progress over = {.n_done = 10, .n_runs = 20, .bytes = 10.1e9};
    struct sweeping_size size = {.output = "all.db", .keep = "metrics", .limit_bytes = 10e9};
    CHECK(count_warnings(&size, &few, text) == 0);
    CHECK(count_warnings(&size, &all, text) == 0);
    CHECK(count_warnings(&size, &over, text) == 0);
}
