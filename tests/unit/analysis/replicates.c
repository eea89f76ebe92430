/* What the recorded trace says of its replicates. */
#include "analysis/replicates.h"
#include "tests/support/harness.h"

#include <math.h>

TEST(only_values_outside_of_the_interval_are_beyond)
{
    const struct interval interval = {.mean = 5, .low = 4, .high = 8}, none = {.mean = 5, .low = NAN, .high = NAN};
    CHECK(replicates_beyond(&interval, 4) == 0 && replicates_beyond(&interval, 8) == 0);
    CHECK(replicates_beyond(&interval, 10) == 0.5 && replicates_beyond(&interval, 3) == 0.25);
    CHECK(replicates_beyond(&interval, NAN) == 0 && replicates_beyond(&none, 10) == 0);
}

/* A window is shorter than the trace, so that only means, percentiles, shares and rates compare; a bootstrap is as
 * long. */
TEST(windows_compare_only_what_does_not_add_up)
{
    const struct replicates blocks = {.method = REPLICATES_BLOCKS}, windows = {.method = REPLICATES_WINDOWS};
    const struct replicates none = {.method = REPLICATES_NONE};
    static const char *const means[] = {"job.jct_s.mean", "request.ttft_s.p99[chat]", "cluster.gpu_util",
                                        "slo.attained_frac"};
    static const char *const sums[] = {"job.finished", "cost.usd", "job.makespan_s", "request.ttft_s.max"};
    for (size_t i = 0; i < 4; i++) {
        CHECK(replicates_compares(&windows, means[i]) && !replicates_compares(&windows, sums[i]));
        CHECK(replicates_compares(&blocks, means[i]) && replicates_compares(&blocks, sums[i]));
        CHECK(!replicates_compares(&none, means[i]) && !replicates_compares(&none, sums[i]));
    }
}

TEST(a_window_is_sparse_below_a_tenth_of_the_mean)
{
    CHECK_EQ_INT(replicates_sparse((double[]){56, 12, 18972}, 3), 1);
    CHECK_EQ_INT(replicates_sparse((double[]){100, 190, 10}, 3), 3); /* a tenth of the mean */
    CHECK_EQ_INT(replicates_sparse((double[]){100, 191, 9}, 3), 2);
    CHECK_EQ_INT(replicates_sparse((double[]){100, NAN, 1}, 3), 3);
    CHECK_EQ_INT(replicates_sparse((double[]){100}, 1), 1);
}
