/* Fitting parameters: what made the rows is found again, also among outliers, with the same bits every time. */
#include "tests/support/class_fit.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

enum { ROWS = 400 };

struct synthetic {
    struct profile_fixture fixture;
    struct profile_row rows[ROWS];
    union kernel_params truth;
};

static double pick(struct rng *rng, const double *choices, size_t n)
{
    return choices[rng_below(rng, n)];
}

/* Rows of random products in two groups, timed by the model with the parameters *truth. */
static void synthesise(struct synthetic *s, enum kernel_class class, const union kernel_params *truth)
{
    static const double sizes[] = {512, 1024, 2048, 4096, 8192, 14336, 28672};
    static const double rows[] = {1, 4, 16, 40, 64, 100, 128, 192, 256, 300, 512, 1000, 2048, 4096, 8192};
    struct rng rng = test_rng(3, "fit", 0);
    for (size_t i = 0; i < ROWS; i++) {
        struct profile_row *row = &s->rows[i];
        const double m = pick(&rng, rows, 15), n = pick(&rng, sizes, 7), k = pick(&rng, sizes, 7);
        *row = (struct profile_row){.call.class = class, .gpu = &s->fixture.gpu, .tokens = m, .group = i % 2};
        if (class == KERNEL_GEMM)
            row->call.shape.gemm = (struct gemm_shape){m, n, k, FORMAT_FP16, FORMAT_FP16};
        else if (class == KERNEL_GEMM_FP8)
            row->call.shape.gemm = (struct gemm_shape){m, n, k, FORMAT_FP8, FORMAT_FP8};
        else
            row->call.shape.elementwise = (struct elementwise_shape){m, n, 2.0};
        row->measured_s = kernel_call_time(truth, row->gpu, &row->call).seconds;
    }
    s->truth = *truth;
}

static int fit(struct synthetic *s, const bool *held_out, union kernel_params *params)
{
    struct kernel_set set;
    kernel_set_init(&set);
    *params = set.params[s->rows[0].call.class];
    return fit_class(s->rows[0].call.class, s->rows, ROWS, held_out, params, &s->fixture.diag);
}

static const union kernel_params gemm_truth = {.gemm = {.start_s = 3e-6,
                                                        .flop_frac = 0.8,
                                                        .bandwidth_frac = 0.75,
                                                        .softness = 3.0,
                                                        .prologue_k = 100.0,
                                                        .tile_loss = 12.0,
                                                        .wave_frac = 0.4,
                                                        .split_cost = 3.0}};

static const union kernel_params norm_truth = {.elementwise = {.start_s = 2e-6,
                                                               .bandwidth_frac = 0.5,
                                                               .softness = 1.5,
                                                               .row_cycles = 600.0,
                                                               .number_cycles = 0.6,
                                                               .rows_per_sm = 4.0,
                                                               .wave_frac = 0.4,
                                                               .cache_frac = 0.9}};

static void check_found(const struct synthetic *s, const union kernel_params *params, double tolerance)
{
    const struct kernel_class_info *info = kernel_class_info(s->rows[0].call.class);
    for (size_t i = 0; i < info->n_params; i++) CHECK_NEAR(params->values[i] / s->truth.values[i], 1.0, tolerance);
}

TEST(parameters_are_found_again)
{
    struct synthetic s;
    union kernel_params params;
    MUST(profile_fixture_init(&s.fixture, "a100-80-sxm") == 0);
    synthesise(&s, KERNEL_GEMM, &gemm_truth);
    CHECK_EQ_INT(fit(&s, NULL, &params), 0);
    check_found(&s, &params, 0.01);
    synthesise(&s, KERNEL_NORM, &norm_truth);
    CHECK_EQ_INT(fit(&s, NULL, &params), 0);
    check_found(&s, &params, 0.01);
    profile_fixture_fini(&s.fixture);
}

static const union kernel_params by_rows_truth = {.gemm = {.start_s = 5e-6,
                                                           .flop_frac = 0.9,
                                                           .bandwidth_frac = 0.8,
                                                           .softness = 3.0,
                                                           .prologue_k = 200.0,
                                                           .tile_loss = 10.0,
                                                           .wave_frac = 0.6,
                                                           .split_cost = 2.0,
                                                           .quantise_frac = 0.3,
                                                           .quantise_row_s = 8e-7,
                                                           .tiles_by_rows = 1.0,
                                                           .step_s = 8e-10,
                                                           .one_row_s = 1e-5}};

