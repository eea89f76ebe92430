/* Gavel's linear programs: worked cases, and against water filling, enumeration and bisection that know no linear
 * programming. */
#include "policies/scheduler/gavel/gavel_lp.h"
#include "tests/support/harness.h"

enum { MOST_KINDS = 24, MOST_TYPES = 3, MOST_X = MOST_KINDS * MOST_TYPES };

struct fixture {
    struct gavel_jobs jobs;
    double gpus[MOST_TYPES], count[MOST_KINDS], width[MOST_KINDS], speed[MOST_X], weight[MOST_KINDS], need[MOST_KINDS];
    double x[MOST_X];
};

/* One job of one GPU and weight 1 in each kind, one GPU of each type. */
static void fixture_init(struct fixture *fixture, int kinds, int types)
{
    *fixture = (struct fixture){.jobs = {.types = types, .kinds = kinds, .gpus = fixture->gpus, .count = fixture->count,
                                         .width = fixture->width, .speed = fixture->speed}};
    for (int j = 0; j < types; j++) fixture->gpus[j] = 1;
    for (int k = 0; k < kinds; k++) fixture->count[k] = fixture->width[k] = fixture->weight[k] = 1;
}

static void three_jobs(struct fixture *fixture)
{
    static const double speed[] = {4, 1, 3, 1, 2, 1};
    fixture_init(fixture, 3, 2);
    memcpy(fixture->speed, speed, sizeof speed);
}

/* No more time than there is, no more GPUs than there are. */
static void check_fits(const struct fixture *fixture)
{
    const struct gavel_jobs *jobs = &fixture->jobs;
    for (int k = 0; k < jobs->kinds; k++) {
        double time = 0;
        for (int j = 0; j < jobs->types; j++) {
            CHECK(fixture->x[k * jobs->types + j] >= -1e-9);
            time += fixture->x[k * jobs->types + j];
        }
        CHECK(time <= 1 + 1e-6);
    }
    for (int j = 0; j < jobs->types; j++) {
        double gpus = 0;
        for (int k = 0; k < jobs->kinds; k++) gpus += jobs->count[k] * jobs->width[k] * fixture->x[k * jobs->types + j];
        CHECK(gpus <= jobs->gpus[j] * (1 + 1e-6));
    }
}

TEST(least_attained_service)
{
    struct fixture f;
    double level;
    three_jobs(&f);
    gavel_equal_share(&f.jobs, f.weight, f.need);
    MUST(gavel_max_min(&f.jobs, f.need, f.x, &level) == LP_OPTIMAL);
    CHECK_NEAR(level, 1.0909, 5e-5);
    CHECK_NEAR(gavel_rate(&f.jobs, f.x, 0), 1.8182, 5e-5);
    CHECK_NEAR(gavel_rate(&f.jobs, f.x, 1), 1.4545, 5e-5);
    CHECK_NEAR(gavel_rate(&f.jobs, f.x, 2), 1.0909, 5e-5);
    check_fits(&f);
}

/* All nodes of the second type are down, and the second kind runs there alone: as if neither were there. */
TEST(types_without_gpus_and_kinds_that_run_nowhere_change_nothing)
{
    static const double gpus[] = {2, 0}, count[] = {3, 1}, width[] = {1, 1}, speed[] = {1, 0, 0, 0}, need[] = {1, 1};
    static const double price[] = {1, 2};
    const struct gavel_jobs jobs = {2, 2, gpus, count, width, speed};
    double x[4], level, ratio;
    CHECK_EQ_INT(gavel_max_min(&jobs, need, x, &level), LP_OPTIMAL);
    CHECK_NEAR(level, 2.0 / 3, 1e-9);
    CHECK_NEAR(x[0], 2.0 / 3, 1e-9);
    CHECK(x[1] == 0 && x[2] == 0 && x[3] == 0);
    CHECK_EQ_INT(gavel_max_per_cost(&jobs, price, NULL, x, &ratio), LP_OPTIMAL);
    CHECK_NEAR(x[0], 2.0 / 3, 1e-9);
    CHECK_NEAR(ratio, 1, 1e-9);
}

