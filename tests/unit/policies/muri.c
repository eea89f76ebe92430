/* Muri's groups by hand: jobs that complement each other are matched, and only when they do not all fit. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

static double long_first[] = {2, 1}, long_second[] = {1, 2};

static struct job_type types[] = {{.name = "x", .sharing.phases = {2, long_first}},
                                  {.name = "y", .sharing.phases = {2, long_second}}};

static void run_on(struct jobrun *run, const char *of, double duration_s, int32_t gpus, const char *placement)
{
    struct job_record records[16];
    size_t n = 0;
    for (; of[n] != 0; n++) {
        records[n] = jobrun_record((int64_t)n, 0, duration_s, 1);
        records[n].type = of[n] == 'x' ? "x" : "y";
    }
    const struct jobrun_spec spec = {.records = records, .n = n, .cluster = {.nodes = 1, .gpus_per_node = gpus},
                                     .scheduler = "muri", .placement = placement, .types = {2, types},
                                     .scheduler_params = "{\"round\": \"1s\"}"};
    jobrun_init(run, &spec, 0);
}

/* x beside y takes 3 s for an iteration of 3 s, x beside x takes 4 s. */
TEST(complements_are_matched)
{
    struct jobrun run;
    run_on(&run, "xxyy", 300, 2, NULL);
    for (int i = 0; i < 4; i++) CHECK_NEAR(run.jobs[i].jct_s, 300, 1e-6);
    jobrun_fini(&run);
    run_on(&run, "xxxx", 300, 2, NULL);
    for (int i = 0; i < 4; i++) CHECK_NEAR(run.jobs[i].jct_s, 400, 1e-6);
    jobrun_fini(&run);
    run_on(&run, "xyxyxyxx", 300, 4, NULL); /* three pairs of x and y, and one of x and x */
    int n_fast = 0;
    for (int i = 0; i < 8; i++) n_fast += run.jobs[i].jct_s < 301;
    CHECK_EQ_INT(n_fast, 6);
    CHECK_NEAR(run.makespan_s, 300 + 300 - 300 * 3 / 4.0, 1e-6); /* the last two run alone once GPUs are free */
    jobrun_fini(&run);
}

TEST(jobs_that_fit_run_alone)
{
    struct jobrun run;
    run_on(&run, "xxx", 300, 3, NULL);
    for (int i = 0; i < 3; i++) CHECK_NEAR(run.jobs[i].jct_s, 300, 1e-6);
    jobrun_fini(&run);
}

/* Nodes take no groups, so the jobs run one after another. */
TEST(placed_jobs_run_alone)
{
    struct jobrun run;
    run_on(&run, "xy", 300, 1, "first-fit");
    CHECK_NEAR(run.jobs[0].jct_s, 300, 1e-6);
    CHECK_NEAR(run.jobs[1].jct_s, 600, 1e-6);
    jobrun_fini(&run);
}