/* Which law made the rows is found: tiles by rows, the best tile in steps, or the best tile and split. The parameters
 * of the others are left at their default. */
TEST(the_choice_of_tiles_is_found)
{
    struct synthetic s;
    union kernel_params params;
    MUST(profile_fixture_init(&s.fixture, "h100-sxm") == 0);
    synthesise(&s, KERNEL_GEMM_FP8, &by_rows_truth);
    CHECK_EQ_INT(fit(&s, NULL, &params), 0);
    check_found(&s, &params, 0.02);
    CHECK(params.gemm.split_cost == by_rows_truth.gemm.split_cost);
    union kernel_params best = by_rows_truth;
    best.gemm.tiles_by_rows = 0.0;
    best.gemm.step_s = 2e-9;
    synthesise(&s, KERNEL_GEMM_FP8, &best);
    CHECK_EQ_INT(fit(&s, NULL, &params), 0);
    CHECK(params.gemm.tiles_by_rows == 0.0);
    CHECK_NEAR(params.gemm.step_s / best.gemm.step_s, 1.0, 0.05);
    CHECK(params.gemm.split_cost == best.gemm.split_cost);
    best.gemm.step_s = best.gemm.one_row_s = 0.0;
    synthesise(&s, KERNEL_GEMM_FP8, &best);
    CHECK_EQ_INT(fit(&s, NULL, &params), 0);
    CHECK(params.gemm.tiles_by_rows == 0.0 && params.gemm.step_s == 0.0 && params.gemm.one_row_s == 0.0);
    for (size_t i = 0; i < ROWS; i++) CHECK_NEAR(fit_row_error(&s.rows[i], &params), 0.0, 0.02);
    profile_fixture_fini(&s.fixture);
}

static double loss_of(const struct synthetic *s, const union kernel_params *params)
{
    double loss = 0.0;
    for (size_t i = 0; i < ROWS; i++) loss += pow(fit_soft_l1_root(log1p(fit_row_error(&s->rows[i], params))), 2.0);
    return loss;
}

/* By how much the parameters of an engine lower the loss of a fit: those of all rows fitted with them, as if they were
 * of any other kind, and without them. */
static double gain_of_engine(struct synthetic *s)
{
    struct kernel_param params[sizeof(union kernel_params) / sizeof(double)];
    const struct fit_model plain = fit_model_in(KERNEL_GEMM_FP8, "isolated");
    struct fit_model full = fit_model_in(KERNEL_GEMM_FP8, NULL);
    memcpy(params, full.params, full.n_params * sizeof *params);
    for (size_t i = plain.n_params; i < full.n_params; i++) params[i].stage = PARAM_OPTIONAL;
    full.params = params;
    union kernel_params without = fit_model_initial(&plain), with = fit_model_initial(&full);
    CHECK_EQ_INT(fit_model_to(&plain, s->rows, ROWS, NULL, &without, &s->fixture.diag), 0);
    CHECK_EQ_INT(fit_model_to(&full, s->rows, ROWS, NULL, &with, &s->fixture.diag), 0);
    return 1.0 - loss_of(s, &with) / loss_of(s, &without);
}

/* An engine's parameters that explain little are not kept. One row in fifteen takes longer, beside noise that no law
 * explains: once they explain a little less than a tenth of the loss, once a little more. */
TEST(parameters_of_an_engine_must_explain_a_tenth)
{
    static const struct {
        double one_row_s, least_gain, most_gain;
        bool is_kept;
    } cases[] = {{15.5e-6, 0.06, 0.095, false}, {18.8e-6, 0.105, 0.15, true}};
    struct synthetic s;
    MUST(profile_fixture_init(&s.fixture, "h100-sxm") == 0);
    for (size_t c = 0; c < 2; c++) {
        struct rng rng = test_rng(5, "fit", 0);
        union kernel_params params, truth = by_rows_truth;
        truth.gemm.tiles_by_rows = truth.gemm.step_s = 0.0;
        truth.gemm.one_row_s = cases[c].one_row_s;
        synthesise(&s, KERNEL_GEMM_FP8, &truth);
        for (size_t i = 0; i < ROWS; i++) s.rows[i].measured_s *= 0.9 + 0.2 * rng_uniform(&rng);
        const double gain = gain_of_engine(&s);
        CHECK(gain > cases[c].least_gain && gain < cases[c].most_gain);
        CHECK_EQ_INT(fit(&s, NULL, &params), 0);
        if (cases[c].is_kept)
            CHECK_NEAR(params.gemm.one_row_s / cases[c].one_row_s, 1.0, 0.2);
        else
            CHECK(params.gemm.tiles_by_rows == 0.0 && params.gemm.step_s == 0.0 && params.gemm.one_row_s == 0.0);
    }
    profile_fixture_fini(&s.fixture);
}