/* The second type gives most for its price, however many GPUs there are for one job. */
TEST(cost_does_not_depend_on_idle_gpus)
{
    static const double count[] = {1}, width[] = {1}, speed[] = {1, 0.35}, price[] = {3, 1};
    for (double n = 1; n <= 1e6; n *= 10) {
        const double gpus[] = {n, n};
        const struct gavel_jobs jobs = {2, 1, gpus, count, width, speed};
        double x[2], ratio;
        CHECK_EQ_INT(gavel_max_per_cost(&jobs, price, NULL, x, &ratio), LP_OPTIMAL);
        CHECK_NEAR(ratio, 0.35, 1e-6);
        CHECK_NEAR(x[1], 1, 1e-9);
    }
}

/* A job of two GPUs, one of twice the weight and one of neither on one GPU type: GPU-time as 1 : 2 : 1. */
TEST(weights_and_widths)
{
    struct fixture f;
    double level;
    fixture_init(&f, 3, 1);
    for (int k = 0; k < 3; k++) f.speed[k] = 1;
    f.width[0] = 2;
    f.weight[1] = 2;
    gavel_equal_share(&f.jobs, f.weight, f.need);
    MUST(gavel_max_min(&f.jobs, f.need, f.x, &level) == LP_OPTIMAL);
    CHECK_NEAR(f.x[0], 0.125, 1e-6);
    CHECK_NEAR(f.x[1], 0.5, 1e-6);
    CHECK_NEAR(f.x[2], 0.25, 1e-6);
    check_fits(&f);
}

/* Two types, of which the first is the faster for all: jobs of random speeds, widths, counts and weights. */
static void draw(struct fixture *f, struct rng *rng, int kinds)
{
    fixture_init(f, kinds, 2);
    for (int j = 0; j < 2; j++) f->gpus[j] = 1 + floor(rng_uniform(rng) * 8);
    for (int k = 0; k < kinds; k++) {
        f->width[k] = 1 + floor(rng_uniform(rng) * 2);
        f->count[k] = 1 + floor(rng_uniform(rng) * 2);
        f->weight[k] = 0.5 + rng_uniform(rng);
        f->speed[2 * k] = 0.2 + rng_uniform(rng);
        f->speed[2 * k + 1] = f->speed[2 * k] * rng_uniform(rng);
    }
}

/* The kind that loses least on the second type, of those not served yet; -1: none is left. */
static int next_on_second(const struct fixture *f, const bool *served)
{
    int best = -1;
    for (int k = 0; k < f->jobs.kinds; k++) {
        if (served[k]) continue;
        if (best < 0 || f->speed[2 * k + 1] / f->speed[2 * k] > f->speed[2 * best + 1] / f->speed[2 * best]) best = k;
    }
    return best;
}

/* Whether all can have this level: the second type's GPUs go, as in a knapsack, to those who lose least there. */
static bool can_reach(const struct fixture *f, double level)
{
    double first = f->jobs.gpus[0], second = f->jobs.gpus[1];
    bool served[MOST_KINDS] = {false};
    for (int k; (k = next_on_second(f, served)) >= 0; served[k] = true) {
        const double rate = f->need[k] * level, a = f->speed[2 * k], b = f->speed[2 * k + 1];
        const double gpus = f->count[k] * f->width[k];
        if (rate > a) return false;
        const double most = fmin(rate / b, (1 - rate / a) / (1 - b / a));
        const double on_second = fmin(most, second / gpus);
        second -= gpus * on_second;
        first -= gpus * (rate - b * on_second) / a;
    }
    return first >= 0;
}

static double level_by_bisection(const struct fixture *f)
{
    double low = 0, high = 1e3;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        *(can_reach(f, middle) ? &low : &high) = middle;
    }
    return low;
}

