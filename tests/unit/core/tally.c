#include "sim/core/tally.h"
#include "tests/support/harness.h"

#include <gsl/gsl_statistics_double.h>

enum { VALUES = 3000 };

static void draw(double values[VALUES], uint64_t stream, double offset)
{
    struct rng rng = test_rng(1, "tally", stream);
    for (int i = 0; i < VALUES; i++) values[i] = offset + rng_exponential(&rng, 10) - 5;
}

static struct tally tally_of(const double *values, size_t n)
{
    struct tally tally;
    tally_init(&tally);
    for (size_t i = 0; i < n; i++) tally_add(&tally, values[i]);
    return tally;
}

TEST(nothing_and_one_value)
{
    struct tally tally = tally_of(NULL, 0);
    CHECK(tally.count == 0 && tally.mean == 0 && tally_variance(&tally) == 0 && tally_sum(&tally) == 0);
    tally_add(&tally, -3);
    CHECK(tally.count == 1 && tally.mean == -3 && tally.min == -3 && tally.max == -3);
    CHECK(tally_variance(&tally) == 0 && tally_sum(&tally) == -3);
}

/* The second offset is where the textbook sum of squares has lost every digit of the variance. */
TEST(agrees_with_two_passes_over_the_values)
{
    static const double offsets[] = {0, 1e9};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        double values[VALUES];
        draw(values, i, offsets[i]);
        struct tally tally = tally_of(values, VALUES);
        CHECK_NEAR(tally.mean / gsl_stats_mean(values, 1, VALUES), 1, 1e-13);
        CHECK_NEAR(tally_variance(&tally) / gsl_stats_variance(values, 1, VALUES), 1, 1e-7);
        CHECK(tally.min == gsl_stats_min(values, 1, VALUES) && tally.max == gsl_stats_max(values, 1, VALUES));
    }
}

TEST(sum_keeps_what_doubles_drop)
{
    struct tally tally;
    tally_init(&tally);
    tally_add(&tally, 1);
    tally_add(&tally, 1e100);
    for (int i = 0; i < 1000; i++) tally_add(&tally, 1);
    tally_add(&tally, -1e100);
    CHECK(tally_sum(&tally) == 1001);

    tally_init(&tally);
    for (int i = 0; i < 1000000; i++) tally_add(&tally, 0.1);
    CHECK_NEAR(tally_sum(&tally), 100000, 1e-10);
}

TEST(merging_parts_is_tallying_the_whole)
{
    static const size_t cuts[] = {0, 1, 2, 1000, VALUES - 1, VALUES};
    double values[VALUES];
    draw(values, 7, 100);
    struct tally whole = tally_of(values, VALUES);
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        struct tally left = tally_of(values, cuts[i]), right = tally_of(values + cuts[i], VALUES - cuts[i]);
        tally_merge(&left, &right);
        CHECK_EQ_INT(left.count, whole.count);
        CHECK(left.min == whole.min && left.max == whole.max);
        CHECK_NEAR(left.mean / whole.mean, 1, 1e-14);
        CHECK_NEAR(tally_variance(&left) / tally_variance(&whole), 1, 1e-12);
        CHECK_NEAR(tally_sum(&left) / tally_sum(&whole), 1, 1e-15);
    }
}

TEST(order_matters_only_to_rounding)
{
    double values[VALUES], backwards[VALUES];
    draw(values, 8, 0);
    for (int i = 0; i < VALUES; i++) backwards[i] = values[VALUES - 1 - i];
    struct tally a = tally_of(values, VALUES), b = tally_of(backwards, VALUES);
    CHECK_NEAR(a.mean / b.mean, 1, 1e-13);
    CHECK_NEAR(tally_variance(&a) / tally_variance(&b), 1, 1e-13);
    CHECK_NEAR(tally_sum(&a) / tally_sum(&b), 1, 1e-15);
}

/* Against the sum over every nanosecond. */
TEST(level_integrates_a_step_function)
{
    struct rng rng = test_rng(2, "level", 0);
    for (int round = 0; round < 50; round++) {
        struct level level;
        sim_ns start = (sim_ns)rng_below(&rng, 1000) - 500, now = start;
        int64_t value = 3, sum = 0, max = 3;
        level_init(&level, now, value);
        for (int step = 0; step < 100; step++) {
            for (sim_ns end = now + (sim_ns)rng_below(&rng, 50); now < end; now++) sum += value;
            CHECK(level_integral_s(&level, now) == (double)sum / 1e9);
            if (now > start) CHECK(level_mean(&level, now) == (double)sum / (double)(now - start));
            value = (int64_t)rng_below(&rng, 200) - 100;
            if (value > max) max = value;
            level_set(&level, now, value);
        }
        CHECK_EQ_INT(level.max, max);
    }
}

TEST(level_mean_of_no_time_is_the_value)
{
    struct level level;
    level_init(&level, 5, 7);
    CHECK(level_mean(&level, 5) == 7);
    level_set(&level, 5, 9);
    CHECK(level_mean(&level, 5) == 9 && level_integral_s(&level, 5) == 0);
}

/* 2^58 ns (nine years) times 2^40 is past 64 bits, and one nanosecond of 1 more would be lost in a double. */
TEST(level_is_exact_past_64_bits)
{
    struct level level;
    sim_ns end = INT64_C(1) << 58;
    level_init(&level, 0, INT64_C(1) << 40);
    level_set(&level, end, 1);
    level_set(&level, end + 1, -(INT64_C(1) << 40));
    CHECK(level_integral_s(&level, 2 * end + 1) == 1e-9);
    level_init(&level, 0, INT64_MAX);
    CHECK(level_mean(&level, SIM_NS_MAX) == (double)INT64_MAX);
    level_init(&level, -SIM_NS_MAX, INT64_MIN);
    CHECK(level_mean(&level, SIM_NS_MAX) == (double)INT64_MIN);
}

TEST(level_gives_whole_seconds_exactly)
{
    struct level level;
    level_init(&level, 0, 3);
    level_set(&level, SIM_NS_PER_S / 3, 5); /* 333,333,333 ns at 3, the rest of seven seconds at 5 */
    CHECK(level_integral_s(&level, 7 * SIM_NS_PER_S) == (double)INT64_C(34333333334) / 1e9);
    level_init(&level, 0, 123456789);
    CHECK(level_integral_s(&level, 72000000 * SIM_NS_PER_S) == 123456789.0 * 72000000);
}