/* Sets that serve all engines have no parameters of one engine. */
TEST(parameters_of_an_engine_need_a_set_of_its_own)
{
    const size_t all = kernel_class_info(KERNEL_GEMM_FP8)->n_params;
    const size_t narrow = kernel_class_info(KERNEL_GEMM_FP8_BLOCK)->n_params;
    CHECK_EQ_INT(fit_model_in(KERNEL_GEMM_FP8, "vllm-0.24").n_params, all);
    CHECK_EQ_INT(fit_model_in(KERNEL_GEMM_FP8, NULL).n_params, all);
    for (int i = 0; i < 2; i++) {
        const struct fit_model model = fit_model_in(KERNEL_GEMM_FP8, i == 0 ? "isolated" : "in-model");
        CHECK_EQ_INT(model.n_params, narrow);
        CHECK_EQ_INT(fit_model_in(KERNEL_GEMM_NVFP4, i == 0 ? "isolated" : "in-model").n_params, narrow);
        CHECK(fit_model_initial(&model).gemm.tiles_by_rows == 0.0);
        CHECK(fit_model_initial(&model).gemm.one_row_s == 0.0);
    }
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (c != KERNEL_GEMM_FP8 && c != KERNEL_GEMM_NVFP4)
            CHECK_EQ_INT(fit_model_in((enum kernel_class)c, "isolated").n_params,
                         kernel_class_info((enum kernel_class)c)->n_params);
}

/* One row in twenty takes three times as long. */
TEST(outliers_hardly_matter)
{
    struct synthetic s;
    union kernel_params params;
    struct fit_error error;
    MUST(profile_fixture_init(&s.fixture, "a100-80-sxm") == 0);
    synthesise(&s, KERNEL_GEMM, &gemm_truth);
    for (size_t i = 0; i < ROWS; i += 20) s.rows[i].measured_s *= 3.0;
    CHECK_EQ_INT(fit(&s, NULL, &params), 0);
    check_found(&s, &params, 0.25);
    MUST(fit_measure(KERNEL_GEMM, s.rows, ROWS, &params, 0.0, (double)INFINITY, &error) == 0);
    CHECK_EQ_INT(error.rows, ROWS);
    CHECK(error.median < 0.005);
    CHECK(error.p90 < 0.02);
    CHECK_NEAR(error.worst, 2.0 / 3.0, 0.05);
    profile_fixture_fini(&s.fixture);
}

TEST(the_same_rows_give_the_same_bits)
{
    struct synthetic s;
    union kernel_params first, second;
    MUST(profile_fixture_init(&s.fixture, "h100-sxm") == 0);
    synthesise(&s, KERNEL_GEMM, &gemm_truth);
    for (size_t i = 0; i < ROWS; i++) s.rows[i].measured_s *= i % 3 == 0 ? 1.1 : 0.97;
    CHECK_EQ_INT(fit(&s, NULL, &first), 0);
    CHECK_EQ_INT(fit(&s, NULL, &second), 0);
    CHECK(memcmp(&first, &second, sizeof first) == 0);
    profile_fixture_fini(&s.fixture);
}

/* What is held out is not looked at: nonsense in it changes nothing. */
TEST(held_out_rows_have_no_influence)
{
    struct synthetic s;
    union kernel_params clean, dirty;
    const bool held_out[] = {false, true};
    MUST(profile_fixture_init(&s.fixture, "h100-sxm") == 0);
    synthesise(&s, KERNEL_NORM, &norm_truth);
    CHECK_EQ_INT(fit(&s, held_out, &clean), 0);
    for (size_t i = 1; i < ROWS; i += 2) s.rows[i].measured_s *= 100.0;
    CHECK_EQ_INT(fit(&s, held_out, &dirty), 0);
    CHECK(memcmp(&clean, &dirty, sizeof clean) == 0);
    profile_fixture_fini(&s.fixture);
}