TEST(max_min_is_that_of_bisection)
{
    struct rng rng = test_rng(7, "gavel", 0);
    for (int i = 0; i < 200; i++) {
        struct fixture f;
        double level;
        draw(&f, &rng, 2 + i % (MOST_KINDS - 2));
        gavel_equal_share(&f.jobs, f.weight, f.need);
        MUST(gavel_max_min(&f.jobs, f.need, f.x, &level) == LP_OPTIMAL);
        const double expected = level_by_bisection(&f);
        CHECK_NEAR(level, expected, 1e-6 * expected);
        for (int k = 0; k < f.jobs.kinds; k++) CHECK(gavel_rate(&f.jobs, f.x, k) >= f.need[k] * level * (1 - 1e-6));
        check_fits(&f);
    }
}

/* Alike jobs in one kind get what each gets in a kind of its own. */
TEST(kinds_are_their_jobs)
{
    struct rng rng = test_rng(8, "gavel", 0);
    for (int i = 0; i < 50; i++) {
        struct fixture together, apart;
        double level, level_apart;
        draw(&together, &rng, 6);
        fixture_init(&apart, 0, 2);
        memcpy(apart.gpus, together.gpus, sizeof apart.gpus);
        for (int k = 0; k < 6; k++) {
            for (int n = 0; n < (int)together.count[k]; n++) {
                const int m = apart.jobs.kinds++;
                apart.count[m] = 1;
                apart.width[m] = together.width[k];
                apart.weight[m] = together.weight[k];
                memcpy(&apart.speed[(size_t)m * 2], &together.speed[(size_t)k * 2], 2 * sizeof(double));
            }
        }
        gavel_equal_share(&together.jobs, together.weight, together.need);
        gavel_equal_share(&apart.jobs, apart.weight, apart.need);
        MUST(gavel_max_min(&together.jobs, together.need, together.x, &level) == LP_OPTIMAL);
        MUST(gavel_max_min(&apart.jobs, apart.need, apart.x, &level_apart) == LP_OPTIMAL);
        CHECK_NEAR(level, level_apart, 1e-6 * level);
    }
}

/* What is left once the least rate can rise no more is not thrown away: the second job cannot use the fast GPU. */
TEST(nothing_is_left_over)
{
    struct fixture f;
    double level;
    fixture_init(&f, 2, 2);
    f.speed[0] = 1;
    f.speed[1] = f.speed[3] = 0.1;
    const double need[] = {1, 1};
    MUST(gavel_max_min(&f.jobs, need, f.x, &level) == LP_OPTIMAL);
    CHECK_NEAR(level, 0.1, 1e-6);
    CHECK_NEAR(f.x[0], 1, 1e-6);
    CHECK_NEAR(f.x[3], 1, 1e-6);
}

/* On one type the makespan is that of all the work on all GPUs, or of the longest job. */
TEST(makespan)
{
    struct fixture f;
    double level;
    fixture_init(&f, 3, 1);
    f.gpus[0] = 4;
    for (int k = 0; k < 3; k++) f.speed[k] = 1;
    f.width[2] = 2;
    const double left[] = {3, 5, 6}, long_one[] = {3, 50, 6};
    MUST(gavel_max_min(&f.jobs, left, f.x, &level) == LP_OPTIMAL);
    CHECK_NEAR(1 / level, 6, 1e-6);
    MUST(gavel_max_min(&f.jobs, long_one, f.x, &level) == LP_OPTIMAL);
    CHECK_NEAR(1 / level, 50, 1e-5);
    f.gpus[0] = 2;
    MUST(gavel_max_min(&f.jobs, left, f.x, &level) == LP_OPTIMAL);
    CHECK_NEAR(1 / level, 10, 1e-5);
}

