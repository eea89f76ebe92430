/* Intervals of a board: quantiles of measured over predicted times, and the coverage by other groups. */
#include "analysis/calibrate/board/board_interval.h"
#include "sim/catalog/time_error.h"
#include "sim/core/path.h"
#include "tests/support/harness.h"

#include <sys/stat.h>

enum { PER_GROUP = 101 };

/* A judged row that was measured at `ratio` of its prediction, and at twice that of the roofline's. */
static struct board_row row_of(const char *group, double ratio)
{
    return (struct board_row){.mode = "agg", .group = group, .first_copy = true, .tpot_s = 0.010 * ratio,
                              .left_out_tpot_s = 0.010, .predicted_tpot_s = 0.007, .in_fit = BOARD_ROW_IN_FIT,
                              .roofline_tpot_s = 0.005};
}

/* Ratios 0.5, 0.51 ... 1.5 in group a, the same times 1.2 in b: each a line, whose quantiles are known. */
static void fill(struct board_row *rows)
{
    for (int i = 0; i < PER_GROUP; i++) {
        rows[2 * i] = row_of("a", 0.5 + 0.01 * i);
        rows[2 * i + 1] = row_of("b", 1.2 * (0.5 + 0.01 * i));
        rows[2 * i + 1].in_fit = BOARD_IN_NO_FIT; /* of a system that no fit has seen, the shipped prediction counts */
        rows[2 * i + 1].predicted_tpot_s = 0.010;
        rows[2 * i + 1].left_out_tpot_s = 0.003;
    }
}

TEST(the_interval_of_a_group_comes_from_the_others)
{
    struct board_row rows[2 * PER_GROUP];
    struct board board = {.rows = rows, .n = 2 * PER_GROUP};
    struct board_interval intervals[N_BOARD_MODELS];
    fill(rows);
    CHECK_EQ_INT(board_find_intervals(&board, intervals), 0);
    CHECK_EQ_INT((int64_t)intervals[BOARD_PRESETS].rows, 2 * PER_GROUP);
    CHECK_EQ_INT((int64_t)intervals[BOARD_PRESETS].groups, 2);
    CHECK_NEAR(rows[0].fast_tpot_s, 0.010 * 1.2 * 0.55, 1e-12); /* a's from b */
    CHECK_NEAR(rows[0].slow_tpot_s, 0.010 * 1.2 * 1.45, 1e-12);
    CHECK_NEAR(rows[1].fast_tpot_s, 0.010 * 0.55, 1e-12); /* b's from a */
    CHECK_NEAR(rows[1].slow_tpot_s, 0.010 * 1.45, 1e-12);
    size_t inside = 0;
    for (size_t i = 0; i < board.n; i++)
        inside += rows[i].tpot_s >= rows[i].fast_tpot_s && rows[i].tpot_s <= rows[i].slow_tpot_s;
    CHECK_NEAR(intervals[BOARD_PRESETS].covered_frac, (double)inside / (double)board.n, 1e-12);
    CHECK(inside > 0 && inside < board.n);
    CHECK_NEAR(intervals[BOARD_ROOFLINE].fast_frac, 2.0 * intervals[BOARD_PRESETS].fast_frac, 1e-12);
    CHECK_NEAR(intervals[BOARD_ROOFLINE].covered_frac, intervals[BOARD_PRESETS].covered_frac, 1e-12);
}

/* Rows that are not judged have no influence and get no interval; a lone group has no others to be judged by. */
TEST(only_judged_rows_count)
{
    struct board_row rows[2 * PER_GROUP];
    struct board board = {.rows = rows, .n = 2 * PER_GROUP};
    struct board_interval intervals[N_BOARD_MODELS];
    fill(rows);
    for (int i = 0; i < PER_GROUP; i++) rows[2 * i + 1].suspect = "odd";
    CHECK_EQ_INT(board_find_intervals(&board, intervals), 0);
    CHECK_EQ_INT((int64_t)intervals[BOARD_PRESETS].rows, PER_GROUP);
    CHECK_NEAR(intervals[BOARD_PRESETS].fast_frac, 0.55, 1e-12);
    CHECK_NEAR(intervals[BOARD_PRESETS].slow_frac, 1.45, 1e-12);
    CHECK(isnan(intervals[BOARD_PRESETS].covered_frac));
    CHECK(isnan(rows[0].fast_tpot_s) && isnan(rows[1].fast_tpot_s));
}

