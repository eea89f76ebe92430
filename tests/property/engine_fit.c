/* Fits of engine presets to rows that a preset made itself: the constants come back, also from disturbed rows, and also
 * through the file. */
#include "analysis/calibrate/engine/engine_calibrate.h"
#include "analysis/calibrate/engine/engine_hosts.h"
#include "tests/support/harness.h"

enum { POINTS = 240 };

static const struct engine_recipe everything = {
    .name = "made-up", .summary = "all terms", .source = "a test", .kernels = "in-model", .collectives = "isolated",
    .terms = ENGINE_ITERATION | ENGINE_SEQUENCE | ENGINE_LAUNCH | ENGINE_PROMPT};

static struct engine_launch launches[] = {{"fast", 100e-6}, {"slow", 300e-6}};
static struct engine_overhead overheads[] = {
    {1, 2e-3, 30e-6, 5e-3, NULL}, {2, 3e-3, 20e-6, 5e-3, NULL}, {8, 9e-3, 70e-6, 5e-3, NULL}};

struct made {
    struct arena arena;
    struct diag diag;
    struct engine_preset truth;
    struct measured_row rows[POINTS];
    struct engine_point points[POINTS];
};

/* Rows of both GPUs and all degrees, with launches hidden in about half of them; some are off by up to `noise`. */
static void make(struct made *made, double noise)
{
    struct rng rng = test_rng(3, "engine-fit", 0);
    arena_init(&made->arena);
    diag_init(&made->diag);
    made->truth = engine_recipe_preset(&everything);
    made->truth.launches = (struct config_list){2, launches};
    made->truth.overheads = (struct config_list){3, overheads};
    for (size_t i = 0; i < POINTS; i++) {
        struct measured_row *row = &made->rows[i];
        struct engine_point *point = &made->points[i];
        *row = (struct measured_row){.engine = "made-up", .gpu = launches[i % 2].gpu, .group = "x",
                                     .tensor_parallel = overheads[i % 3].tensor_parallel,
                                     .work = {.decode_sequences = 1}, .fit = i % 4 != 0};
        *point = (struct engine_point){.row = row, .gpu_s = 1e-3 + 3e-5 * (double)rng_below(&rng, 1000), .layers = 60.0,
                                       .iterations = 1.0, .sequences = 1.0 + (double)rng_below(&rng, 100),
                                       .prompts = i % 5 == 0 ? 1.0 : 0.0};
        const double wrong = i % 7 == 0 ? noise * (double)rng_below(&rng, 100) / 100.0 : 0.0;
        row->measured_s = engine_point_s(&made->truth, point) * (1.0 + wrong);
    }
}

static void check_presets(const struct engine_preset *preset, double tolerance)
{
    const struct engine_launch *launch = preset->launches.items;
    const struct engine_overhead *overhead = preset->overheads.items;
    MUST(preset->launches.n == 2 && preset->overheads.n == 3);
    for (size_t i = 0; i < 2; i++) {
        const bool second = launch[i].layer_s > 200e-6;
        CHECK_EQ_STR(launch[i].gpu, launches[second].gpu);
        CHECK_NEAR(launch[i].layer_s / launches[second].layer_s, 1.0, tolerance);
    }
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ_INT(overhead[i].tensor_parallel, overheads[i].tensor_parallel);
        CHECK_NEAR(overhead[i].iteration_s / overheads[i].iteration_s, 1.0, tolerance);
        CHECK_NEAR(overhead[i].sequence_s / overheads[i].sequence_s, 1.0, tolerance);
        CHECK_NEAR(overhead[i].prompt_s / overheads[i].prompt_s, 1.0, tolerance);
    }
}

TEST(constants_come_back)
{
    static struct made made;
    make(&made, 0.0);
    struct engine_preset preset = engine_recipe_preset(&everything);
    CHECK_EQ_INT(engine_fit(&everything, made.points, POINTS, &made.arena, &preset, &made.diag), 0);
    check_presets(&preset, 1e-4);
    struct fit_error fitted, tested;
    CHECK_EQ_INT(engine_measure(&preset, made.points, POINTS, NULL, ENGINE_FIT, &fitted), 0);
    CHECK_EQ_INT(engine_measure(&preset, made.points, POINTS, "x", ENGINE_HELD_OUT, &tested), 0);
    CHECK_EQ_INT(fitted.rows, POINTS * 3 / 4);
    CHECK_EQ_INT(tested.rows, POINTS / 4);
    CHECK(fitted.worst < 1e-5 && tested.worst < 1e-5);
    arena_fini(&made.arena);
}

/* Two hosts that differ in all constants by degree: each gets its own back, beside a fit to both. The common constant
 * is that of the fit to both, which describes neither host: it is off by less than a thousandth, like the others. */
