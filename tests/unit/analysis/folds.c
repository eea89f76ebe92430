/* Cross-validation on synthetic rows: every row is left out once, and by the fold of its name. */
#include "analysis/calibrate/folds.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

enum { ROWS = 300 };

static const char *const few[] = {"a", "b", "c"};
static const union kernel_params truth = {.elementwise = {2e-6, 0.5, 1.5, 600.0, 0.6, 4.0, 0.4, 0.9}};

struct made {
    struct profile_fixture fixture;
    struct profile_row rows[ROWS];
    struct profile profile;
    struct fold_report report;
};

/* Rows of the model's own times, of `n_groups` groups in turn; group 1 is `skew` times as slow as the others. */
static int make(struct made *made, const char **groups, size_t n_groups, double skew)
{
    const int code = profile_fixture_init(&made->fixture, "a100-80-sxm");
    struct rng rng = test_rng(1, "folds", 0);
    for (size_t i = 0; i < ROWS; i++) {
        struct profile_row *row = &made->rows[i];
        const double tokens = 1.0 + (double)rng_below(&rng, 8000);
        *row = (struct profile_row){.call = {.class = KERNEL_NORM, .shape.elementwise = {tokens, 8192.0, 2.0}},
                                    .gpu = &made->fixture.gpu,
                                    .op = OP_NORM,
                                    .tokens = tokens,
                                    .group = (uint32_t)(i % n_groups)};
        row->measured_s = kernel_call_time(&truth, row->gpu, &row->call).seconds * (row->group == 1 ? skew : 1.0);
    }
    made->profile = (struct profile){.rows = made->rows, .n = ROWS, .groups = groups, .n_groups = n_groups};
    return code;
}

static int run(struct made *made, enum fold_by by)
{
    return folds_run(KERNEL_NORM, &made->profile, by, &made->fixture.arena, &made->report, &made->fixture.diag);
}

/* A group unlike the others spoils what is said of it by a fit that has not seen it, and nothing else. */
TEST(each_of_few_groups_is_left_out_once)
{
    struct made made;
    const char *groups[] = {few[0], few[1], few[2]};
    MUST(make(&made, groups, 3, 1.25) == 0);
    MUST(run(&made, FOLD_BY_GROUP) == 0);
    const struct fold_report *report = &made.report;
    MUST(report->n_folds == 3);
    int64_t rows = 0;
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ_STR(report->folds[i].name, few[i]);
        rows += report->folds[i].errors.cuts[CUT_ALL].rows;
    }
    CHECK_EQ_INT(rows, ROWS);
    CHECK_EQ_INT(report->held_out.cuts[CUT_ALL].rows, ROWS);
    CHECK_NEAR(report->folds[1].errors.cuts[CUT_ALL].median, 0.2, 1e-4);
    CHECK_NEAR(report->folds[1].errors.cuts[CUT_ALL].bias, -0.2, 1e-4);
    for (size_t i = 0; i < ROWS; i++) {
        const struct profile_row *row = &report->rows[i];
        const double expected = kernel_call_time(&report->folds[row->group].params, row->gpu, &row->call).seconds;
        CHECK(report->held_out_s[i] == expected);
    }
    profile_fixture_fini(&made.fixture);
}

TEST(cuts_partition_the_rows)
{
    struct made made;
    const char *groups[] = {few[0], few[1], few[2]};
    MUST(make(&made, groups, 3, 1.0) == 0);
    MUST(run(&made, FOLD_BY_GROUP) == 0);
    const struct fit_error *cuts = made.report.held_out.cuts;
    CHECK_EQ_INT(cuts[CUT_1_16].rows + cuts[CUT_17_256].rows + cuts[CUT_257_4096].rows + cuts[CUT_4097].rows, ROWS);
    CHECK_EQ_INT(cuts[CUT_LARGE].rows, 0);
    CHECK_EQ_INT(made.report.held_out.ops[OP_NORM].rows, ROWS);
    CHECK(cuts[CUT_ALL].worst < 1e-4);
    CHECK_EQ_INT(made.report.roofline.cuts[CUT_ALL].rows, 0); /* a norm has no flop to speak of */
    CHECK_EQ_INT(made.report.layer_sum.cuts[CUT_ALL].rows, 0);
    profile_fixture_fini(&made.fixture);
}

