/* Schedulers of elastic jobs on jobs whose speed is in proportion to their GPUs, and where times follow by hand. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <math.h>

static void run_on(struct jobrun *run, const struct job_record *records, size_t n, int32_t gpus, const char *scheduler,
                   const char *params)
{
    const struct jobrun_spec spec = {.records = records, .n = n, .cluster = {.nodes = 1, .gpus_per_node = gpus},
                                     .scheduler = scheduler, .scheduler_params = params};
    jobrun_init(run, &spec, 0);
}

/* GPUs idle only from the end of a job to the end of its round, so the makespan is the work over the GPUs. */
static void check_makespan(const char *scheduler, const char *params, uint64_t round)
{
    enum { JOBS = 12, GPUS = 16 };
    struct rng rng = test_rng(1, scheduler, round);
    struct job_record records[JOBS];
    double work_s = 0;
    for (int i = 0; i < JOBS; i++) {
        const int32_t gpus = 1 + (int32_t)rng_below(&rng, 8);
        const double duration_s = 100 + (double)rng_below(&rng, 2000);
        records[i] = jobrun_record(i, 0, duration_s, gpus);
        work_s += duration_s * gpus;
    }
    struct jobrun run;
    run_on(&run, records, JOBS, GPUS, scheduler, params);
    CHECK(run.makespan_s >= work_s / GPUS - 1e-6);
    CHECK(run.makespan_s <= work_s / GPUS + JOBS + 1);
    jobrun_fini(&run);
}

TEST(elastic_jobs_leave_no_gpu_idle)
{
    for (uint64_t round = 0; round < 6; round++) {
        check_makespan("optimus", "{\"round\": \"1s\"}", round);
        check_makespan("afs", "{\"round\": \"1s\"}", round);
        check_makespan("pollux", "{\"round\": \"1s\", \"explores\": false, \"restart\": \"1ns\"}", round);
    }
}

static void check_equal_parts(const char *scheduler, const char *params)
{
    const struct job_record records[] = {jobrun_record(0, 0, 1000, 4), jobrun_record(1, 0, 1000, 4)};
    struct jobrun run;
    run_on(&run, records, 2, 8, scheduler, params);
    for (int i = 0; i < 2; i++) CHECK_NEAR(run.jobs[i].jct_s, 1000, 1e-6);
    CHECK_EQ_INT(run.jobs[0].preemptions + run.jobs[1].preemptions, 0);
    jobrun_fini(&run);
}

TEST(equal_jobs_get_equal_parts)
{
    check_equal_parts("optimus", NULL);
    check_equal_parts("pollux", "{\"explores\": false, \"round\": \"1000s\"}");
}

/* AFS gives the first GPU to each, the shorter one first. Then a has 1 and b has 1: (2 - 1) / 2 < (2 - 1) / 1, so a
 * gets the third; with 2 and 1, 1 / 2 = 1 / 2, so a gets the fourth. */
TEST(afs_prefers_the_shorter_job)
{
    const struct job_record records[] = {jobrun_record(0, 0, 4000, 1), jobrun_record(1, 0, 1500, 1)};
    struct jobrun run;
    run_on(&run, records, 2, 4, "afs", "{\"round\": \"500s\"}");
    CHECK_NEAR(run.jobs[1].jct_s, 500, 1e-6);
    CHECK_NEAR(run.jobs[0].jct_s, 500 + 3500 / 4.0, 1e-6);
    jobrun_fini(&run);
}

/* Optimus: left (1 / k - 1 / (k + 1)) from 1 GPU each. 3000 s: 1500, 500, 250; 1000 s: 500, 167. The tie of 500 goes to
 * the older job. */
TEST(optimus_takes_the_largest_gain)
{
    const struct job_record records[] = {jobrun_record(0, 0, 3000, 1), jobrun_record(1, 0, 1000, 1)};
    struct jobrun run;
    run_on(&run, records, 2, 4, "optimus", "{\"round\": \"1000s\"}");
    CHECK_NEAR(run.jobs[0].jct_s, 1000, 1e-6);
    CHECK_NEAR(run.jobs[1].jct_s, 1000, 1e-6);
    jobrun_fini(&run);
}