TEST(constants_of_hosts_come_back)
{
    static struct made made;
    make(&made, 0.0);
    struct engine_overhead of_hosts[6];
    for (size_t i = 0; i < 6; i++) {
        const double factor = i < 3 ? 1.0 : 1.5;
        const struct engine_overhead *from = &overheads[i % 3];
        of_hosts[i] = (struct engine_overhead){from->tensor_parallel, factor * from->iteration_s,
                                               factor * from->sequence_s, from->prompt_s, launches[i / 3].gpu};
    }
    made.truth.overheads = (struct config_list){6, of_hosts};
    for (size_t i = 0; i < POINTS; i++) made.rows[i].measured_s = engine_point_s(&made.truth, &made.points[i]);
    struct engine_preset preset = engine_recipe_preset(&everything);
    CHECK_EQ_INT(engine_hosts_fit(&everything, made.points, POINTS, &made.arena, &preset, &made.diag), 0);
    MUST(preset.overheads.n == 9 && preset.launches.n == 2);
    const struct engine_overhead *found = preset.overheads.items;
    for (size_t i = 0; i < 6; i++) {
        size_t at = 0;
        while (at < 9 && (found[at].gpu == NULL || strcmp(found[at].gpu, of_hosts[i].gpu) != 0 ||
                          found[at].tensor_parallel != of_hosts[i].tensor_parallel))
            at++;
        MUST(at < 9);
        CHECK_NEAR(found[at].iteration_s / of_hosts[i].iteration_s, 1.0, 1e-3);
        CHECK_NEAR(found[at].sequence_s / of_hosts[i].sequence_s, 1.0, 1e-3);
        CHECK_NEAR(found[at].prompt_s / of_hosts[i].prompt_s, 1.0, 1e-3);
    }
    for (size_t i = 6; i < 9; i++) {
        CHECK(found[i].gpu == NULL && found[i].tensor_parallel == overheads[i - 6].tensor_parallel);
        CHECK_NEAR(found[i].prompt_s, found[0].prompt_s, 0.0);
    }
    struct fit_error fitted;
    CHECK_EQ_INT(engine_measure(&preset, made.points, POINTS, NULL, ENGINE_FIT, &fitted), 0);
    CHECK(fitted.worst < 1e-3);
    arena_fini(&made.arena);
}

/* An LLM that is left out has no part in the constants that predict it: rows of another law are predicted as badly as
 * that law differs, and rows of the same law exactly. */
TEST(left_out_llms_are_unseen)
{
    static struct made made;
    make(&made, 0.0);
    for (size_t i = 0; i < POINTS; i++) {
        made.rows[i].llm = i % 4 < 2 ? "one" : "two";
        made.rows[i].in_range = true;
        if (i % 4 >= 2) made.rows[i].measured_s *= 2.0;
    }
    struct config_list errors;
    CHECK_EQ_INT(engine_hosts_list_left_out(&everything, made.points, POINTS, &made.arena, &errors), 0);
    MUST(errors.n == 4);
    const struct calibration_error *error = errors.items;
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ_INT(error[i].rows, POINTS / 4);
        CHECK(error[i].median > 0.35 && error[i].median < 1.2);
    }
    for (size_t i = 0; i < POINTS; i++) made.rows[i].measured_s = engine_point_s(&made.truth, &made.points[i]);
    CHECK_EQ_INT(engine_hosts_list_left_out(&everything, made.points, POINTS, &made.arena, &errors), 0);
    MUST(errors.n == 4);
    for (size_t i = 0; i < 4; i++) CHECK(((const struct calibration_error *)errors.items)[i].worst < 1e-4);
    arena_fini(&made.arena);
}

/* The loss is robust: with a seventh of the rows up to three times too long, the others are predicted nearly as
 * before. */
TEST(outliers_hardly_matter)
{
    static struct made made;
    make(&made, 2.0);
    struct engine_preset preset = engine_recipe_preset(&everything);
    struct fit_error error;
    CHECK_EQ_INT(engine_fit(&everything, made.points, POINTS, &made.arena, &preset, &made.diag), 0);
    CHECK_EQ_INT(engine_measure(&preset, made.points, POINTS, NULL, ENGINE_FIT, &error), 0);
    CHECK(error.median < 0.02 && error.worst > 0.3);
    arena_fini(&made.arena);
}

TEST(presets_survive_their_file)
{
    static struct made made;
    make(&made, 0.0);
    SCOPED(text) json = {0};
    struct engine_preset read;
    CHECK_EQ_INT(engine_preset_write(&made.truth, &json), 0);
    const char *path = test_file("made-up.json", "%s", json.chars);
    const struct catalog catalog = {.root = "configs"};
    CHECK_EQ_INT(catalog_engine(&catalog, path, "test", &made.arena, &read, &made.diag), 0);
    check_presets(&read, 1e-9);
    CHECK_EQ_STR(read.name, "made-up");
    CHECK_EQ_STR(read.summary, "all terms");
    CHECK_EQ_STR(read.kernels, "in-model");
    CHECK_EQ_STR(read.collectives, "isolated");
    arena_fini(&made.arena);
}

TEST(too_few_rows)
{
    static struct made made;
    make(&made, 0.0);
    struct engine_preset preset = engine_recipe_preset(&everything);
    CHECK_EQ_INT(engine_fit(&everything, made.points, 6, &made.arena, &preset, &made.diag), SIM_E_DATA);
    arena_fini(&made.arena);
}

/* Whichever allocation fails, the calibration says so and leaves nothing behind. */
TEST(no_memory)
{
    char path[512];
    const char *const paths[] = {path};
    const struct catalog catalog = {.root = "configs"};
    const struct engine_recipe *recipe = engine_recipe_at(1);
    int code = SIM_E_NOMEM;
    snprintf(path, sizeof path, "%s/overheads.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fputs("batch_size,tensor_parallel_degree,schedule_median,prepare_inputs_e2e_median,sampler_e2e_median,"
          "process_model_outputs_median,ray_comm_time_mean\n",
          file);
    for (int i = 1; i < 9; i++) fprintf(file, "%d,2,%g,1,2,%g,5\n", 8 * i, 0.2 * i, 0.5 * i);
    fclose(file);
    for (long n = 0; code == SIM_E_NOMEM && n < 2000; n++) {
        struct engine_calibration calibration;
        SCOPED(arena) arena = {0};
        struct diag diag = {0};
        mem_fail_after(n);
        code = engine_calibrate(recipe, &catalog, paths, 1, 1, &arena, &calibration, &diag);
        mem_fail_never();
        if (code == 0) CHECK(n > 5 && calibration.preset.fit.n == 2);
    }
    CHECK_EQ_INT(code, 0);
}
