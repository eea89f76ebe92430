/* Calibrating from profiles to files and back: what is written reads back as the same numbers, files merge by set and
 * class, and a model predicts the rows it was made from. */
#include "analysis/calibrate/calibrate.h"
#include "analysis/calibrate/write.h"
#include "sim/catalog/calibration_file.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

/* A profile of 90 rows in three groups, exactly as the law says with its initial parameters. */
static void make_profile(const struct profile_fixture *fixture, const char *const *kernels, struct text *csv)
{
    struct kernel_set set;
    kernel_set_init(&set);
    text_add(csv, "kernel,tokens,width,time_s,group\n");
    for (int i = 0; i < 90; i++) {
        const struct elementwise_shape shape = {
            .tokens = ldexp(1.0, i % 15), .width = 1024.0 * (1 + i % 4), .number_bytes = 2.0};
        const double seconds = elementwise_time(&set.params[KERNEL_NORM].elementwise, &fixture->gpu, &shape).seconds;
        text_printf(csv, "%s,%.17g,%.17g,%.17g,llm%d\n", kernels[i % 2], shape.tokens, shape.width, seconds, i % 3);
    }
}

/* Calibrates `set` from such a profile. */
static int calibrate(struct profile_fixture *fixture, const char *name, const char *const *kernels,
                     struct calibrated_set *set)
{
    SCOPED(text) csv = {0};
    make_profile(fixture, kernels, &csv);
    int code = profile_fixture_text(fixture, "norm.csv", csv.chars);
    if (code == 0)
        code = calibrate_set(name, &fixture->files[fixture->n_files - 1], 1, false, &fixture->arena, set,
                             &fixture->diag);
    return code;
}

static const char *file_path(struct profile_fixture *fixture)
{
    return arena_printf(&fixture->arena, "%s/gpu.json", test_tmpdir());
}

/* Lays a set over a file. */
static int save(struct profile_fixture *fixture, const char *gpu, const struct calibrated_set *set, const char *path)
{
    SCOPED(text) json = {0};
    int code = calibration_write(gpu, set, 1, path, &json, &fixture->diag);
    if (code == 0) {
        FILE *file = fopen(path, "w");
        code = file != NULL && fputs(json.chars, file) >= 0 ? 0 : SIM_E_IO;
        if (file != NULL) fclose(file);
    }
    return code;
}

static const char *const both[] = {"norm", "residual"};
static const char *const norms[] = {"norm", "norm"};

TEST(what_is_written_reads_back)
{
    SCOPED(profile_fixture) fixture = {0};
    struct calibrated_set set;
    struct calibration read;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *path = file_path(&fixture);
    MUST(CHECK_EQ_INT(calibrate(&fixture, "mine", both, &set), 0));
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &set, path), 0));
    MUST(CHECK_EQ_INT(calibration_load(&fixture.catalog, path, "mine", &fixture.arena, &read, &fixture.diag), 0));
    CHECK(read.calibrated);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        if (set.classes[c] == NULL) continue;
        const struct fold_report *report = &set.classes[c]->report;
        const struct kernel_class_info *info = kernel_class_info((enum kernel_class)c);
        CHECK_EQ_STR(read.origin[c], "mine");
        for (size_t i = 0; i < info->n_params; i++)
            CHECK_NEAR(read.kernels.params[c].values[i] / report->params.values[i], 1.0, 1e-5);
        for (size_t i = 0; i < info->n_axes; i++) {
            CHECK_NEAR(read.kernels.ranges[c].low[i], report->range.low[i], 0.0);
            CHECK_NEAR(read.kernels.ranges[c].high[i], report->range.high[i], 0.0);
        }
        CHECK(memcmp(read.kernels.ranges[c].formats, report->range.formats, sizeof report->range.formats) == 0 ||
              info->stored == NULL);
    }
    CHECK(set.classes[KERNEL_NORM] != NULL && set.classes[KERNEL_RESIDUAL] != NULL && set.classes[KERNEL_GEMM] == NULL);
}

TEST(the_errors_read_back)
{
    SCOPED(profile_fixture) fixture = {0};
    struct calibrated_set set;
    struct calibration_file file;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *path = file_path(&fixture);
    MUST(CHECK_EQ_INT(calibrate(&fixture, "mine", norms, &set), 0));
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &set, path), 0));
    MUST(CHECK_EQ_INT(calibration_file_read(path, &fixture.arena, &file, &fixture.diag), 0));
    const struct calibration_set *found = calibration_file_set(&file, "mine");
    MUST(CHECK(found != NULL));
    const struct calibration_class *norm = &found->classes[KERNEL_NORM];
    CHECK_EQ_INT(norm->rows, 90);
    CHECK_EQ_STR(norm->held_out.by, "group");
    CHECK_EQ_INT(norm->held_out.folds.n, 3);
    MUST(CHECK(norm->fit.n > 0));
    const struct calibration_error *all = norm->fit.items;
    CHECK_EQ_STR(all->name, "all");
    CHECK_NEAR(all->median, set.classes[KERNEL_NORM]->report.fit.cuts[CUT_ALL].median, 1e-5);
    const struct calibration_profile *profile = norm->profiles.items;
    CHECK_EQ_STR(profile->file, "norm.csv");
    CHECK_EQ_STR(profile->hash, fixture.files[0].hash);
}

