/* Experts of DeepSeek-V3 on one of up to 256 GPUs: SGLang 0.5.10's grouped products behind low-latency dispatch
 * (masked rows) and behind normal dispatch (contiguous rows), as aiconfigurator measured them
 * (analysis/calibrate/profile/profile_wide.c).
 *
 * Bars, set with the rows known and before the first fit of a law to them: fitted to up to 64 GPUs, a law is judged on
 * 128 and 256. Held out by the number of GPUs, it is judged on each. */
#include "analysis/calibrate/folds.h"
#include "sim/catalog/calibration.h"
#include "sim/core/json_doc.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

#define TABLE(gpu, phase)                                                                                              \
    "gpu_profiles/aiconfigurator/" gpu "_sxm__sglang0.5.10__wideep_" phase "_moe_perf.csv"

static const struct table {
    const char *gpu, *path;
    size_t rows;       /* that are read */
    int64_t wide_rows; /* of them on 128 GPUs or more */
} tables[] = {{"h100-sxm", TABLE("h100", "generation"), 336, 96},
              {"b200-sxm", TABLE("b200", "generation"), 336, 96},
              {"h100-sxm", TABLE("h100", "context"), 315, 61},
              {"b200-sxm", TABLE("b200", "context"), 277, 58}};

enum { TABLES = sizeof tables / sizeof *tables, MOST_ROWS = 512 };

/* On 128 GPUs or more, of a fit to fewer; on each number of GPUs, of a fit to the others. */
static const double wide_median_bar = 0.15, wide_p90_bar = 0.35, median_bar = 0.10, p90_bar = 0.30;

static bool is_wide(const struct profile_row *row)
{
    return row->call.shape.moe.held <= 2.0;
}

/* False when the file is absent; in every case profile_fixture_fini is due. */
static bool read_table(struct profile_fixture *fixture, const struct table *table)
{
    const char *path = test_shared(table->path);
    if (!CHECK(profile_fixture_init(fixture, table->gpu) == 0) || path == NULL) return false;
    return CHECK_EQ_INT(profile_fixture_read(fixture, path), 0) && CHECK_EQ_INT(fixture->files[0].n, table->rows);
}

static enum kernel_class class_of(const struct profile *profile)
{
    return profile->rows[0].call.class;
}

/* Predicted over measured time of a row, less 1, by the law of a class. */
static double row_error(const struct profile_row *row, const union kernel_params *params, const struct gpu_spec *gpu,
                        enum kernel_class class)
{
    struct kernel_call call = row->call;
    call.class = class;
    call.shape.moe.dispatched |= class == KERNEL_MOE_FP8; /* as an iteration calls the fused kernel */
    return kernel_call_time(params, gpu, &call).seconds / row->measured_s - 1.0;
}

/* Error of a class on the rows for which `is_judged`. */
static struct fit_error error_of(const struct profile *profile, const union kernel_params *params,
                                 const struct gpu_spec *gpu, enum kernel_class class,
                                 bool (*is_judged)(const struct profile_row *))
{
    double errors[MOST_ROWS];
    size_t n = 0;
    for (size_t i = 0; i < profile->n; i++)
        if (is_judged(&profile->rows[i])) errors[n++] = row_error(&profile->rows[i], params, gpu, class);
    return fit_error_of(errors, n);
}

/* SGLang's fused kernel sorts, narrows and sums up choices itself, and leaves SMs idle with few experts: its law is
 * far off. */
TEST(the_fused_kernel_is_not_that_of_many_gpus)
{
    for (size_t i = 0; i < TABLES; i++) {
        SCOPED(profile_fixture) fixture;
        if (!read_table(&fixture, &tables[i])) continue;
        struct calibration calibration;
        CHECK_EQ_INT(calibration_load(&fixture.catalog, tables[i].gpu, "sglang-0.5", &fixture.arena, &calibration,
                                      &fixture.diag),
                     0);
        const struct fit_error error = error_of(&fixture.files[0], &calibration.kernels.params[KERNEL_MOE_FP8],
                                                &fixture.gpu, KERNEL_MOE_FP8, is_wide);
        CHECK(error.bias > wide_median_bar && error.p90 > wide_p90_bar);
    }
}

/* --- The tables of the page --- */

enum { EXPERTS = 256 };

/* Copies the cell `column` of the row of a number of GPUs from the table whose head has "| GPUs |", below a title of
 * the page. Empty when the page has no such cell. */
static void find_cell(const char *page, const char *title, int gpus, int column, char cell[64])
{
    char start[24];
    snprintf(start, sizeof start, "\n| %d |", gpus);
    const char *at = strstr(page, title);
    if (at != NULL) at = strstr(at, "| GPUs |");
    if (at != NULL) at = strstr(at, start);
    for (int i = 0; at != NULL && i < column; i++) at = strstr(at + 1, " | ");
    const char *end = at == NULL ? NULL : strstr(at + 3, " |");
    snprintf(cell, 64, "%.*s", end == NULL ? 0 : (int)(end - at - 3), end == NULL ? "" : at + 3);
}

