/* Schedulers against the plainest way to write them, closed forms and optima. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"
#include "tests/support/naive_cluster.h"
#include "tests/support/naive_conservative.h"

#include <limits.h>

static int between(struct rng *rng, int low, int high)
{
    return low + (int)rng_below(rng, (uint64_t)(high - low + 1));
}

/* Short times and few sizes, so that ties, simultaneous events and crossings are frequent. */
static int draw_jobs(struct rng *rng, struct naive_job *jobs, int n, int total_gpus, bool exact_estimates, int shortest)
{
    int horizon = between(rng, 0, 3 * n), longest = between(rng, 1, 12);
    int submit = 0;
    for (int i = 0; i < n; i++) {
        if (horizon > 0) submit += between(rng, 0, 2 * horizon / n);
        int run = between(rng, shortest, longest);
        jobs[i] = (struct naive_job){.submit = submit,
                                     .run = run,
                                     .estimate = exact_estimates ? run : between(rng, 1, 2 * longest),
                                     .gpus = between(rng, 1, between(rng, 1, total_gpus))};
    }
    return n;
}

static void run_with(struct jobrun *run, const char *scheduler, const char *params, const struct naive_job *jobs, int n,
                     int total_gpus)
{
    struct job_record records[NAIVE_MAX_JOBS];
    for (int i = 0; i < n; i++) {
        records[i] = jobrun_record(i, jobs[i].submit, jobs[i].run, jobs[i].gpus);
        records[i].estimate_ns = jobs[i].estimate * SIM_NS_PER_S;
    }
    jobrun_init(run,
                &(struct jobrun_spec){.records = records,
                                      .n = (size_t)n,
                                      .cluster = {.nodes = total_gpus, .gpus_per_node = 1},
                                      .scheduler = scheduler,
                                      .scheduler_params = params},
                0);
}

static void run_same(struct jobrun *run, const char *scheduler, const struct naive_job *jobs, int n, int total_gpus)
{
    run_with(run, scheduler, NULL, jobs, n, total_gpus);
}

static bool agrees(const struct jobrun_job *job, const struct naive_job *naive)
{
    return CHECK_NEAR(job->start_s, naive->start, 0) && CHECK_NEAR(job->end_s, naive->end, 0) &&
           CHECK_EQ_INT(job->preemptions, naive->preemptions) && CHECK_EQ_INT(job->starts, naive->starts);
}

static void run_naive(const char *scheduler, struct naive_job *jobs, int n, int total_gpus)
{
    if (strcmp(scheduler, "conservative") == 0)
        naive_conservative_run(jobs, n, total_gpus, 0);
    else
        naive_cluster_run(scheduler, jobs, n, total_gpus);
}

/* In every other round some jobs take no time at all: when they end, the same moment sees another decision. (The one
 * order in which ours may differ then, preemptive.h, makes one round in some 900 another one; it is not among
 * these.) */
TEST_SIZED(schedulers_agree_with_naive_ones)
{
    static const char *const schedulers[] = {"fifo", "fifo-skip",   "easy", "conservative",
                                             "sjf",  "fewest-gpus", "srtf", "srsf"};
    for (uint64_t round = 0; round < (uint64_t)test_part(400); round++) {
        struct rng rng = test_rng(1, "scheduling", round);
        struct naive_job jobs[NAIVE_MAX_JOBS];
        int total_gpus = between(&rng, 1, 12), n = between(&rng, 1, 40);
        draw_jobs(&rng, jobs, n, total_gpus, false, round % 2 == 0 ? 1 : 0);
        for (size_t s = 0; s < sizeof schedulers / sizeof schedulers[0]; s++) {
            SCOPED(jobrun) run = {0};
            run_naive(schedulers[s], jobs, n, total_gpus);
            run_same(&run, schedulers[s], jobs, n, total_gpus);
            bool same = true;
            for (int i = 0; i < n && same; i++) same = agrees(&run.jobs[i], &jobs[i]);
            if (!CHECK(same)) {
                CU_FAIL("the naive scheduler differs");
                return;
            }
        }
    }
}