/* A parameter at a bound is named in the file, and no other. */
TEST(what_a_bound_has_set_reads_back)
{
    SCOPED(profile_fixture) fixture = {0};
    struct calibrated_set set;
    struct calibration_file file;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *path = file_path(&fixture);
    const struct kernel_class_info *info = kernel_class_info(KERNEL_NORM);
    MUST(CHECK_EQ_INT(calibrate(&fixture, "mine", norms, &set), 0));
    struct calibrated_class norm = *set.classes[KERNEL_NORM];
    for (size_t i = 0; i < info->n_params; i++) norm.report.params.values[i] = info->params[i].initial;
    norm.report.params.elementwise.softness = info->params[2].high;
    set.classes[KERNEL_NORM] = &norm;
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &set, path), 0));
    MUST(CHECK_EQ_INT(calibration_file_read(path, &fixture.arena, &file, &fixture.diag), 0));
    const struct calibration_set *found = calibration_file_set(&file, "mine");
    MUST(CHECK(found != NULL) && CHECK_EQ_INT(found->classes[KERNEL_NORM].at_bound.n, 1));
    CHECK_EQ_STR(*(const char *const *)found->classes[KERNEL_NORM].at_bound.items, "softness");
}

/* With a table every row comes back, to the digits that a file keeps; a class fitted anew without one loses it. */
TEST(the_table_reads_back)
{
    SCOPED(profile_fixture) fixture = {0};
    struct calibrated_set set;
    struct calibration read;
    struct prediction prediction;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *path = file_path(&fixture);
    MUST(CHECK_EQ_INT(calibrate(&fixture, "mine", both, &set), 0));
    set.has_table = true;
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &set, path), 0));
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &set, path), 0));
    MUST(CHECK_EQ_INT(calibration_load(&fixture.catalog, path, "mine", &fixture.arena, &read, &fixture.diag), 0));
    CHECK(read.kernels.tables[KERNEL_NORM] != NULL && read.kernels.tables[KERNEL_RESIDUAL] != NULL);
    CHECK(read.kernels.tables[KERNEL_GEMM] == NULL);
    MUST(CHECK_EQ_INT(predict_profile(&read, "mine", &fixture.files[0], &prediction, &fixture.diag), 0));
    CHECK(prediction.table_frac == 1.0);
    CHECK(prediction.errors.cuts[CUT_ALL].worst < 1e-8);
    set.has_table = false;
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &set, path), 0));
    MUST(CHECK_EQ_INT(calibration_load(&fixture.catalog, path, "mine", &fixture.arena, &read, &fixture.diag), 0));
    CHECK(read.kernels.tables[KERNEL_NORM] == NULL);
}

TEST(sets_and_classes_are_merged)
{
    SCOPED(profile_fixture) fixture = {0};
    struct calibrated_set first, second, third;
    struct calibration_file file;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *path = file_path(&fixture);
    MUST(CHECK_EQ_INT(calibrate(&fixture, "one", both, &first), 0));
    MUST(CHECK_EQ_INT(calibrate(&fixture, "two", norms, &second), 0));
    MUST(CHECK_EQ_INT(calibrate(&fixture, "one", norms, &third), 0));
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &first, path), 0));
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &second, path), 0));
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &third, path), 0));
    MUST(CHECK_EQ_INT(calibration_file_read(path, &fixture.arena, &file, &fixture.diag), 0));
    const struct calibration_set *one = calibration_file_set(&file, "one"), *two = calibration_file_set(&file, "two");
    MUST(CHECK(one != NULL && two != NULL && file.sets.n == 2));
    CHECK_EQ_INT(one->classes[KERNEL_NORM].rows, 90);     /* of the third */
    CHECK_EQ_INT(one->classes[KERNEL_RESIDUAL].rows, 45); /* of the first */
    CHECK_EQ_INT(two->classes[KERNEL_NORM].rows, 90);
    CHECK_EQ_INT(two->classes[KERNEL_RESIDUAL].rows, 0);
    CHECK_EQ_INT(save(&fixture, "h100-sxm", &first, path), SIM_E_CONFIG);
}

TEST(a_model_predicts_its_own_rows)
{
    SCOPED(profile_fixture) fixture = {0};
    struct calibrated_set set;
    struct calibration read;
    struct prediction prediction;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *path = file_path(&fixture);
    MUST(CHECK_EQ_INT(calibrate(&fixture, "mine", norms, &set), 0));
    MUST(CHECK_EQ_INT(save(&fixture, "a100-80-sxm", &set, path), 0));
    MUST(CHECK_EQ_INT(calibration_load(&fixture.catalog, path, "mine", &fixture.arena, &read, &fixture.diag), 0));
    MUST(CHECK_EQ_INT(predict_profile(&read, "mine", &fixture.files[0], &prediction, &fixture.diag), 0));
    CHECK_EQ_INT(prediction.errors.cuts[CUT_ALL].rows, 90);
    CHECK_EQ_INT(prediction.errors.ops[OP_NORM].rows, 90);
    CHECK_NEAR(prediction.errors.cuts[CUT_ALL].median, set.classes[KERNEL_NORM]->report.fit.cuts[CUT_ALL].median, 1e-5);
    CHECK_NEAR(prediction.in_range_frac, 1.0, 0.0);
    CHECK(!prediction.is_default);
    int64_t in_bands = 0;
    for (int cut = CUT_1_16; cut < CUT_LARGE; cut++) in_bands += prediction.errors.cuts[cut].rows;
    CHECK_EQ_INT(in_bands, 90);
    const struct profile none = {.path = "none.csv"};
    CHECK_EQ_INT(predict_profile(&read, "mine", &none, &prediction, &fixture.diag), SIM_E_DATA);
}