/* The page has this error of a law on a number of GPUs: in the column of the fused kernel, or in the next. */
static void check_cell(const char *page, const struct table *table, int gpus, bool is_fused,
                       const struct fit_error *error)
{
    const double half_digit = 0.05 + 1e-3; /* percent; fits may differ a little between libraries */
    const bool is_masked = strstr(table->path, "_generation_") != NULL;
    const char *title = is_masked ? "\n## Experts over many GPUs" : "\n## Prompts of experts over many GPUs";
    double median, p90, bias;
    char cell[64];
    find_cell(page, title, gpus, (table->gpu[0] == 'h' ? 1 : 3) + !is_fused, cell);
    if (error->rows == 0) {
        CHECK_EQ_STR(cell, "–");
        return;
    }
    if (!CHECK_EQ_INT(sscanf(cell, "%lf / %lf, %lf", &median, &p90, &bias), 3)) return;
    CHECK_NEAR(median, 100.0 * error->median, half_digit);
    CHECK_NEAR(p90, 100.0 * error->p90, half_digit);
    CHECK_NEAR(bias, 100.0 * error->bias, half_digit);
}

static const char *read_page(void)
{
    char *page = NULL;
    size_t bytes = 0;
    const int status = json_read_file("configs/calibration/releases/experts/README.md", &page, &bytes);
    return CHECK(status == 0) ? test_own(page, mem_free) : NULL;
}

TEST(the_page_has_the_errors_of_the_fused_kernel)
{
    const char *page = read_page();
    MUST(page != NULL);
    for (size_t i = 0; i < TABLES; i++) {
        SCOPED(profile_fixture) fixture;
        struct calibration calibration;
        if (!read_table(&fixture, &tables[i])) continue;
        MUST(calibration_load(&fixture.catalog, tables[i].gpu, "sglang-0.5", &fixture.arena, &calibration,
                              &fixture.diag) == 0);
        for (int gpus = 2; gpus <= EXPERTS; gpus *= 2) {
            double errors[MOST_ROWS];
            size_t n = 0;
            for (size_t j = 0; j < fixture.files[0].n; j++) {
                const struct profile_row *row = &fixture.files[0].rows[j];
                if (row->call.shape.moe.held * gpus == EXPERTS)
                    errors[n++] = row_error(row, &calibration.kernels.params[KERNEL_MOE_FP8], &fixture.gpu,
                                            KERNEL_MOE_FP8);
            }
            const struct fit_error error = fit_error_of(errors, n);
            check_cell(page, &tables[i], gpus, true, &error);
        }
    }
}

TEST_OPTIMISED(the_page_has_the_errors_of_the_kernels_of_many_gpus)
{
    const char *page = read_page();
    MUST(page != NULL);
    for (size_t i = 0; i < TABLES; i++) {
        SCOPED(profile_fixture) fixture;
        struct fold_report report = {0};
        if (!read_table(&fixture, &tables[i])) continue;
        const struct profile *profile = &fixture.files[0];
        CHECK_EQ_INT(folds_run(class_of(profile), profile, FOLD_BY_GROUP, &fixture.arena, &report, &fixture.diag), 0);
        CHECK(report.n_folds >= 7);
        for (size_t j = 0; j < report.n_folds; j++)
            check_cell(page, &tables[i], atoi(report.folds[j].name), false, &report.folds[j].errors.cuts[CUT_ALL]);
    }
}

/* --- Fits --- */

/* Error on rows for which `is_judged`, of a fit to all numbers of GPUs without such rows. */
static struct fit_error unseen_error(struct profile_fixture *fixture, bool (*is_judged)(const struct profile_row *))
{
    const struct profile *profile = &fixture->files[0];
    const struct fit_model model = fit_model_of(class_of(profile));
    union kernel_params params = fit_model_initial(&model);
    bool held_out[MOST_ROWS] = {false};
    for (size_t i = 0; i < profile->n; i++) held_out[profile->rows[i].group] |= is_judged(&profile->rows[i]);
    CHECK_EQ_INT(fit_model_to(&model, profile->rows, profile->n, held_out, &params, &fixture->diag), 0);
    return error_of(profile, &params, &fixture->gpu, model.class, is_judged);
}

/* What few GPUs take says what many take, who hold an expert or two each. */
TEST_OPTIMISED(many_gpus_are_predicted_from_few)
{
    for (size_t i = 0; i < TABLES; i++) {
        SCOPED(profile_fixture) fixture;
        if (!read_table(&fixture, &tables[i])) continue;
        const struct fit_error error = unseen_error(&fixture, is_wide);
        CHECK(error.rows == tables[i].wide_rows && error.median < wide_median_bar && error.p90 < wide_p90_bar);
    }
}

static bool has_two_experts(const struct profile_row *row)
{
    return row->call.shape.moe.held == 2.0;
}

/* Of contiguous rows those on 128 GPUs are the hardest; the page has all. */
TEST_OPTIMISED(prompts_on_128_gpus_are_predicted_from_the_others)
{
    for (size_t i = 2; i < TABLES; i++) {
        SCOPED(profile_fixture) fixture;
        if (!read_table(&fixture, &tables[i])) continue;
        const struct fit_error error = unseen_error(&fixture, has_two_experts);
        CHECK(error.rows >= 30 && error.median < median_bar && error.p90 < p90_bar);
    }
}

/* Masked rows on H100s. On B200s two GPUs, which hold 128 experts each, miss the bar: the page has both. */
TEST_OPTIMISED(each_number_of_gpus_is_predicted_from_the_others)
{
    SCOPED(profile_fixture) fixture;
    struct fold_report report = {0};
    if (!read_table(&fixture, &tables[0])) return;
    const struct profile *profile = &fixture.files[0];
    CHECK_EQ_INT(folds_run(class_of(profile), profile, FOLD_BY_GROUP, &fixture.arena, &report, &fixture.diag), 0);
    CHECK(report.n_folds == 7);
    for (size_t i = 0; i < report.n_folds; i++) {
        const struct fit_error *error = &report.folds[i].errors.cuts[CUT_ALL];
        CHECK(error->median < median_bar && error->p90 < p90_bar);
    }
}