/* Few reservations are those of the naive scheduler with as few; one is first in, first out; enough are all. */
TEST(few_reservations_are_those_of_a_naive_scheduler)
{
    static const int depths[] = {1, 2, 3, 7, NAIVE_MAX_JOBS};
    for (uint64_t round = 0; round < 250; round++) {
        const int depth = depths[round % (sizeof depths / sizeof *depths)];
        struct rng rng = test_rng(9, "scheduling", round);
        struct naive_job jobs[NAIVE_MAX_JOBS], all[NAIVE_MAX_JOBS];
        int total_gpus = between(&rng, 1, 12), n = between(&rng, 1, 40);
        char params[32];
        SCOPED(jobrun) run = {0};
        draw_jobs(&rng, jobs, n, total_gpus, false, 1);
        memcpy(all, jobs, sizeof all);
        snprintf(params, sizeof params, "{\"depth\": %d}", depth);
        naive_conservative_run(jobs, n, total_gpus, depth);
        run_with(&run, "conservative", params, jobs, n, total_gpus);
        if (depth == 1) naive_cluster_run("fifo", all, n, total_gpus);
        if (depth == NAIVE_MAX_JOBS) naive_conservative_run(all, n, total_gpus, 0);
        bool same = true;
        for (int i = 0; i < n && same; i++) same = agrees(&run.jobs[i], &jobs[i]);
        for (int i = 0; i < n && same && (depth == 1 || depth == NAIVE_MAX_JOBS); i++)
            same = agrees(&run.jobs[i], &all[i]);
        if (!CHECK(same)) break;
    }
}

/* Five jobs of all GPUs; an outage from 50 to 60 s interrupts the first, which then has 1000 s left, or waits for its
 * turn behind younger ones. */
TEST(an_interrupted_job_keeps_its_turn)
{
    for (int depth = 0; depth <= 5; depth++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 8}, 'failures': {'outages': {'x': {'node': 0, 'from': '50s', "
            "'until': '60s', 'jobs': 'interrupt'}}}, 'jobs': {'scheduler': {'policy': 'conservative', 'depth': %d}, "
            "'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '1000s', 'gpus': 8}, "
            "{'submit': '1s', 'duration': '500s', 'gpus': 8}, {'submit': '2s', 'duration': '500s', 'gpus': 8}, "
            "{'submit': '3s', 'duration': '500s', 'gpus': 8}, {'submit': '4s', 'duration': '500s', 'gpus': 8}]}}}",
            depth);
        CHECK_NEAR(bed_job(rows, 0)->end_s, 1060, 1e-6);
        CHECK_NEAR(bed_job(rows, 4)->end_s, 3060, 1e-6);
    }
}

TEST(backfilling_keeps_its_promise_when_estimates_are_exact)
{
    static const char *const schedulers[] = {"easy", "conservative"};
    for (uint64_t round = 0, n_promised = 0; round < 400; round++) {
        const char *scheduler = schedulers[round % 2];
        struct rng rng = test_rng(2, "scheduling", round / 2);
        struct naive_job jobs[NAIVE_MAX_JOBS];
        int n = draw_jobs(&rng, jobs, 40, 8, true, 1);
        SCOPED(jobrun) run = {0};
        run_naive(scheduler, jobs, n, 8);
        run_same(&run, scheduler, jobs, n, 8);
        for (int i = 0; i < n; i++) {
            if (jobs[i].promise < 0) continue;
            n_promised++;
            CHECK(run.jobs[i].start_s <= jobs[i].promise);
        }
        if (round == 399) CHECK(n_promised > 2000);
    }
}

/* Graham's list scheduling: each job starts when it has come and the first of the servers is free. */
TEST(fifo_of_single_gpu_jobs_is_list_scheduling)
{
    enum { N = 500, SERVERS = 7 };
    struct rng rng = test_rng(3, "scheduling", 0);
    struct job_record records[N];
    double now_s = 0, free_s[SERVERS] = {0}, expected_s[N];
    for (int i = 0; i < N; i++) {
        now_s += between(&rng, 0, 6) * 0.25;
        records[i] = jobrun_record(i, now_s, between(&rng, 1, 80) * 0.25, 1);
        int first = 0;
        for (int k = 1; k < SERVERS; k++) first = free_s[k] < free_s[first] ? k : first;
        expected_s[i] = fmax(now_s, free_s[first]);
        free_s[first] = expected_s[i] + sim_s_from_ns(records[i].duration_ns);
    }
    for (int i = 0; i < 2; i++) {
        SCOPED(jobrun) run = {0};
        struct jobrun_spec spec = {.records = records,
                                   .n = N,
                                   .cluster = {.nodes = SERVERS, .gpus_per_node = 1},
                                   .scheduler = i == 0 ? "fifo" : "fifo-skip"};
        jobrun_init(&run, &spec, 0);
        for (int k = 0; k < N; k++) CHECK(run.jobs[k].start_s == expected_s[k]);
    }
}

/* The least sum of completion times on one GPU, by trying everything second by second. */
static int least_sum(const struct naive_job *jobs, int n, int *left, int now)
{
    bool done = true, somebody = false;
    int best = INT_MAX;
    for (int i = 0; i < n; i++) {
        if (left[i] == 0) continue;
        done = false;
        if (jobs[i].submit > now) continue;
        somebody = true;
        left[i]--;
        int sum = least_sum(jobs, n, left, now + 1) + (left[i] == 0 ? now + 1 : 0);
        left[i]++;
        best = sum < best ? sum : best;
    }
    if (done) return 0;
    return somebody ? best : least_sum(jobs, n, left, now + 1);
}

TEST(srtf_on_one_gpu_is_optimal)
{
    for (uint64_t round = 0; round < 60; round++) {
        struct rng rng = test_rng(4, "scheduling", round);
        struct naive_job jobs[4];
        int left[4], submits = 0;
        for (int i = 0; i < 4; i++) {
            int submit = (i > 0 ? jobs[i - 1].submit : 0) + between(&rng, 0, 2);
            left[i] = between(&rng, 1, 3);
            jobs[i] = (struct naive_job){.submit = submit, .run = left[i], .estimate = left[i], .gpus = 1};
            submits += submit;
        }
        int best = least_sum(jobs, 4, left, 0) - submits;
        SCOPED(jobrun) run;
        run_same(&run, "srtf", jobs, 4, 1);
        CHECK(run.mean_jct_s * 4 == best);
    }
}

/* Five jobs on four GPUs, worked out by hand. */
TEST(five_jobs)
{
    static const struct {
        const char *scheduler;
        double jct_s[5];
    } cases[] = {{"fifo", {10, 19, 21, 38, 19}},
                 {"easy", {10, 19, 3, 38, 4}},
                 {"conservative", {10, 19, 3, 38, 4}},
                 {"sjf", {10, 31, 3, 20, 9}}};
    const struct job_record records[] = {jobrun_record(0, 0, 10, 2), jobrun_record(1, 1, 10, 4),
                                         jobrun_record(2, 2, 3, 1), jobrun_record(3, 2, 20, 1),
                                         jobrun_record(4, 3, 2, 2)};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){.records = records,
                                          .n = 5,
                                          .cluster = {.nodes = 1, .gpus_per_node = 4},
                                          .scheduler = cases[i].scheduler},
                    0);
        for (int k = 0; k < 5; k++) CHECK(run.jobs[k].jct_s == cases[i].jct_s[k]);
    }
}

