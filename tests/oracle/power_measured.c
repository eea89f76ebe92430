/* The files of configs/calibration/power are what the code and the measurements give: fitted anew, each has its
 * parameters and errors, and rows that no fit has seen keep the bars. Splitwise @ 8f99e7d, ML.ENERGY leaderboard @
 * 0cd52dab, Zeus @ 75a8b939, configs/calibration/measured. */
#include "analysis/calibrate/power/power_baseline.h"
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
    CHECK_NEAR(values[POWER_ATTENTION], bench->shipped.attention_w, 1e-3 * values[POWER_ATTENTION]);
    CHECK_NEAR(values[POWER_WIDENING], bench->shipped.widening_w, 1e-3 * values[POWER_WIDENING]);
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
    if (bench.fitted.rows > 0) {
        const struct fit_error *error = error_of(&bench.fitted.held_out, "all");
        CHECK(error->median <= 0.09);
        CHECK(error->p90 <= 0.18);
        for (int i = 0; i < BASELINES; i++) {
            const struct fit_error *baseline = error_of(&bench.fitted.held_out,
                                                        power_baseline_name((enum power_baseline)i));
            CHECK(error->median < baseline->median && error->p90 < baseline->p90);
        }
        for (int i = 0; i < POWER_ACTIVITY_PARAMS; i++)
            CHECK(bench.fitted.values[i] <= bench.gpu.tdp_w - bench.gpu.context_w);
    }
    arena_fini(&bench.arena);
}

/* Rows of three groups, of which `share` of the peak FLOP/s is the highest. */
static void make_rows(struct power_row *rows, size_t n, double share, double compute_w)
{
    static const char *const groups[] = {"a", "b", "c"};
    for (size_t i = 0; i < n; i++) {
        const double compute_frac = share * (double)(i + 1) / (double)n;
        const double memory_frac = 0.5 - 0.3 * (double)(i % 4) / 3.0;
        rows[i] = (struct power_row){.group = groups[i % 3], .part = "serving", .batch = (double)(i + 1), .n_phases = 1,
                                     .measured_w = 250.0 + compute_w * compute_frac + 100.0 * memory_frac,
                                     .phases = {{1.0, {1.0, compute_frac, memory_frac, 0.0, 0.0}}}};
    }
}

/* Far from the peak the board bounds what a fit says of it; rows near the peak say it themselves. No predicted power
 * exceeds the board. */
TEST(the_board_bounds_what_no_row_reaches)
{
    static const double shares[] = {0.2, 0.6};
    enum { ROWS = 24 };
    for (int i = 0; i < 2; i++) {
        struct arena arena;
        struct power_row rows[ROWS];
        struct power_fitted fitted;
        const struct power_data data = {.rows = rows, .n_rows = ROWS};
        const struct gpu_spec board = {.context_w = 100.0, .tdp_w = 700.0};
        arena_init(&arena);
        make_rows(rows, ROWS, shares[i], 650.0);
        CHECK_EQ_INT(power_fit(POWER_ACTIVITY, &data, 1, &board, &arena, &fitted), 0);
        const double *values = fitted.values;
        if (i == 0) CHECK(values[POWER_COMPUTE] <= 600.0 && values[POWER_ACTIVE] <= 600.0);
        if (i == 1) CHECK_NEAR(values[POWER_COMPUTE], 650.0, 10.0);
        const struct power_model model = {.context_w = 100.0, .limit_w = 700.0, .active_w = values[POWER_ACTIVE],
                                          .compute_w = values[POWER_COMPUTE], .memory_w = values[POWER_MEMORY],
                                          .voltage_floor = 1.0};
        for (double share = 0.0; share <= 1.0; share += 0.1)
            CHECK(power_draw_w(&model, &(struct power_load){1.0, share, 1.0, 0.0, 0.0}) <= 700.0);
        arena_fini(&arena);
    }
}

/* The length of prompts that the reader takes is what two rows leave that fill the memory of an H100: 691 sequences of
 * Llama-3.1-8B, 474 of Qwen3-8B. */
TEST(prompts_fill_the_memory_that_answers_leave)
{
    static const struct {
        const char *llm;
        double sequences, output_tokens;
    } full[] = {{"llama-3.1-8b", 690.9, 397.0}, {"qwen3-8b", 474.4, 645.0}};
    struct arena arena;
    struct diag diag;
    double sum_tokens = 0.0;
    arena_init(&arena);
    diag_init(&diag);
    for (int i = 0; i < 2; i++) {
        const struct kv_params engine = {.usable_frac = 0.9, .reserve_bytes = 512.0 * 1048576.0, .batch_tokens = 8192,
                                         .batch_sequences = 1024, .block_tokens = 16};
        struct gpu_spec gpu;
        struct llm_spec llm;
        MUST(catalog_gpu(&catalog, "h100-sxm", NULL, &arena, &gpu, &diag) == 0);
        MUST(catalog_llm(&catalog, full[i].llm, NULL, &arena, &llm, &diag) == 0);
        const struct kv_capacity memory = kv_capacity(&gpu, &llm, 1, 1, &engine);
        sum_tokens += (double)(16 * memory.blocks) / full[i].sequences - 0.5 * full[i].output_tokens;
    }
    CHECK_NEAR(0.5 * sum_tokens, 450.0, 45.0);
    arena_fini(&arena);
}

