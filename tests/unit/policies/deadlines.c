/* Deadlines: what is drawn and counted, EDF and ElasticFlow by hand, and that ElasticFlow keeps more of them. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <math.h>

/* Runs on 4 GPUs with deadlines after `factor` run times. Returns the share that is kept. */
static double kept(struct jobrun *run, const struct job_record *records, size_t n, const char *scheduler, double factor)
{
    const struct jobrun_spec spec = {.records = records, .n = n, .cluster = {.nodes = 1, .gpus_per_node = 4},
                                     .scheduler = scheduler, .deadlines = {factor, factor, 0},
                                     .scheduler_params = scheduler[1] == 'l' ? "{\"round\": \"100s\"}" : NULL};
    jobrun_init(run, &spec, 0);
    return jobrun_metric(run, "job.deadline_met_frac");
}

TEST(no_deadlines_no_metric)
{
    const struct job_record record = jobrun_record(0, 0, 400, 1);
    struct jobrun run;
    const struct jobrun_spec spec = {.records = &record, .n = 1, .cluster = {.nodes = 1, .gpus_per_node = 4},
                                     .scheduler = "edf"};
    jobrun_init(&run, &spec, 0);
    CHECK(isnan(jobrun_metric(&run, "job.deadline_met_frac")));
    jobrun_fini(&run);
}

/* Each of two jobs keeps its deadline of 200 s on 2 GPUs; of three, the last one is not admitted. */
TEST(minimum_shares)
{
    const struct job_record records[] = {jobrun_record(0, 0, 400, 1), jobrun_record(1, 0, 400, 1),
                                         jobrun_record(2, 0, 400, 1)};
    struct jobrun run;
    CHECK_NEAR(kept(&run, records, 2, "elasticflow", 0.5), 1, 1e-12);
    for (int i = 0; i < 2; i++) CHECK_NEAR(run.jobs[i].jct_s, 200, 1e-6);
    jobrun_fini(&run);
    CHECK_NEAR(kept(&run, records, 2, "edf", 0.5), 0, 1e-12);
    jobrun_fini(&run);
    CHECK_NEAR(kept(&run, records, 3, "elasticflow", 0.5), 2 / 3.0, 1e-12);
    CHECK_NEAR(run.jobs[2].jct_s, 200 + 100, 1e-6); /* all four GPUs then */
    jobrun_fini(&run);
}

/* A job that comes later with an earlier deadline is admitted only if the first can keep its own. The first, alone on 4
 * GPUs up to 100 s, has 1,200 GPU-seconds left and 1,200 up to its deadline. */
TEST(admission_protects)
{
    const struct job_record tight[] = {jobrun_record(0, 0, 1600, 1), jobrun_record(1, 100, 200, 1)};
    struct jobrun run;
    CHECK_NEAR(kept(&run, tight, 2, "elasticflow", 0.25), 0.5, 1e-12);
    CHECK_NEAR(run.jobs[0].jct_s, 400, 1e-6);
    jobrun_fini(&run);
    CHECK_NEAR(kept(&run, tight, 2, "elasticflow", 0.5), 1, 1e-12);
    jobrun_fini(&run);
}

TEST(elasticflow_keeps_more)
{
    double flow = 0, edf = 0;
    for (uint64_t round = 0; round < 12; round++) {
        enum { JOBS = 24 };
        struct rng rng = test_rng(1, "deadlines", round);
        struct job_record records[JOBS];
        double submit_s = 0;
        for (int i = 0; i < JOBS; i++) {
            submit_s += floor(rng_exponential(&rng, 300));
            records[i] = jobrun_record(i, submit_s, 300 + (double)rng_below(&rng, 3000),
                                       1 + (int32_t)rng_below(&rng, 4));
        }
        struct jobrun run;
        flow += kept(&run, records, JOBS, "elasticflow", 1.5);
        jobrun_fini(&run);
        edf += kept(&run, records, JOBS, "edf", 1.5);
        jobrun_fini(&run);
    }
    CHECK(flow > 1.2 * edf);
}

/* Best-effort jobs have no deadline, and draws are even. */
TEST(draws)
{
    const struct deadlines_config config = {.least = 0.5, .most = 1.5, .best_effort_frac = 0.25};
    struct job_record record = jobrun_record(0, 10, 100, 1);
    struct rng rng = test_rng(2, "deadlines", 0);
    enum { N = 4000 };
    int n = 0;
    double sum_s = 0;
    for (int i = 0; i < N; i++) {
        const sim_ns deadline_ns = deadline_of(&config, &record, &rng);
        if (deadline_ns == SIM_NS_MAX) continue;
        const double after_s = sim_s_from_ns(deadline_ns) - 10;
        CHECK(after_s >= 50 && after_s <= 150);
        sum_s += after_s;
        n++;
    }
    CHECK_NEAR(n / (double)N, 0.75, 0.03);
    CHECK_NEAR(sum_s / n, 100, 2);
}

/* QSSF learns the run time of a type: the second long job waits behind the short one, though it came first and states
 * less. */
TEST(qssf_learns)
{
    struct job_record records[] = {jobrun_record(0, 0, 1000, 4),    jobrun_record(1, 0, 10, 4),
                                   jobrun_record(2, 500, 1000, 4),  jobrun_record(3, 500, 100, 4),
                                   jobrun_record(4, 1020, 1000, 4), jobrun_record(5, 1020, 10, 4)};
    for (int i = 0; i < 6; i++) records[i].type = records[i].duration_ns > sim_ns_from_s(500) ? "long" : "short";
    for (int i = 0; i < 6; i++) records[i].estimate_ns = sim_ns_from_s(1);
    const struct jobrun_spec spec = {.records = records, .n = 6, .cluster = {.nodes = 1, .gpus_per_node = 4},
                                     .scheduler = "qssf"};
    struct jobrun run;
    jobrun_init(&run, &spec, 0);
    /* 0 runs to 1000, 1 to 1010; then nothing is known of 2 and 3 but from their estimates, 2 runs to 2010. */
    CHECK_NEAR(run.jobs[2].start_s, 1010, 1e-6);
    CHECK_NEAR(run.jobs[3].start_s, 2010, 1e-6);
    CHECK_NEAR(run.jobs[5].start_s, 2110, 1e-6); /* predicted: 10 s beside 1000 s */
    CHECK_NEAR(run.jobs[4].start_s, 2120, 1e-6);
    jobrun_fini(&run);
}