/* Two GPUs of unlike speed: those who came first run, where each is fastest. */
TEST(first_in_first_out)
{
    struct fixture f;
    fixture_init(&f, 4, 2);
    static const double speed[] = {1, 1, 1, 0.1, 1, 0.5, 1, 1}, value[] = {4, 3, 2, 1};
    static const double expected[] = {0, 1, 1, 0, 0, 0, 0, 0};
    memcpy(f.speed, speed, sizeof speed);
    MUST(gavel_max_sum(&f.jobs, value, NULL, f.x) == LP_OPTIMAL);
    for (int i = 0; i < 8; i++) CHECK_NEAR(f.x[i], expected[i], 1e-6);
}

/* A fast type at three dollars, and one of half its speed at one: the latter does more per dollar, as long as a job
 * need not be faster; one that must do 3/4 spends half of its time on either. */
TEST(per_cost)
{
    struct fixture f;
    double ratio;
    fixture_init(&f, 1, 2);
    f.speed[0] = 1;
    f.speed[1] = 0.5;
    const double price[] = {3, 1}, at_least[] = {0.75}, too_much[] = {1.5};
    MUST(gavel_max_per_cost(&f.jobs, price, NULL, f.x, &ratio) == LP_OPTIMAL);
    CHECK_NEAR(ratio, 0.5, 1e-6);
    CHECK_NEAR(f.x[0], 0, 1e-6);
    CHECK_NEAR(f.x[1], 1, 1e-6);
    MUST(gavel_max_per_cost(&f.jobs, price, at_least, f.x, &ratio) == LP_OPTIMAL);
    CHECK_NEAR(ratio, 0.375, 1e-6);
    CHECK_NEAR(f.x[0], 0.5, 1e-6);
    CHECK_NEAR(f.x[1], 0.5, 1e-6);
    CHECK_EQ_INT(gavel_max_per_cost(&f.jobs, price, too_much, f.x, &ratio), LP_INFEASIBLE);
}

/* The released code's tests of max_sum_throughput.py have these rates and prices. Of its form the optimum is a
 * matching of two jobs and three GPUs, by hand: without prices 2 + 2 = 3 + 1; with prices 2/3.1 + 1/0.8. */
TEST(raw_rates_are_those_of_the_released_code)
{
    struct fixture f;
    static const double raw[] = {2, 1, 0.5, 3, 2, 1}, price[] = {3.1, 2, 0.8}, cheap[] = {1, 0, 0, 0, 0, 1};
    fixture_init(&f, 2, 3);
    for (int i = 0; i < 6; i++) f.speed[i] = raw[i] / raw[i / 3 * 3];
    const double rate[] = {2, 3}, at_least[] = {0, 0.9};
    MUST(gavel_max_raw(&f.jobs, rate, NULL, NULL, f.x) == LP_OPTIMAL);
    CHECK_NEAR(2 * gavel_rate(&f.jobs, f.x, 0) + 3 * gavel_rate(&f.jobs, f.x, 1), 4, 1e-6);
    MUST(gavel_max_raw(&f.jobs, rate, price, NULL, f.x) == LP_OPTIMAL);
    for (int i = 0; i < 6; i++) CHECK_NEAR(f.x[i], cheap[i], 1e-6);
    MUST(gavel_max_raw(&f.jobs, rate, price, at_least, f.x) == LP_OPTIMAL); /* the second job must do 0.9 of its most */
    CHECK_NEAR(gavel_rate(&f.jobs, f.x, 1), 0.9, 1e-6);
}

/* What X does per dollar, each rate relative to the faster type. Negative where X does not fit, or some rate is too
 * low. */
static double done_per_cost(const struct fixture *f, const double *x, const double *price, const double *at_least)
{
    double value = 0, cost = 0, used[2] = {0};
    for (int k = 0; k < f->jobs.kinds; k++) {
        const double gpus = f->count[k] * f->width[k], rate = gavel_rate(&f->jobs, x, k);
        if (rate < at_least[k] * (1 - 1e-6) || x[2 * k] + x[2 * k + 1] > 1 + 1e-6) return -1;
        value += gpus * rate / f->speed[2 * k];
        for (int j = 0; j < 2; j++) {
            used[j] += gpus * x[2 * k + j];
            cost += gpus * x[2 * k + j] * price[j];
        }
    }
    const bool fits = used[0] <= f->jobs.gpus[0] * (1 + 1e-6) && used[1] <= f->jobs.gpus[1] * (1 + 1e-6);
    return fits ? value / cost : -1;
}

