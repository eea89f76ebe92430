#include "models/operators/knots.h"
#include "tests/support/harness.h"

#include <math.h>

TEST(knots_rise_without_repetition)
{
    struct knots knots = {.n = 0};
    struct rng rng = test_rng(5, "knots", 0);
    for (int i = 0; i < 2000; i++) knots_add(&knots, (int64_t)rng_below(&rng, 200) - 20);
    MUST(knots.n > 100 && knots.n < 180);
    for (size_t i = 0; i < knots.n; i++) CHECK(knots.at[i] > (i > 0 ? knots.at[i - 1] : 0));
}

TEST(a_full_list_stays_as_it_is)
{
    struct knots knots = {.n = 0};
    for (int64_t at = 1; at <= 3 * KNOTS_MAX; at++) knots_add(&knots, at);
    CHECK_EQ_INT(knots.n, KNOTS_MAX);
    CHECK_EQ_INT(knots.at[KNOTS_MAX - 1], KNOTS_MAX);
}

/* The right end belongs to a segment, the left one to its neighbour; outside the outer segments go on. */
TEST(what_is_found_encloses_the_number)
{
    for (uint64_t n = 0; n < 2000; n++) {
        struct knots knots = {.n = 0};
        struct rng rng = test_rng(6, "find", n);
        while (knots.n < 2 + n % 40) knots_add(&knots, 1 + (int64_t)rng_below(&rng, 500));
        knots_index(&knots);
        const int64_t scale = 1 + (int64_t)rng_below(&rng, 9), x = (int64_t)rng_below(&rng, 600 * (uint64_t)scale);
        const size_t i = knots_find(&knots, scale, x);
        MUST(i + 1 < knots.n);
        CHECK(i == 0 || scale * knots.at[i] < x);
        CHECK(i + 2 == knots.n || x <= scale * knots.at[i + 1]);
    }
}

/* The same for knots and numbers of all sizes up to 2^30, beyond the last step of the index. */
TEST(large_numbers_are_found)
{
    for (uint64_t n = 0; n < 2000; n++) {
        struct knots knots = {.n = 0};
        struct rng rng = test_rng(7, "large", n);
        int64_t at[60];
        for (int i = 0; i < 60; i++) at[i] = (int64_t)exp2(30.0 * rng_uniform(&rng));
        for (int i = 0; i < 60; i++) knots_add(&knots, at[i]);
        MUST(knots.n >= 2);
        knots_index(&knots);
        for (int k = 0; k < 20; k++) {
            const int64_t x = k < 5 ? at[k] : (int64_t)exp2(31.0 * rng_uniform(&rng));
            const size_t i = knots_find(&knots, 1, x);
            MUST(i + 1 < knots.n);
            CHECK(i == 0 || knots.at[i] < x);
            CHECK(i + 2 == knots.n || x <= knots.at[i + 1]);
        }
    }
}