/* A job starts on one GPU, and at most doubles them in each round. */
TEST(exploring_doubles)
{
    const struct job_record record = jobrun_record(0, 0, 100, 8);
    struct jobrun run;
    run_on(&run, &record, 1, 8, "sia", "{\"round\": \"100s\", \"restart\": \"1ns\"}");
    CHECK_NEAR(run.jobs[0].jct_s, 300 + 100 * (1 - (1 + 2 + 4) / 8.0), 1e-6);
    CHECK_EQ_INT(run.jobs[0].preemptions, 3);
    jobrun_fini(&run);
}

/* The worse of two jobs for one GPU gets a lease of 220 s, which ends with the round. */
TEST(themis_leases_to_the_worst)
{
    const struct job_record records[] = {jobrun_record(0, 0, 1000, 1), jobrun_record(1, 0, 1000, 1)};
    struct jobrun run;
    run_on(&run, records, 2, 1, "themis", "{\"round\": \"100s\", \"lease\": \"220s\"}");
    CHECK_NEAR(run.jobs[0].jct_s, 1900, 1e-6);
    CHECK_NEAR(run.jobs[1].jct_s, 2000, 1e-6);
    CHECK_EQ_INT(run.jobs[0].preemptions, 3);
    jobrun_fini(&run);
}

/* Of equally unfair jobs two of 2 GPUs win against one of 3: their product of values is larger. Neither takes anything
 * from the other, so both keep their whole lease. */
TEST(themis_takes_the_largest_product)
{
    const struct job_record records[] = {jobrun_record(0, 0, 1000, 3), jobrun_record(1, 0, 1000, 2),
                                         jobrun_record(2, 0, 1000, 2)};
    SCOPED(jobrun) run;
    run_on(&run, records, 3, 4, "themis", "{\"round\": \"100s\", \"lease\": \"2000s\", \"fairness\": 0}");
    CHECK_NEAR(run.jobs[1].end_s, 1000, 1e-6);
    CHECK_NEAR(run.jobs[2].end_s, 1000, 1e-6);
    CHECK_NEAR(run.jobs[0].start_s, 1000, 1e-6);
}

/* One job bids; GPUs that it leaves go to the others in the same round. */
TEST(themis_leaves_no_gpu_that_a_job_wants)
{
    struct job_record records[4];
    for (int i = 0; i < 4; i++) records[i] = jobrun_record(i, 0, 500, 1);
    SCOPED(jobrun) run;
    run_on(&run, records, 4, 4, "themis", "{\"round\": \"100s\", \"fairness\": 1}");
    for (int i = 0; i < 4; i++) CHECK_NEAR(run.jobs[i].end_s, 500, 1e-6);
}

/* More GPUs than an auction divides are left to all, the worst job among them. */
TEST(themis_gives_many_gpus_without_an_auction)
{
    const struct job_record records[] = {jobrun_record(0, 0, 500, 8), jobrun_record(1, 0, 500, 4096)};
    SCOPED(jobrun) run;
    run_on(&run, records, 2, 4200, "themis", "{\"round\": \"100s\"}");
    for (int i = 0; i < 2; i++) CHECK_NEAR(run.jobs[i].end_s, 500, 1e-6);
}

/* Of jobs that are alike the one that has waited longer is the worse off. */
TEST(themis_counts_the_age_of_a_job)
{
    const struct job_record records[] = {jobrun_record(0, 0, 150, 1), jobrun_record(1, 10, 1000, 1),
                                         jobrun_record(2, 90, 1000, 1)};
    SCOPED(jobrun) run;
    run_on(&run, records, 3, 1, "themis", "{\"round\": \"100s\", \"fairness\": 1}");
    CHECK_NEAR(run.jobs[1].start_s, 200, 1e-6);
    CHECK(run.jobs[2].start_s > 200);
}

/* Both bid, and the winner pays: its lease is shorter by 1.1, what the other would have gained. It wins again at 200 s,
 * where log(1.1) exceeds log(1.3 / 1.2). */
TEST(themis_winner_pays)
{
    const struct job_record records[] = {jobrun_record(0, 0, 1000, 1), jobrun_record(1, 0, 1000, 1)};
    struct jobrun run;
    run_on(&run, records, 2, 1, "themis", "{\"round\": \"100s\", \"lease\": \"220s\", \"fairness\": 0}");
    CHECK_NEAR(run.jobs[0].jct_s, 1000, 1e-6);
    CHECK_EQ_INT(run.jobs[0].preemptions, 0);
    jobrun_fini(&run);
}
