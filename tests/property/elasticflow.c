/* ElasticFlow against its simpler twin: on random jobs that come alone or many at once, both give each job the same
 * GPUs at the same times, and refuse the same jobs. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"
#include "tests/support/naive_elasticflow.h"

#include <math.h>

enum { MOST_JOBS = 60 };

/* Jobs of 1 to 8 GPUs that come in bursts, and scale by one of two laws. */
static size_t draw_jobs(struct rng *rng, struct job_record records[MOST_JOBS])
{
    const size_t n = 20 + (size_t)rng_below(rng, MOST_JOBS - 20);
    double submit_s = 0;
    for (size_t i = 0; i < n; i++) {
        if (rng_below(rng, 6) == 0) submit_s += floor(rng_exponential(rng, 400));
        records[i] = jobrun_record((int64_t)i, submit_s, 20 + (double)rng_below(rng, 3000), 1 << rng_below(rng, 4));
        records[i].type = rng_below(rng, 2) == 0 ? "a" : "b";
    }
    return n;
}

static void check_round(uint64_t round)
{
    struct rng rng = test_rng(7, "elasticflow", round);
    struct job_record records[MOST_JOBS];
    struct job_type types[] = {{.name = "a", .speedup = {.law = SPEEDUP_POWER, .exponent = 0.7}},
                               {.name = "b", .speedup = {.law = SPEEDUP_AMDAHL, .parallel_frac = 0.9}}};
    struct jobrun_spec spec = {.records = records, .n = draw_jobs(&rng, records), .types = {2, types},
                               .cluster = {.nodes = 1 + (int64_t)rng_below(&rng, 6), .gpus_per_node = 8},
                               .deadlines = {0.5, 0.5 + 2 * rng_uniform(&rng), 0.2},
                               .scheduler_params = round % 2 == 0 ? "{\"round\": \"20s\"}" : "{\"round\": \"120s\"}"};
    SCOPED(jobrun) ours;
    SCOPED(jobrun) naive;
    spec.scheduler = "elasticflow";
    jobrun_init(&ours, &spec, 0);
    spec.own_scheduler = &naive_elasticflow;
    jobrun_init(&naive, &spec, 0);
    for (size_t i = 0; i < spec.n; i++) {
        CHECK(ours.jobs[i].start_s == naive.jobs[i].start_s);
        CHECK(ours.jobs[i].end_s == naive.jobs[i].end_s);
        CHECK(ours.jobs[i].gpu_s == naive.jobs[i].gpu_s);
        CHECK_EQ_INT(ours.jobs[i].preemptions, naive.jobs[i].preemptions);
    }
    CHECK_EQ_INT(ours.n_warnings, naive.n_warnings);
}

TEST(as_the_simpler_twin)
{
    for (uint64_t round = 0; round < 12; round++) check_round(round);
}