/* Many groups go into five folds by their names, so that renumbering them changes nothing. */
TEST(many_groups_are_hashed)
{
    enum { GROUPS = 40 };
    struct made made;
    char names[GROUPS][8];
    const char *groups[GROUPS], *reversed[GROUPS];
    for (size_t i = 0; i < GROUPS; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        groups[i] = reversed[GROUPS - 1 - i] = names[i];
    }
    MUST(make(&made, groups, GROUPS, 1.1) == 0);
    MUST(run(&made, FOLD_BY_GROUP) == 0);
    CHECK_EQ_INT(made.report.n_folds, 5);
    CHECK_EQ_STR(made.report.folds[4].name, "fold-5");
    const struct fold_report first = made.report;
    for (size_t i = 0; i < ROWS; i++) made.rows[i].group = GROUPS - 1 - made.rows[i].group;
    made.profile.groups = reversed;
    MUST(run(&made, FOLD_BY_GROUP) == 0);
    for (size_t i = 0; i < ROWS; i++) {
        CHECK_EQ_INT(made.report.rows[i].group, first.rows[i].group);
        CHECK(made.report.held_out_s[i] == first.held_out_s[i]);
    }
    profile_fixture_fini(&made.fixture);
}

/* Two GPUs with the same efficiencies: what one teaches holds for the other. */
TEST(a_gpu_is_predicted_from_the_others)
{
    struct made made;
    SCOPED(profile_fixture) other = {0};
    const char *groups[] = {few[0]};
    MUST(make(&made, groups, 1, 1.0) == 0);
    MUST(profile_fixture_init(&other, "h100-sxm") == 0);
    for (size_t i = 0; i < ROWS; i += 2) {
        made.rows[i].gpu = &other.gpu;
        made.rows[i].measured_s = kernel_call_time(&truth, &other.gpu, &made.rows[i].call).seconds;
    }
    MUST(run(&made, FOLD_BY_GPU) == 0);
    MUST(made.report.n_folds == 2);
    CHECK_EQ_STR(made.report.folds[0].name, "h100-sxm");
    CHECK(made.report.held_out.cuts[CUT_ALL].worst < 1e-4);
    MUST(run(&made, FOLD_BY_GROUP) == 0);
    CHECK_EQ_INT(made.report.n_folds, 0);
    CHECK_EQ_INT(made.report.held_out.cuts[CUT_ALL].rows, 0);
    CHECK_EQ_INT(made.report.fit.cuts[CUT_ALL].rows, ROWS);
    profile_fixture_fini(&made.fixture);
}

/* Four products in a line are a layer; errors of opposite sign cancel in its sum. */
TEST(a_layer_is_the_sum_of_its_products)
{
    static const double factors[] = {1.1, 0.9, 1.1, 0.9};
    struct made made;
    const char *groups[] = {few[0], few[1]};
    MUST(make(&made, groups, 2, 1.0) == 0);
    for (size_t i = 0; i < ROWS; i++) {
        struct profile_row *row = &made.rows[i];
        const double m = 16.0 + 32.0 * (double)(i / 4 % 30);
        row->call = (struct kernel_call){.class = KERNEL_GEMM, .shape.gemm = {m, 4096, 4096, FORMAT_FP16, FORMAT_FP16}};
        row->measured_s = (1e-5 + 1e-7 * m) * factors[i % 4];
        row->line = (uint32_t)(i / 4);
        row->group = i >= ROWS / 2;
    }
    MUST(folds_run(KERNEL_GEMM, &made.profile, FOLD_BY_GROUP, &made.fixture.arena, &made.report, &made.fixture.diag) ==
         0);
    CHECK_EQ_INT(made.report.layer_sum.cuts[CUT_ALL].rows, (ROWS / 2) / 4 * 2);
    CHECK(made.report.layer_sum.cuts[CUT_ALL].median < made.report.held_out.cuts[CUT_ALL].median - 0.02);
    CHECK_EQ_INT(made.report.roofline.cuts[CUT_ALL].rows, ROWS);
    profile_fixture_fini(&made.fixture);
}
