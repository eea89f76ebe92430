/* The files of configs/calibration/power are what the code and the measurements give: fitted anew, each has its
 * parameters and errors, and rows that no fit has seen keep the bars. Splitwise @ 8f99e7d, ML.ENERGY leaderboard @
 * 0cd52dab, Zeus @ 75a8b939, configs/calibration/measured. */
#include "analysis/calibrate/power/power_fit.h"
#include "sim/catalog/power.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

enum { MAX_FILES = 2 };

struct bench {
    struct arena arena;
    struct diag diag;
    struct gpu_spec gpu;
    struct power_data files[MAX_FILES];
    size_t n_files;
    struct power_file shipped;
    struct power_fitted fitted;
};

/* Reads the files, which are below shared data unless they begin with "configs", and fits a class. */
static bool fit(struct bench *bench, const char *gpu, enum power_class class, const char *const *paths, size_t n)
{
    char path[256];
    memset(bench, 0, sizeof *bench);
    arena_init(&bench->arena);
    diag_init(&bench->diag);
    snprintf(path, sizeof path, "configs/calibration/power/%s.json", gpu);
    int code = catalog_gpu(&catalog, gpu, NULL, &bench->arena, &bench->gpu, &bench->diag);
    if (code == 0) code = power_file_read(&catalog, path, &bench->arena, &bench->shipped, &bench->diag);
    for (size_t i = 0; i < n && code == 0; i++) {
        const char *file = strncmp(paths[i], "configs", 7) == 0 ? paths[i] : test_shared(paths[i]);
        if (file == NULL) return false;
        code = power_data_read(file, &catalog, &bench->gpu, &bench->arena, &bench->files[bench->n_files++],
                               &bench->diag);
    }
    if (code == 0) code = power_fit(class, bench->files, bench->n_files, &bench->gpu, &bench->arena, &bench->fitted);
    return CHECK_EQ_INT(code, 0);
}

static const struct fit_error *error_of(const struct power_errors *errors, const char *name)
{
    static const struct fit_error none = {.median = 1e9, .p90 = 1e9};
    for (size_t i = 0; i < errors->n; i++)
        if (strcmp(errors->items[i].name, name) == 0) return &errors->items[i].error;
    return &none;
}

static void check_errors(const struct power_errors *errors, const struct config_list *shipped)
{
    const struct calibration_error *items = shipped->items;
    MUST(shipped->n > 0);
    for (size_t i = 0; i < shipped->n; i++) {
        const struct fit_error *error = error_of(errors, items[i].name);
        CHECK_EQ_INT(error->rows, items[i].rows);
        CHECK_NEAR(error->median, items[i].median, 2e-4);
        CHECK_NEAR(error->p90, items[i].p90, 2e-4);
    }
}

static void check_activity(struct bench *bench, const char *gpu, const char *const *paths, size_t n)
{
    if (!fit(bench, gpu, POWER_ACTIVITY, paths, n)) return;
    const double *values = bench->fitted.values;
    CHECK_NEAR(values[POWER_ACTIVE], bench->shipped.active_w, 1e-3 * values[POWER_ACTIVE]);
    CHECK_NEAR(values[POWER_COMPUTE], bench->shipped.compute_w, 1e-3 * values[POWER_COMPUTE]);
    CHECK_NEAR(values[POWER_MEMORY], bench->shipped.memory_w, 1e-3 * values[POWER_MEMORY]);
    check_errors(&bench->fitted.fit, &bench->shipped.activity.fit);
    check_errors(&bench->fitted.held_out, &bench->shipped.activity.held_out.error);
}

TEST(splitwise)
{
    static const char *const paths[] = {"llm_end_to_end/splitwise__bloom-176b__latency_and_power.csv",
                                        "llm_end_to_end/splitwise__llama2-70b__latency_and_power.csv"};
    struct bench bench;
    check_activity(&bench, "a100-80-sxm", paths, 2);
    if (bench.fitted.rows > 0) {
        CHECK(error_of(&bench.fitted.fit, "mean")->median <= 0.10);
        CHECK(error_of(&bench.fitted.held_out, "bloom-176b")->median <= 0.10); /* by Llama-2-70B's rows */
    }
    arena_fini(&bench.arena);
}

TEST(mlenergy)
{
    static const char *const paths[] = {"power/mlenergy__h100_b200__llm_serving_power_and_energy.csv"};
    struct bench bench;
    check_activity(&bench, "h100-sxm", paths, 1);
    if (bench.fitted.rows > 0) CHECK(error_of(&bench.fitted.held_out, "all")->median <= 0.10);
    arena_fini(&bench.arena);
}

TEST(own_loads)
{
    static const char *const paths[] = {"configs/calibration/measured/h200-sxm-power.csv"};
    struct bench bench;
    check_activity(&bench, "h200-sxm", paths, 1);
    CHECK(error_of(&bench.fitted.fit, "all")->worst <= 0.10);
    CHECK(error_of(&bench.fitted.held_out, "all")->median <= 0.10);
    arena_fini(&bench.arena);
}

/* Fitted on every other job. The bars are for limits from 60 % of TDP on. */
static void check_caps(const char *gpu, const char *path)
{
    struct bench bench;
    if (fit(&bench, gpu, POWER_CLOCK, &path, 1)) {
        const struct fit_error *slowdown = error_of(&bench.fitted.held_out, "slowdown");
        CHECK_NEAR(bench.fitted.values[CLOCK_FLOOR], bench.shipped.clock.voltage_floor, 1e-3);
        check_errors(&bench.fitted.fit, &bench.shipped.clock_part.fit);
        check_errors(&bench.fitted.held_out, &bench.shipped.clock_part.held_out.error);
        CHECK(slowdown->rows >= 60);
        CHECK(slowdown->median <= 0.05);
        CHECK(slowdown->p90 <= 0.15);
    }
    arena_fini(&bench.arena);
}

TEST(zeus)
{
    check_caps("a40", "power/zeus__a40__training_power_limit_sweep.csv");
    check_caps("v100-32-pcie", "power/zeus__v100__training_power_limit_sweep.csv");
    check_caps("p100", "power/zeus__p100__training_power_limit_sweep.csv");
}