/* With demands on the rates: the ratio is what X does, and none of many X in its neighbourhood does more. */
TEST(per_cost_has_no_better_neighbour)
{
    int solved = 0;
    struct rng rng = test_rng(9, "gavel", 0);
    for (int i = 0; i < 50; i++) {
        struct fixture f;
        enum { KINDS = 6 };
        double ratio, at_least[KINDS], price[] = {1 + rng_uniform(&rng), 0.5 + rng_uniform(&rng)};
        draw(&f, &rng, KINDS);
        for (int k = 0; k < KINDS; k++) at_least[k] = 0.2 * f.speed[2 * k] * rng_uniform(&rng);
        if (gavel_max_per_cost(&f.jobs, price, at_least, f.x, &ratio) != LP_OPTIMAL) continue;
        solved++;
        CHECK_NEAR(done_per_cost(&f, f.x, price, at_least), ratio, 1e-5 * ratio);
        for (int n = 0; n < 200; n++) {
            double x[2 * KINDS];
            for (int m = 0; m < 2 * KINDS; m++)
                x[m] = fmax(0, f.x[m] + (rng_uniform(&rng) < 0.3 ? rng_uniform(&rng) - 0.5 : 0) * 0.2);
            CHECK(done_per_cost(&f, x, price, at_least) <= ratio * (1 + 1e-5));
        }
    }
    CHECK(solved > 25);
}

/* On one type the rates that a ratio asks for take all GPUs at the least one that can be kept. Jobs alone have `share`
 * of a GPU. */
static double least_ratio(const struct gavel_finish *finish, int kinds, double gpus, double share)
{
    double low = 0, high = 1e3;
    for (int i = 0; i < 100; i++) {
        const double middle = (low + high) / 2;
        double used = 0;
        for (int k = 0; k < kinds; k++) {
            const double time = middle * (finish->alone[k] + finish->left[k] / share) - finish->age[k];
            used += time > 0 && finish->left[k] <= time ? finish->left[k] / time : (double)INFINITY;
        }
        *(used <= gpus ? &high : &low) = middle;
    }
    return high;
}

TEST(finish_time_fairness)
{
    enum { KINDS = 5 };
    struct rng rng = test_rng(10, "gavel", 0);
    for (int i = 0; i < 100; i++) {
        struct fixture f;
        double left[KINDS], age[KINDS], alone[KINDS], worst;
        const struct gavel_finish finish = {left, age, alone};
        fixture_init(&f, KINDS, 1);
        f.gpus[0] = (double)(1 + i % 7);
        for (int k = 0; k < KINDS; k++) {
            f.speed[k] = 1;
            left[k] = pow(100, rng_uniform(&rng));
            age[k] = 60 * rng_uniform(&rng);
            alone[k] = 3 * age[k] * rng_uniform(&rng);
        }
        MUST(gavel_min_finish(&f.jobs, &finish, f.x, &worst) == LP_OPTIMAL);
        check_fits(&f);
        const double expected = least_ratio(&finish, KINDS, f.gpus[0], fmin(1, f.gpus[0] / KINDS));
        CHECK_NEAR(worst, expected, 1e-7 * expected);
    }
}

/* At the rate of its fastest type a job is there all the time; a thousandth more is out of reach. */
TEST(the_fastest_rate_is_within_reach_and_no_more)
{
    struct fixture f;
    fixture_init(&f, 1, 2);
    f.speed[0] = 3;
    f.speed[1] = 2;
    const double value[] = {1}, most[] = {3}, more[] = {3.003};
    MUST(gavel_max_sum(&f.jobs, value, most, f.x) == LP_OPTIMAL);
    CHECK_NEAR(f.x[0], 1, 1e-9);
    CHECK_EQ_INT(gavel_max_sum(&f.jobs, value, more, f.x), LP_INFEASIBLE);
}

