/* Weibull laws from field data: what was put in comes out, 95 % intervals hold the truth in about 95 % of the cases,
 * and the likelihood at the fit is above that of laws beside it. */
#include "analysis/calibrate/lifetimes/lifetimes_events.h"
#include "analysis/calibrate/lifetimes/weibull_fit.h"
#include "sim/core/mem.h"
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
        CHECK_NEAR(fit.mean, weibull_mean(fit.shape, fit.scale), 0.0);
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

/* --- Logs of events --- */

enum { MOST_EVENTS = 60000 };

/* Nodes that live by the law and take 5 h to be up again, from 0 to `until`: their failures, in order of nodes. */
static size_t draw_log(struct rng *rng, double shape, double scale, int n_nodes, double until,
                       struct down_event *events)
{
    static char names[4000][16];
    size_t n = 0;
    for (int node = 0; node < n_nodes; node++) {
        snprintf(names[node], sizeof names[node], "n%d", node);
        for (double t = draw_life(rng, shape, scale); t < until && n < MOST_EVENTS;
             t += 5 + draw_life(rng, shape, scale)) {
            events[n] = (struct down_event){names[node], t, t + 5 < until ? t + 5 : (double)NAN, (int64_t)n + 2};
            n++;
        }
    }
    return n;
}

/* 4,000 nodes for 900 h. Nodes that never failed count. Without them, the mean would be too short. */
TEST(laws_are_recovered_from_logs_of_events)
{
    static struct down_event events[MOST_EVENTS];
    static const double shapes[] = {0.7, 1.0, 2.0};
    for (int i = 0; i < 3; i++) {
        struct rng rng = test_rng(8, "events", (uint64_t)i);
        struct events_lives lives;
        struct weibull_fit fit;
        struct diag diag = {0};
        struct events_span span = {0.0, 900.0, 4000};
        const size_t n = draw_log(&rng, shapes[i], 600.0, 4000, 900.0, events);
        MUST(lifetimes_of_events(events, n, &span, "log", &lives, &diag) == 0);
        CHECK_EQ_INT(weibull_fit(lives.lives, lives.n, &fit), 0);
        CHECK_EQ_INT(fit.failures, n);
        CHECK_NEAR(fit.shape.value / shapes[i], 1.0, 0.03);
        CHECK_NEAR(fit.mean.value / weibull_mean(shapes[i], 600.0), 1.0, 0.05);
        mem_free(lives.lives);
        span = (struct events_span){0.0, 900.0, 0};
        MUST(lifetimes_of_events(events, n, &span, "log", &lives, &diag) == 0);
        struct weibull_fit failed_only;
        CHECK_EQ_INT(weibull_fit(lives.lives, lives.n, &failed_only), 0);
        CHECK(failed_only.mean.value < fit.mean.value && lives.n_logged < 4000);
        mem_free(lives.lives);
    }
}

/* Seen from 10 to 100: a node that is down at first, one that stays down, one that fails after the end. */
TEST(events_become_lives)
{
    struct down_event events[] = {{"b", 40, (double)NAN, 2}, {"a", 5, 20, 3},  {"a", 50, 60, 4},
                                  {"c", 120, 130, 5},        {"a", 60, 70, 6}, {"d", 2, 3, 7}};
    static const struct observed_life expected[] = {{0, 30, true},  {0, 30, false}, {0, 30, true},
                                                    {0, 90, false}, {0, 90, false}, {0, 90, false}};
    struct events_span span = {10, 100, 5};
    struct events_lives lives;
    struct diag diag = {0};
    MUST(lifetimes_of_events(events, 6, &span, "log", &lives, &diag) == 0);
    CHECK_EQ_INT(lives.n_at_once, 1);
    CHECK_EQ_INT(lives.n_logged, 4);
    MUST(lives.n == 6);
    for (size_t i = 0; i < 6; i++)
        CHECK(lives.lives[i].from == expected[i].from && lives.lives[i].to == expected[i].to &&
              lives.lives[i].failed == expected[i].failed);
    mem_free(lives.lives);
}

TEST(intervals_of_the_mean_hold_it_as_often_as_they_say)
{
    enum { N = 200, RUNS = 400 };
    static struct observed_life lives[N];
    int n_held = 0;
    for (int i = 0; i < RUNS; i++) {
        struct rng rng = test_rng(9, "means", (uint64_t)i);
        struct weibull_fit fit;
        draw_field(&rng, 1.5, 1000.0, 500.0, 1500.0, lives, N);
        CHECK_EQ_INT(weibull_fit(lives, N, &fit), 0);
        const double mean = weibull_mean(1.5, 1000.0);
        n_held += fit.mean.low < mean && mean < fit.mean.high;
    }
    CHECK(n_held > 0.92 * RUNS && n_held < 0.98 * RUNS);
}
