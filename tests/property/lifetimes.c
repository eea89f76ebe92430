/* Weibull laws from field data: what was put in comes out, 95 % intervals hold the truth in about 95 % of the cases,
 * and the likelihood at the fit is above that of laws beside it. */
#include "analysis/calibrate/lifetimes/weibull_fit.h"
#include "tests/support/harness.h"

static double draw_life(struct rng *rng, double shape, double scale)
{
    return scale * pow(-log(rng_uniform(rng)), 1.0 / shape);
}

/* Units that enter observation at random ages up to `latest`, if they still live, for `span`. */
static size_t draw_field(struct rng *rng, double shape, double scale, double latest, double span,
                         struct observed_life *lives, size_t n)
{
    size_t k = 0;
    while (k < n) {
        const double life = draw_life(rng, shape, scale), from = latest * rng_uniform(rng);
        if (life <= from) continue; /* it has never been seen */
        const double to = fmin(life, from + span);
        lives[k++] = (struct observed_life){from, to, life <= from + span};
    }
    return k;
}

TEST(laws_are_recovered_within_3_percent)
{
    enum { N = 20000 };
    static struct observed_life lives[N];
    static const double shapes[] = {0.6, 1.0, 1.8, 3.5};
    for (int i = 0; i < 4; i++) {
        struct rng rng = test_rng(1, "lifetimes", (uint64_t)i);
        struct weibull_fit fit;
        draw_field(&rng, shapes[i], 1000.0, 800.0, 900.0, lives, N);
        CHECK_EQ_INT(weibull_fit(lives, N, &fit), 0);
        CHECK_NEAR(fit.shape.value / shapes[i], 1.0, 0.03);
        CHECK_NEAR(fit.scale.value / 1000.0, 1.0, 0.03);
        CHECK(fit.shape.low < fit.shape.value && fit.shape.value < fit.shape.high);
    }
}

/* Exponential lives: with the shape at 1, scale = exposure / failures. Complete data: the sum of (t/s)^k is n. */
TEST(the_fit_solves_the_equations_of_the_likelihood)
{
    enum { N = 500 };
    static struct observed_life lives[N];
    struct rng rng = test_rng(2, "lifetimes", 0);
    struct weibull_fit fit;
    double sum = 0.0, failures = 0.0, slope = 0.0;
    draw_field(&rng, 1.4, 100.0, 80.0, 60.0, lives, N);
    CHECK_EQ_INT(weibull_fit(lives, N, &fit), 0);
    const double k = fit.shape.value, s = fit.scale.value;
    for (int i = 0; i < N; i++) {
        const double to = pow(lives[i].to / s, k), from = pow(lives[i].from / s, k);
        sum += to - from;
        failures += lives[i].failed;
        slope += (lives[i].failed ? 1 / k + log(lives[i].to / s) : 0) - to * log(lives[i].to / s) +
                 (lives[i].from > 0 ? from * log(lives[i].from / s) : 0);
    }
    CHECK_NEAR(sum / failures, 1.0, 1e-9);
    CHECK_NEAR(slope / failures, 0.0, 1e-6);
}

/* Of 1000 samples, 950 intervals hold the truth, with a standard deviation of 7. */
TEST_OPTIMISED(intervals_hold_the_truth_in_93_to_97_percent)
{
    enum { N = 200, SAMPLES = 1000 };
    static struct observed_life lives[N];
    int shape = 0, scale = 0;
    for (int i = 0; i < SAMPLES; i++) {
        struct rng rng = test_rng(3, "lifetimes", (uint64_t)i);
        struct weibull_fit fit;
        draw_field(&rng, 0.8, 50.0, 20.0, 60.0, lives, N);
        CHECK_EQ_INT(weibull_fit(lives, N, &fit), 0);
        shape += fit.shape.low <= 0.8 && 0.8 <= fit.shape.high;
        scale += fit.scale.low <= 50.0 && 50.0 <= fit.scale.high;
    }
    CHECK(shape >= 0.93 * SAMPLES && shape <= 0.97 * SAMPLES);
    CHECK(scale >= 0.93 * SAMPLES && scale <= 0.97 * SAMPLES);
}

/* The reference case of Ye and Ng's method: lag of mean 8, life Weibull (1.5, 60), shipped over 24, a window of 12
 * and an end at 36: some 310 returns. The chain's own spread is .06, 4.1 and .5. */
static void draw_shipped(struct rng *rng, struct shipped_unit *units, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double shipped = 24.0 * rng_uniform(rng), lag = -8.0 * log(rng_uniform(rng)),
                     life = draw_life(rng, 1.5, 60.0);
        const bool returned = life <= 12.0 && shipped + lag + life <= 36.0;
        units[i] = (struct shipped_unit){shipped, 36.0, 12.0, returned ? lag : (double)NAN,
                                         returned ? life : (double)NAN};
    }
}

TEST_OPTIMISED(unknown_dates_of_deployment_are_drawn)
{
    enum { N = 4000 };
    static struct shipped_unit units[N];
    double shape = 0, scale = 0, lag = 0;
    for (int i = 0; i < 4; i++) {
        struct rng rng = test_rng(4, "lifetimes", (uint64_t)i);
        struct shipped_fit fit;
        draw_shipped(&rng, units, N);
        CHECK_EQ_INT(shipped_fit(units, N, 600, 200, &rng, &fit), 0);
        CHECK(fit.returned > 250 && fit.returned < 370);
        CHECK(fit.shape_sd > 0.01 && fit.shape_sd < 0.2);
        shape += fit.shape / 4, scale += fit.scale / 4, lag += fit.lag / 4;
    }
    /* four samples of some 310 returns: their mean scatters by 4 % (shape), 10 % (scale) and 7 % (lag) */
    CHECK_NEAR(shape, 1.5, 3 * 0.06);
    CHECK_NEAR(scale, 60.0, 3 * 6.0);
    CHECK_NEAR(lag, 8.0, 3 * 0.55);
}

TEST(too_little_data_is_refused)
{
    const struct observed_life none[] = {{0, 5, false}, {0, 6, false}}, one[] = {{0, 5, true}, {0, 6, false}},
                               equal[] = {{0, 5, true}, {0, 5, true}};
    struct weibull_fit fit;
    CHECK_EQ_INT(weibull_fit(none, 2, &fit), SIM_E_DATA);
    CHECK_EQ_INT(weibull_fit(one, 2, &fit), SIM_E_DATA);
    CHECK_EQ_INT(weibull_fit(equal, 2, &fit), SIM_E_DATA);
    const struct shipped_unit unit = {0, 10, 5, (double)NAN, (double)NAN};
    struct shipped_fit shipped;
    struct rng rng = test_rng(5, "lifetimes", 0);
    CHECK_EQ_INT(shipped_fit(&unit, 1, 10, 5, &rng, &shipped), SIM_E_DATA);
}