/* Two GPUs come free after 10 s, one more a nanosecond later. The first job in the queue needs three: a job that would
 * hold the free one for longer waits, though the last GPU would be free in the next nanosecond. One that ends in the
 * very nanosecond of the reservation starts, a longer one does not. */
TEST(backfilling_knows_the_nanosecond_of_its_promise)
{
    for (int later_ns = 0; later_ns <= 1; later_ns++) {
        const struct job_record records[] = {
            jobrun_record(0, 0, 10, 2), jobrun_record(1, 0, 10 + 1e-9, 1), jobrun_record(2, 0, 5, 3),
            jobrun_record(3, 0, 100, 1), jobrun_record(4, 0, 10 + later_ns * 1e-9, 1)};
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){.records = records, .n = 5, .cluster = {.nodes = 1, .gpus_per_node = 4},
                                          .scheduler = "easy"},
                    0);
        CHECK(run.jobs[2].start_s == 10);
        CHECK(run.jobs[3].start_s >= 10);
        CHECK((run.jobs[4].start_s == 0) == (later_ns == 0));
    }
}

/* Two equal jobs wait for the GPUs of one that ends as a job of no length comes. That one's end asks once more in the
 * same moment: the job that has just started goes on. */
TEST(a_job_is_not_preempted_by_an_equal_one_as_it_starts)
{
    static const char *const schedulers[] = {"srtf", "srsf"};
    const struct job_record records[] = {jobrun_record(0, 0, 5, 3), jobrun_record(1, 1, 7, 2),
                                         jobrun_record(2, 1, 7, 2), jobrun_record(3, 5, 0, 1)};
    for (size_t i = 0; i < sizeof schedulers / sizeof schedulers[0]; i++) {
        SCOPED(jobrun) run = {0};
        struct jobrun_spec spec = {.records = records, .n = 4, .scheduler = schedulers[i]};
        spec.cluster.nodes = 1, spec.cluster.gpus_per_node = 3;
        jobrun_init(&run, &spec, 0);
        CHECK(run.jobs[3].start_s == 5 && run.jobs[3].end_s == 5);
        CHECK(run.jobs[1].start_s == 5 && run.jobs[1].end_s == 12);
        CHECK(run.jobs[2].start_s == 12 && run.jobs[2].end_s == 19);
        CHECK(jobrun_metric(&run, "job.preemptions.sum") == 0);
    }
}
