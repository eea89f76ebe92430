/* Six weeks of a cluster, policy, failures and checkpoints together: counters that add up over 4e15 ns and 5e9
 * GPU-seconds. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static double of(const struct bed_rows *rows, const char *metric)
{
    return bed_metric(rows, metric);
}

/* Every job ends, and every GPU-second that jobs held was of use, waited for, spent on checkpoints, or lost. */
TEST_OPTIMISED(six_weeks_add_up)
{
    struct bed_rows *rows = bed_ok(BED(.no_detail = true), "{'extends': ['configs/scenarios/acme-six-weeks.json']}");
    const double gpu_s = of(rows, "job.gpu_s.sum"), expected = 663813 / 184.0 * 42; /* jobs at Seren's rate */
    double by_row_s = 0, lost_s = 0;
    for (size_t i = 0; i < rows->n_jobs; i++) {
        by_row_s += rows->jobs[i].gpu_s;
        lost_s += rows->jobs[i].lost_gpu_s;
        CHECK(rows->jobs[i].end_s <= rows->end_s && rows->jobs[i].jct_s > 0);
    }
    CHECK_NEAR((double)rows->n_jobs, expected, 4.5 * sqrt(expected));
    CHECK(of(rows, "job.ended") == (double)rows->n_jobs);
    CHECK(rows->end_s > 42 * 86400 && rows->end_s < 60 * 86400);
    CHECK_NEAR(by_row_s, gpu_s, 1e-9 * gpu_s);
    CHECK_NEAR(of(rows, "job.gpus_in_use.mean") * rows->end_s, gpu_s, 1e-9 * gpu_s);
    CHECK_NEAR(of(rows, "job.useful_gpu_s.sum") + of(rows, "job.wait_gpu_s.sum") +
                   of(rows, "job.checkpoint_gpu_s.sum") + lost_s,
               gpu_s, 1e-9 * gpu_s);
    CHECK_NEAR(of(rows, "failure.lost_gpu_s"), lost_s, 1e-9 * lost_s);
    CHECK(of(rows, "failure.interrupts") > 10);
    CHECK(of(rows, "cluster.gpus_in_use.max") <= 284 * 8 && of(rows, "cluster.available_frac") > 0.999);
}
