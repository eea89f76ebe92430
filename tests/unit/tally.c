#include "tests/harness.h"

#include "sim/core/tally.h"

#include <math.h>

static void mean_and_variance_of_known_values(void)
{
    struct tally tally;
    tally_init(&tally);
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    for (int i = 0; i < 8; i++) tally_add(&tally, values[i]);
    CHECK_NEAR(tally.mean, 5, 1e-15);
    CHECK_NEAR(tally_variance(&tally), 32.0 / 7, 1e-14);
    CHECK(tally_sum(&tally) == 40 && tally.min == 2 && tally.max == 9);
}

TEST_SUITE(tally)
{
    TEST(mean_and_variance_of_known_values);
}