/* Three LLMs, two of them with narrow weights, on a law with all terms. A single group with a term does not tell it
 * from all else that is its own, and tensor cores that multiply blocks widen nothing. */
TEST(terms_are_fitted_where_groups_tell_them_apart)
{
    enum { ROWS = 60, FULL = 5 };
    static const char *const groups[] = {"a", "b", "c"};
    for (size_t known = 3; known <= FULL; known++) {
        struct arena arena;
        struct power_row rows[ROWS];
        struct power_fitted fitted;
        const struct power_data data = {.rows = rows, .n_rows = ROWS};
        struct gpu_spec board = {.context_w = 100.0, .tdp_w = 2000.0};
        struct rng rng = test_rng(7, "terms", known);
        if (known == 4) board.peak_flop_per_s[FORMAT_NVFP4] = 1e15;
        arena_init(&arena);
        for (size_t i = 0; i < ROWS; i++) {
            const bool reads = known > 3 || i % 3 > 0, widens = i % 3 > 0;
            struct power_load load = {1.0, 0.7 * rng_uniform(&rng), 0.0, 0.0, 0.0};
            load.attention_frac = reads ? 0.5 * rng_uniform(&rng) : 0.0;
            load.memory_frac = load.attention_frac + 0.5 * rng_uniform(&rng);
            load.widening_frac = widens ? 2.0 * rng_uniform(&rng) : 0.0;
            rows[i] = (struct power_row){.group = groups[i % 3], .part = "serving", .batch = 1.0, .n_phases = 1,
                                         .measured_w = 100.0 + 150.0 + 400.0 * load.compute_frac +
                                                       200.0 * load.memory_frac + 300.0 * load.attention_frac +
                                                       90.0 * load.widening_frac,
                                         .phases = {{1.0, load}}};
        }
        CHECK_EQ_INT(power_fit(POWER_ACTIVITY, &data, 1, &board, &arena, &fitted), 0);
        CHECK_EQ_INT(fitted.n_params, known);
        CHECK((fitted.values[POWER_ATTENTION] > 0.0) == (known > 3));
        CHECK((fitted.values[POWER_WIDENING] > 0.0) == (known > 4));
        if (known == FULL) {
            CHECK_NEAR(fitted.values[POWER_ACTIVE], 150.0, 2.0);
            CHECK_NEAR(fitted.values[POWER_COMPUTE], 400.0, 4.0);
            CHECK_NEAR(fitted.values[POWER_MEMORY], 200.0, 4.0);
            CHECK_NEAR(fitted.values[POWER_ATTENTION], 300.0, 4.0);
            CHECK_NEAR(fitted.values[POWER_WIDENING], 90.0, 1.0);
        }
        arena_fini(&arena);
    }
}

/* A baseline has no error where its law holds, in rows that it has not seen. */
TEST(baselines_are_right_where_they_hold)
{
    enum { ROWS = 12 };
    static const char *const groups[] = {"a", "b", "c"};
    struct power_row rows[ROWS];
    double errors[ROWS];
    for (int law = 0; law < BASELINES; law++) {
        for (int i = 0; i < ROWS; i++)
            rows[i] = (struct power_row){.group = groups[i % 3], .batch = i + 1.0,
                                         .measured_w = 300.0 + (law == BASELINE_LOG_BATCH ? 40.0 * log(i + 1.0) : 0.0)};
        for (int i = 0; i < BASELINES; i++) {
            CHECK(power_baseline_applies((enum power_baseline)i, rows, ROWS));
            power_baseline_errors((enum power_baseline)i, rows, ROWS, errors);
            const struct fit_error error = fit_error_of(errors, ROWS);
            CHECK((error.worst < 1e-9) == (law == BASELINE_CONSTANT || i == BASELINE_LOG_BATCH));
        }
    }
    rows[3].batch = 0.0;
    CHECK(!power_baseline_applies(BASELINE_LOG_BATCH, rows, ROWS));
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

TEST_OPTIMISED(zeus)
{
    check_caps("a40", "power/zeus__a40__training_power_limit_sweep.csv");
    check_caps("v100-32-pcie", "power/zeus__v100__training_power_limit_sweep.csv");
    check_caps("p100", "power/zeus__p100__training_power_limit_sweep.csv");
}
