/* How far a job has come, at speeds that are no whole numbers: all is done at its end, and not before. */
#include "sim/world/jobs/job_progress.h"
#include "tests/support/harness.h"

TEST(all_is_done_at_the_end)
{
    struct rng rng = test_rng(1, "progress", 0);
    for (int i = 0; i < 20000; i++) {
        struct job_progress progress = {.work_ns = (sim_ns)rng_below(&rng, UINT64_C(1) << (1 + i % 52)),
                                        .from_ns = (sim_ns)rng_below(&rng, UINT64_C(1) << 50),
                                        .wait_ns = (sim_ns)rng_below(&rng, 1000), .speed = 8 * rng_uniform(&rng)};
        progress.done_ns = progress.work_ns / 3;
        const sim_ns end_ns = job_progress_end_ns(&progress);
        CHECK_EQ_INT(job_progress_done_ns(&progress, end_ns), progress.work_ns);
        CHECK_EQ_INT(job_progress_done_ns(&progress, progress.from_ns), progress.done_ns);
        job_progress_move(&progress, end_ns);
        CHECK_EQ_INT(progress.done_ns, progress.work_ns);
    }
}
