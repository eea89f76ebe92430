/* What a part of a run tells about the size of its results. */
#include "sim/cli/run/results_limit.h"
#include "tests/support/harness.h"

TEST(results_grow_with_the_run)
{
    CHECK(results_predicted_bytes(2e9, 0.02, 100e9) == 100e9);
    CHECK(results_predicted_bytes(2e9, 1, 100e9) == 2e9);
}

/* Neither a few rows nor an unknown part of the run predict anything. */
TEST(a_small_part_predicts_nothing)
{
    CHECK(results_predicted_bytes(0.9e9, 1e-6, 100e9) == 0.9e9);
    CHECK(results_predicted_bytes(2e9, 0, 100e9) == 2e9);
}