/* Rows of two groups, then, from 2 * PER_GROUP on, of two groups on GPUs that are foreign to their preset. */
static struct board fill_foreign(struct board_row rows[4 * PER_GROUP])
{
    fill(rows);
    fill(rows + 2 * PER_GROUP);
    for (int i = 0; i < 2 * PER_GROUP; i++) {
        rows[2 * PER_GROUP + i].group = i % 2 == 0 ? "c" : "d";
        rows[2 * PER_GROUP + i].foreign = true;
    }
    return (struct board){.rows = rows, .n = 4 * PER_GROUP};
}

/* Rows of GPUs that are foreign to their preset have an interval from each other, widened to that of the others. */
TEST(foreign_gpus_are_apart)
{
    struct board_row rows[4 * PER_GROUP];
    struct board board = fill_foreign(rows);
    struct board_interval intervals[N_BOARD_MODELS];
    for (struct board_row *row = rows + 2 * PER_GROUP; row < rows + 4 * PER_GROUP; row++) row->tpot_s *= 3.0;
    CHECK_EQ_INT(board_find_intervals(&board, intervals), 0);
    CHECK_EQ_INT((int64_t)intervals[BOARD_PRESETS].rows, 2 * PER_GROUP);
    CHECK_EQ_INT((int64_t)intervals[BOARD_FOREIGN].rows, 2 * PER_GROUP);
    CHECK_EQ_INT((int64_t)intervals[BOARD_FOREIGN].groups, 2);
    CHECK_NEAR(intervals[BOARD_FOREIGN].slow_frac, 3.0 * intervals[BOARD_PRESETS].slow_frac, 1e-12);
    CHECK_NEAR(intervals[BOARD_FOREIGN].fast_frac, intervals[BOARD_PRESETS].fast_frac, 1e-12);
    CHECK(intervals[BOARD_FOREIGN].covered_frac > intervals[BOARD_PRESETS].covered_frac);
    CHECK_NEAR(rows[0].slow_tpot_s, 0.010 * 1.2 * 1.45, 1e-12);
    CHECK_NEAR(rows[2 * PER_GROUP].slow_tpot_s, 3.0 * 0.010 * 1.2 * 1.45, 1e-12);
    CHECK_EQ_INT((int64_t)intervals[BOARD_ROOFLINE].rows, 4 * PER_GROUP);
}

/* The interval of foreign GPUs holds that of the others: both ends, of all rows and without a group. */
TEST(foreign_gpus_are_no_surer)
{
    struct board_row rows[4 * PER_GROUP];
    struct board board = fill_foreign(rows);
    struct board_interval intervals[N_BOARD_MODELS];
    for (struct board_row *row = rows + 2 * PER_GROUP; row < rows + 4 * PER_GROUP; row++)
        row->tpot_s = 0.010 + 0.1 * (row->tpot_s - 0.010);
    CHECK_EQ_INT(board_find_intervals(&board, intervals), 0);
    CHECK_NEAR(intervals[BOARD_FOREIGN].fast_frac, intervals[BOARD_PRESETS].fast_frac, 1e-12);
    CHECK_NEAR(intervals[BOARD_FOREIGN].slow_frac, intervals[BOARD_PRESETS].slow_frac, 1e-12);
    CHECK_NEAR(rows[2 * PER_GROUP].fast_tpot_s, 0.010 * intervals[BOARD_PRESETS].fast_frac, 1e-12);
    CHECK_NEAR(intervals[BOARD_FOREIGN].covered_frac, 1.0, 1e-12);
}

/* Rows with prompts on other GPUs have the interval of judged rows outside of their group, of their kind. They change
 * none. Without a prediction, or without judged rows in other groups, there is no interval. */