/* One kind that asks for too much is enough, whichever it is. */
TEST(no_kind_gets_more_than_its_fastest_rate)
{
    static const double value[] = {1, 1};
    for (int k = 0; k < 2; k++) {
        struct fixture f;
        double at_least[2] = {0.1, 0.1};
        fixture_init(&f, 2, 1);
        f.gpus[0] = 4;
        f.speed[0] = f.speed[1] = 1;
        CHECK_EQ_INT(gavel_max_sum(&f.jobs, value, at_least, f.x), LP_OPTIMAL);
        at_least[k] = 1.01;
        CHECK_EQ_INT(gavel_max_sum(&f.jobs, value, at_least, f.x), LP_INFEASIBLE);
    }
}

/* An equal share of all GPUs, at most the whole time: shares of a type are as its GPUs. Of the nth part of the GPUs of
 * each type a job uses as many as it has, or has them part of the time. */
TEST(shares_are_parts_of_the_gpus)
{
    struct rng rng = test_rng(13, "gavel", 0);
    for (int i = 0; i < 100; i++) {
        struct fixture f;
        double jobs = 0;
        draw(&f, &rng, 1 + i % 8);
        for (int k = 0; k < f.jobs.kinds; k++) jobs += f.count[k];
        const double gpus = f.gpus[0] + f.gpus[1];
        gavel_equal_share(&f.jobs, f.weight, f.need);
        gavel_isolated(&f.jobs, f.x);
        for (int k = 0; k < f.jobs.kinds; k++) {
            const double mean = (f.speed[2 * k] * f.gpus[0] + f.speed[2 * k + 1] * f.gpus[1]) / gpus;
            const double time = fmin(1, gpus / jobs), alone = fmin(1, gpus / jobs / f.width[k]);
            CHECK_NEAR(f.need[k], f.weight[k] * mean * time / f.width[k], 1e-12);
            for (int j = 0; j < 2; j++) CHECK_NEAR(f.x[2 * k + j], alone * f.gpus[j] / gpus, 1e-12);
        }
        for (int m = 2 * f.jobs.kinds; m < MOST_X; m++) CHECK_NEAR(f.x[m], 0, 0); /* of no kind */
    }
}

/* Alike jobs in one kind do together what they do in kinds of their own. */
TEST(raw_work_of_a_kind_is_that_of_its_jobs)
{
    struct rng rng = test_rng(14, "gavel", 0);
    for (int i = 0; i < 50; i++) {
        struct fixture together, apart;
        double rate[6], rates[MOST_KINDS], done = 0, done_apart = 0;
        draw(&together, &rng, 6);
        fixture_init(&apart, 0, 2);
        memcpy(apart.gpus, together.gpus, sizeof apart.gpus);
        for (int k = 0; k < 6; k++) rate[k] = 0.5 + rng_uniform(&rng);
        for (int k = 0; k < 6; k++)
            for (int n = 0; n < (int)together.count[k]; n++) {
                const int m = apart.jobs.kinds++;
                apart.count[m] = 1;
                apart.width[m] = together.width[k];
                rates[m] = rate[k];
                memcpy(&apart.speed[(size_t)m * 2], &together.speed[(size_t)k * 2], 2 * sizeof(double));
            }
        MUST(gavel_max_raw(&together.jobs, rate, NULL, NULL, together.x) == LP_OPTIMAL);
        MUST(gavel_max_raw(&apart.jobs, rates, NULL, NULL, apart.x) == LP_OPTIMAL);
        for (int k = 0; k < 6; k++) done += together.count[k] * rate[k] * gavel_rate(&together.jobs, together.x, k);
        for (int k = 0; k < apart.jobs.kinds; k++) done_apart += rates[k] * gavel_rate(&apart.jobs, apart.x, k);
        CHECK_NEAR(done, done_apart, 1e-6 * done);
        check_fits(&together);
    }
}