/* Large products tell the share of the peak, and four of them not more than one other parameter. */
TEST(few_rows_fit_few_parameters)
{
    struct synthetic s;
    struct kernel_set set;
    MUST(profile_fixture_init(&s.fixture, "h100-sxm") == 0);
    synthesise(&s, KERNEL_GEMM, &gemm_truth);
    kernel_set_init(&set);
    const union kernel_params initial = set.params[KERNEL_GEMM];
    union kernel_params params = initial;
    for (size_t i = 0; i < 4; i++) {
        const double m = 4096.0 * (double)(i + 1);
        s.rows[i].call.shape.gemm = (struct gemm_shape){m, 8192.0, 8192.0, FORMAT_FP16, FORMAT_FP16};
        s.rows[i].measured_s = kernel_call_time(&gemm_truth, s.rows[i].gpu, &s.rows[i].call).seconds;
    }
    CHECK_EQ_INT(fit_class(KERNEL_GEMM, s.rows, 4, NULL, &params, &s.fixture.diag), 0);
    int changed = 0;
    for (int i = 0; i < 8; i++) changed += params.values[i] != initial.values[i];
    CHECK_EQ_INT(changed, 2);
    CHECK(params.gemm.flop_frac != initial.gemm.flop_frac);
    for (size_t i = 0; i < 4; i++) CHECK_NEAR(fit_row_error(&s.rows[i], &params), 0.0, 0.02);
    profile_fixture_fini(&s.fixture);
}

TEST(without_rows_nothing_can_be_fitted)
{
    struct synthetic s;
    union kernel_params params = gemm_truth;
    const bool all[] = {true, true};
    MUST(profile_fixture_init(&s.fixture, "h100-sxm") == 0);
    synthesise(&s, KERNEL_GEMM, &gemm_truth);
    CHECK_EQ_INT(fit_class(KERNEL_GEMM, s.rows, 0, NULL, &params, &s.fixture.diag), SIM_E_DATA);
    CHECK_EQ_INT(fit_class(KERNEL_GEMM, s.rows, ROWS, all, &params, &s.fixture.diag), SIM_E_DATA);
    CHECK_EQ_INT(fit_class(KERNEL_MOE, s.rows, ROWS, NULL, &params, &s.fixture.diag), SIM_E_DATA);
    CHECK(memcmp(&params, &gemm_truth, sizeof params) == 0);
    profile_fixture_fini(&s.fixture);
}

TEST(errors_are_summed_up)
{
    double errors[] = {0.3, -0.1, 0.0, -0.2, 0.1};
    const struct fit_error error = fit_error_of(errors, 5);
    CHECK_EQ_INT(error.rows, 5);
    CHECK_NEAR(error.median, 0.1, 1e-15);
    CHECK_NEAR(error.p90, 0.26, 1e-15); /* 0.6 of the way from 0.2 to 0.3 */
    CHECK_NEAR(error.worst, 0.3, 1e-15);
    CHECK_NEAR(error.bias, 0.0, 1e-15);
    CHECK_EQ_INT(fit_error_of(errors, 0).rows, 0);
}

TEST(a_range_is_the_box_of_the_rows)
{
    struct synthetic s;
    MUST(profile_fixture_init(&s.fixture, "h100-sxm") == 0);
    synthesise(&s, KERNEL_GEMM, &gemm_truth);
    const struct kernel_range range = fit_range(KERNEL_GEMM, s.rows, ROWS);
    CHECK(range.fitted && range.low[0] == 1.0 && range.high[0] == 8192.0 && range.high[1] == 28672.0);
    CHECK(!fit_range(KERNEL_NORM, s.rows, ROWS).fitted);
    profile_fixture_fini(&s.fixture);
}

/* At both ends and a little inside, nowhere else, and never for what is tried instead of fitted. */
TEST(values_at_bounds_are_recognised)
{
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        const struct kernel_class_info *info = kernel_class_info((enum kernel_class)c);
        for (size_t i = 0; i < info->n_params; i++) {
            const struct kernel_param *param = &info->params[i];
            const bool fitted = (param->unit == PARAM_SECONDS || param->unit == PARAM_PLAIN) &&
                                param->low < param->high;
            CHECK(!fit_is_at_bound(param, param->initial));
            CHECK_EQ_INT(fit_is_at_bound(param, param->low), fitted);
            CHECK_EQ_INT(fit_is_at_bound(param, param->high), fitted);
            if (!fitted) continue;
            CHECK(fit_is_at_bound(param, param->low * pow(param->high / param->low, 0.001)));
            CHECK(!fit_is_at_bound(param, param->low * pow(param->high / param->low, 0.01)));
            CHECK(!fit_is_at_bound(param, param->high * pow(param->low / param->high, 0.01)));
        }
    }
}