TEST(prompts_on_other_gpus_have_the_interval_of_judged_rows)
{
    enum { N_JUDGED = 4 * PER_GROUP, N_APART = 5 };
    static const char *const groups[N_APART] = {"a", "new", "c", "new", "a"};
    struct board_row rows[N_JUDGED + N_APART];
    struct board board = fill_foreign(rows);
    struct board_interval before[N_BOARD_MODELS], after[N_BOARD_MODELS];
    CHECK_EQ_INT(board_find_intervals(&board, before), 0);
    for (int i = 0; i < N_APART; i++) {
        rows[N_JUDGED + i] = row_of(groups[i], 99.0);
        rows[N_JUDGED + i].mode = "disagg";
        rows[N_JUDGED + i].in_fit = BOARD_IN_NO_FIT;
        rows[N_JUDGED + i].suspect = "speculation";
        rows[N_JUDGED + i].foreign = i == 2 || i == 3;
    }
    rows[N_JUDGED + 4].reason = "not predicted";
    board.n += N_APART;
    CHECK_EQ_INT(board_find_intervals(&board, after), 0);
    for (int model = 0; model < N_BOARD_MODELS; model++) {
        CHECK(before[model].fast_frac == after[model].fast_frac && before[model].slow_frac == after[model].slow_frac);
        CHECK(before[model].rows == after[model].rows && before[model].covered_frac == after[model].covered_frac);
    }
    const struct board_row *apart = rows + N_JUDGED;
    CHECK_NEAR(apart[0].fast_tpot_s, 0.007 * 1.2 * 0.55, 1e-12); /* of group a: from b */
    CHECK_NEAR(apart[0].slow_tpot_s, 0.007 * 1.2 * 1.45, 1e-12);
    CHECK_NEAR(apart[1].fast_tpot_s, 0.007 * after[BOARD_PRESETS].fast_frac, 1e-12);
    CHECK_NEAR(apart[1].slow_tpot_s, 0.007 * after[BOARD_PRESETS].slow_frac, 1e-12);
    CHECK_NEAR(apart[2].fast_tpot_s, 0.007 * after[BOARD_PRESETS].fast_frac, 1e-12); /* of d, and others */
    CHECK_NEAR(apart[3].slow_tpot_s, 0.007 * after[BOARD_FOREIGN].slow_frac, 1e-12);
    CHECK(isnan(apart[4].fast_tpot_s) && isnan(apart[4].slow_tpot_s));
    for (int i = 0; i < N_JUDGED; i++) rows[i].suspect = "odd";
    CHECK_EQ_INT(board_find_intervals(&board, after), 0);
    CHECK(isnan(apart[0].fast_tpot_s) && isnan(apart[3].slow_tpot_s));
}

/* What is written is what the catalog reads, to four digits; an interval holds the prediction. */
TEST(the_file_is_what_the_catalog_reads)
{
    static const struct board_file file = {.source = "tables"};
    const struct board board = {.file = &file};
    const struct board_interval intervals[N_BOARD_MODELS] = {
        [BOARD_PRESETS] = {0.61234, 1.23456, 10, 2, 0.9}, [BOARD_FOREIGN] = {0.5, 1.5, 4, 3, 0.8},
        [BOARD_ROOFLINE] = {0.1, 9.0, 99, 9, 0.9}};
    struct arena arena;
    struct diag diag;
    struct text json;
    struct time_error error;
    arena_init(&arena);
    diag_init(&diag);
    text_init(&json);
    CHECK_EQ_INT(board_write_intervals(&board, intervals, &json), 0);
    const char *root = arena_printf(&arena, "%s/configs", test_tmpdir());
    MUST(mkdir(root, 0700) == 0 && mkdir(path_join(&arena, root, "calibration"), 0700) == 0 &&
         mkdir(path_join(&arena, root, "calibration/releases"), 0700) == 0);
    test_write(path_join(&arena, root, "calibration/releases/in_no_fit.json"), "%s", json.chars);
    const struct catalog catalog = {.root = root};
    CHECK_EQ_INT(time_error_in_no_fit(&catalog, "operators", false, &arena, &error, &diag), 0);
    CHECK_NEAR(error.fast_frac, 0.6123, 1e-12);
    CHECK_NEAR(error.slow_frac, 1.235, 1e-12);
    CHECK_EQ_STR(error.basis, "10 measured runs of 2 systems, each predicted without its group");
    CHECK_EQ_INT(time_error_in_no_fit(&catalog, "operators", true, &arena, &error, &diag), 0);
    CHECK_NEAR(error.slow_frac, 1.5, 1e-12);
    CHECK_EQ_STR(error.basis, "4 measured runs of 3 systems, each predicted without its group, on GPUs that their "
                              "engine was not measured with");
    CHECK_EQ_INT(time_error_in_no_fit(&catalog, "roofline", false, &arena, &error, &diag), 0);
    CHECK(error.basis == NULL);
    CHECK_EQ_INT(time_error_in_no_fit(&catalog, "affine", true, &arena, &error, &diag), 0);
    CHECK(error.basis == NULL);
    CHECK_EQ_INT(time_error_in_no_fit(&(struct catalog){.root = "no/such"}, "operators", false, &arena, &error,
                                   &diag), 0);
    CHECK(error.basis == NULL);
    text_fini(&json);
    arena_fini(&arena);
}
