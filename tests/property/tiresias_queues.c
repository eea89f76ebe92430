/* The queues of Tiresias against the plainest way to write them, on lists of jobs with many ties, crossings and events
 * in the same second. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"
#include "tests/support/naive_tiresias.h"

enum { MAX_GPUS = 6, UNIT_S = 60 }; /* 60: a multiple of all numbers of GPUs */

static int between(struct rng *rng, int low, int high)
{
    return low + (int)rng_below(rng, (uint64_t)(high - low + 1));
}

static void draw_jobs(struct rng *rng, struct naive_job *jobs, int n, int total_gpus, int unit_s, int shortest)
{
    int gap = between(rng, 0, 4), longest = between(rng, 1, 30), submit = 0;
    for (int i = 0; i < n; i++) {
        submit += between(rng, 0, gap);
        jobs[i] = (struct naive_job){.submit = submit * unit_s,
                                     .run = between(rng, shortest, longest) * unit_s,
                                     .gpus = between(rng, 1, between(rng, 1, total_gpus))};
    }
}

static struct naive_tiresias draw_params(struct rng *rng, int unit_s, bool released, bool promotes)
{
    struct naive_tiresias params = {.n_limits = between(rng, 1, 3), .by_time = rng_below(rng, 3) == 0, .released = released};
    int limit = 0;
    for (int i = 0; i < params.n_limits; i++) params.limits[i] = (limit += between(rng, 1, 20)) * unit_s;
    if (promotes) params.promote_knob = between(rng, 1, 3);
    return params;
}

static void run_real(struct jobrun *run, const struct naive_tiresias *params, const struct naive_job *jobs, int n,
                     int total_gpus)
{
    struct job_record records[NAIVE_MAX_JOBS];
    char limits[64], json[256];
    int length = 0;
    for (int i = 0; i < params->n_limits; i++)
        length += snprintf(limits + length, sizeof limits - (size_t)length, i > 0 ? ", %d" : "%d", params->limits[i]);
    snprintf(json, sizeof json, "{\"limits\": [%s], \"service\": \"%s\", \"looks\": \"%s\", \"promote_knob\": %d}",
             limits, params->by_time ? "time" : "gpu-time", params->released ? "released" : "exact",
             params->promote_knob);
    for (int i = 0; i < n; i++) records[i] = jobrun_record(i, jobs[i].submit, jobs[i].run, jobs[i].gpus);
    jobrun_init(run,
                &(struct jobrun_spec){.records = records,
                                      .n = (size_t)n,
                                      .cluster = {.nodes = total_gpus, .gpus_per_node = 1},
                                      .scheduler = "tiresias",
                                      .scheduler_params = json},
                0);
}

static bool agrees(const struct jobrun_job *job, const struct naive_job *naive)
{
    return CHECK_NEAR(job->start_s, naive->start, 0) && CHECK_NEAR(job->end_s, naive->end, 0) &&
           CHECK_EQ_INT(job->preemptions, naive->preemptions) && CHECK_EQ_INT(job->starts, naive->starts);
}

/* Runs so many lists; the shortest jobs of every other one end as they start. Returns the preemptions. */
static int compare(bool released, bool promotes, uint64_t rounds)
{
    int preemptions = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        struct rng rng;
        rng_init(&rng, released ? 1 : 2, promotes, "tiresias", round);
        struct naive_job jobs[NAIVE_MAX_JOBS];
        int unit_s = released ? 1 : UNIT_S, total_gpus = between(&rng, 1, MAX_GPUS), n = between(&rng, 1, 40);
        struct naive_tiresias params = draw_params(&rng, unit_s, released, promotes);
        draw_jobs(&rng, jobs, n, total_gpus, unit_s, round % 2 == 0 ? 1 : 0);
        naive_tiresias_run(&params, jobs, n, total_gpus);
        SCOPED(jobrun) run;
        run_real(&run, &params, jobs, n, total_gpus);
        bool same = true;
        for (int i = 0; i < n && same; i++) same = agrees(&run.jobs[i], &jobs[i]);
        for (int i = 0; i < n; i++) preemptions += jobs[i].preemptions;
        if (!CHECK(same)) break;
    }
    return preemptions;
}

TEST_SIZED(looks_in_time_agree_with_naive_queues)
{
    CHECK_WHOLE(compare(false, false, (uint64_t)test_part(500)) > 5000);
}

TEST(released_looks_agree_with_naive_queues)
{
    CHECK(compare(true, false, 500) > 5000);
}

TEST_SIZED(promotions_agree_with_naive_queues)
{
    CHECK_WHOLE(compare(false, true, (uint64_t)test_part(300)) > 3000);
    CHECK_WHOLE(compare(true, true, (uint64_t)test_part(300)) > 3000);
}
