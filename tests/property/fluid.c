/* Schedulers that divide all GPUs among all jobs: worked cases, an optimum and a law. Speedups are k^p. The worked
 * cases are of one GPU; here there are a million, on which all is a million^p times as fast, so that GPUs are not
 * counted too coarsely. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

enum { GPUS = 1000000 };

static void run_fluid(struct jobrun *run, const char *scheduler, double exponent, int32_t gpus,
                      const struct job_record *records, size_t n)
{
    const struct job_type type = {.name = "default",
                                  .speedup = {.law = SPEEDUP_POWER, .exponent = exponent}};
    const bool many = gpus == GPUS; /* in nodes of a thousand: each node takes time to set up */
    char params[64];
    snprintf(params, sizeof params, "{'exponent': %.17g}", exponent);
    jobrun_init(run,
                &(struct jobrun_spec){.records = records,
                                      .n = n,
                                      .cluster = {.nodes = many ? gpus / 1000 : gpus, .gpus_per_node = many ? 1000 : 1},
                                      .scheduler = scheduler,
                                      .scheduler_params = strcmp(scheduler, "hesrpt") == 0 ? params : NULL,
                                      .types = {.n = 1, .items = (void *)(uintptr_t)&type}},
                0);
}

/* The sum of response times on one GPU. */
static double flow_s(const char *scheduler, double exponent, const double *sizes_s, size_t n)
{
    struct job_record records[64];
    double faster = pow(GPUS, exponent);
    for (size_t i = 0; i < n; i++) records[i] = jobrun_record((int64_t)i, 0, sizes_s[i] * 1e6, 1);
    SCOPED(jobrun) run;
    run_fluid(&run, scheduler, exponent, GPUS, records, n);
    return run.mean_jct_s * (double)n * faster / 1e6;
}

TEST(three_jobs)
{
    const double sizes_s[] = {3, 2, 1};
    CHECK_NEAR(flow_s("hesrpt", 0.5, sizes_s, 3), 8.70017, 5e-6);
    CHECK_NEAR(flow_s("equi", 0.5, sizes_s, 3), 9.02458, 5e-6);
    CHECK_NEAR(flow_s("hesrpt", 0.8, sizes_s, 3), 9.89114, 5e-6);
    CHECK_NEAR(flow_s("equi", 0.8, sizes_s, 3), 11.70688, 5e-6);
    CHECK_NEAR(flow_s("all-to-shortest", 0.5, sizes_s, 3), 1 + 3 + 6, 5e-6);
}

/* The parts of three jobs of 900 GPUs under p = 0.5: a ninth, three and five ninths. */
TEST(parts_of_three_jobs)
{
    const struct job_record records[] = {jobrun_record(0, 0, 3000, 1), jobrun_record(1, 0, 2000, 1),
                                         jobrun_record(2, 0, 1000, 1)};
    SCOPED(jobrun) run;
    run_fluid(&run, "hesrpt", 0.5, 900, records, 3);
    double end_s = run.jobs[2].end_s;
    CHECK_NEAR(end_s, 1000 / sqrt(500), 1e-6);
    CHECK_NEAR(run.jobs[2].gpu_s, 500 * end_s, 1e-3);
    CHECK_NEAR(run.placements[0].end_s, end_s, 1e-9);
}

TEST_OPTIMISED(hesrpt_is_never_worse_than_equi)
{
    for (uint64_t round = 0; round < 60; round++) {
        struct rng rng = test_rng(5, "fluid", round);
        double sizes_s[12], exponent = 0.1 + 0.8 * rng_uniform(&rng);
        size_t n = 1 + (size_t)rng_below(&rng, 12);
        for (size_t i = 0; i < n; i++) sizes_s[i] = 0.01 + rng_exponential(&rng, 2);
        double equi_s = flow_s("equi", exponent, sizes_s, n);
        CHECK(flow_s("hesrpt", exponent, sizes_s, n) <= equi_s * (1 + 1e-6));
    }
}

/* Jobs that are all there: each waits for the shorter ones. With linear speedup nobody does better, with less heSRPT
 * does. */
TEST_OPTIMISED(all_to_the_shortest_is_srpt)
{
    for (uint64_t round = 0; round < 60; round++) {
        struct rng rng = test_rng(7, "fluid", round);
        double sizes_s[12], exponent = 0.1 + 0.8 * rng_uniform(&rng), sum_s = 0;
        size_t n = 1 + (size_t)rng_below(&rng, 12);
        for (size_t i = 0; i < n; i++) sizes_s[i] = 0.01 + rng_exponential(&rng, 2);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n; k++) sum_s += sizes_s[k] <= sizes_s[i] ? sizes_s[k] : 0;
        CHECK_NEAR(flow_s("all-to-shortest", exponent, sizes_s, n), sum_s, 1e-5 * sum_s);
        CHECK_NEAR(flow_s("all-to-shortest", 1, sizes_s, n), sum_s, 1e-5 * sum_s);
        CHECK(flow_s("equi", 1, sizes_s, n) >= sum_s * (1 - 1e-6));
        CHECK(flow_s("hesrpt", exponent, sizes_s, n) <= sum_s * (1 + 1e-6));
    }
}

/* Processor sharing: E[T] = E[X] / (1 - load), whatever the law of sizes. Batch means over 40 batches. */
TEST_OPTIMISED(equi_with_linear_speedup_is_processor_sharing)
{
    enum { N = 40000, BATCHES = 40 };
    static struct job_record records[N];
    static const double load = 0.6;
    for (int law = 0; law < 3; law++) {
        struct rng rng = test_rng(6, "fluid", (uint64_t)law);
        double now_s = 0;
        for (int i = 0; i < N; i++) {
            now_s += rng_exponential(&rng, 1 / load);
            bool large = rng_below(&rng, 10) == 0; /* two sizes: 0.5 and 5.5 */
            double size_s = law == 0 ? 1 : law == 1 ? rng_exponential(&rng, 1) : large ? 5.5 : 0.5;
            records[i] = jobrun_record(i, now_s, size_s, 10);
        }
        SCOPED(jobrun) run;
        run_fluid(&run, "equi", 1, 10, records, N);
        double sum = 0, squares = 0;
        for (int batch = 0; batch < BATCHES; batch++) {
            double mean_s = 0;
            for (int i = batch * (N / BATCHES); i < (batch + 1) * (N / BATCHES); i++) mean_s += run.jobs[i].jct_s;
            mean_s /= N / BATCHES;
            sum += mean_s;
            squares += mean_s * mean_s;
        }
        double mean_s = sum / BATCHES, error_s = sqrt((squares / BATCHES - mean_s * mean_s) / (BATCHES - 1));
        CHECK_NEAR(mean_s, 1 / (1 - load), 2.7 * error_s); /* 99 % of Student's t */
        CHECK(error_s < 0.1);
    }
}

static const char *const all[] = {"all-to-shortest", "equi", "hesrpt"};
enum { ALL = sizeof all / sizeof all[0] };

static struct bed_rows *run_site(const char *scheduler, const char *site, const char *list)
{
    return bed_ok(
        BED(.check = true),
        "{%s, 'jobs': {'scheduler': '%s', 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
        site, scheduler, list);
}

static double end_s(const struct bed_rows *rows, int64_t id)
{
    const struct job_row *job = bed_job(rows, id);
    return CHECK(job != NULL) ? job->end_s : (double)NAN;
}

/* They run beside the one with all GPUs; the last one waits for CPUs. */
TEST(jobs_of_cpus_alone_have_no_part)
{
    for (int i = 0; i < ALL; i++) {
        struct bed_rows *rows = run_site(all[i], "'cluster': {'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 16}",
                                         "{'duration': '1000s', 'gpus': 1},"
                                         "{'submit': '1s', 'duration': '900s', 'gpus': 0, 'cpus': 2},"
                                         "{'submit': '2s', 'duration': '10s', 'gpus': 0, 'cpus': 16}");
        CHECK_NEAR(end_s(rows, 0), 1000 / 4, 1e-9);
        CHECK_NEAR(end_s(rows, 1), 901, 1e-9);
        CHECK_NEAR(end_s(rows, 2), 911, 1e-9);
        CHECK_EQ_INT(bed_decisions(rows, "preempt", -1) + bed_decisions(rows, "resize", -1), 0);
        bed_free(rows);
    }
}

/* Four GPUs would take eight CPUs: two run with the four that there are. */
TEST(a_job_without_room_for_its_part_takes_what_is_free)
{
    for (int i = 0; i < ALL; i++) {
        struct bed_rows *rows = run_site(all[i], "'cluster': {'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 4}",
                                         "{'duration': '1000s', 'gpus': 1, 'cpus': 2}");
        CHECK_NEAR(end_s(rows, 0), 1000 / 2, 1e-9);
        bed_free(rows);
    }
}

/* Jobs wait 200 s before they work. The second one, of `work_s`, arrives when the first one, of 100 s, has waited for
 * 1 s. Returns the end of the first. */
static double end_beside(const char *scheduler, int work_s)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4}, 'jobs': {'scheduler': '%s', 'placement': 'counted', 'restart':"
        " {'start': '200s'}, 'types': {'default': {'speedup': {'law': 'power', 'exponent': 0.5}}}, 'trace': {'format':"
        " 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 1}, {'submit': '1s', 'duration': '%ds', 'gpus': 1}]}}}",
        scheduler, work_s);
    return end_s(rows, 0);
}

/* A wait passes at any speed: it is not part of the work. With more work left the second job gets (1/2)^2 of the GPUs.
 * On all GPUs it would end after the first, which waits for 199 s more and works for 50 s. */
TEST(waiting_is_no_work)
{
    CHECK_NEAR(end_beside("hesrpt", 150), 200 + 100 / sqrt(3), 1e-5);
    CHECK_NEAR(end_beside("all-to-shortest", 130), 200 + 100 / 2, 1e-9);
}

/* A part of 1 GPU is the share that the job requests. A larger part is whole GPUs, on which the job is as fast as a job
 * that requests a GPU. */
TEST(shares_of_gpus_grow_to_whole_ones)
{
    for (int i = 0; i < ALL; i++) {
        struct bed_rows *rows = run_site(all[i], "'cluster': {'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 8}",
                                         "{'duration': '1000s', 'gpu_share': 0.25, 'cpus': 2}");
        CHECK_NEAR(end_s(rows, 0), 1000 / 4, 1e-9);
        CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), 1000, 1e-6);
        bed_free(rows);
    }
    struct bed_rows *rows = run_site(
        "equi", "'cluster': {'nodes': 1, 'gpus_per_node': 2, 'cpus_per_node': 8}",
        "{'duration': '1000s', 'gpu_share': 0.25}, {'duration': '1000s', 'gpu_share': 0.5}");
    for (int64_t id = 0; id < 2; id++) CHECK_NEAR(end_s(rows, id), 1000, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), 250 + 500, 1e-6);
}

/* A service leaves one GPU on each of two nodes, and consolidated placement gives two GPUs on one node only. */
TEST(a_job_takes_its_part_from_one_node)
{
    static const char site[] =
        "'cluster': {'nodes': 2, 'gpus_per_node': 3, 'gpu': 'a100-80-sxm'}, 'services': {'s': {"
        "'llm': 'mistral-7b', 'tensor_parallel': 2, 'replicas': 2, 'trace': {'format': 'generate',"
        "'count': 1, 'arrival': {'process': 'poisson', 'rate': '1/s'}}}}";
    for (int i = 0; i < ALL; i++) {
        struct bed_rows *rows = run_site(all[i], site, "{'duration': '1000s', 'gpus': 1}");
        CHECK_NEAR(end_s(rows, 0), 1000, 1e-9);
        bed_free(rows);
    }
}

/* Whole GPUs, 2.67 for each of three jobs once the shortest has ended: two jobs have three, and none is idle. */
TEST(remainders_leave_no_gpu_idle)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8}, 'until': '30s', 'jobs': {'scheduler': 'equi', 'placement':"
        " 'first-fit', 'types': {'default': {'speedup': {'law': 'power', 'exponent': 1}}}, 'trace': {'format':"
        " 'inline-jobs', 'jobs': [{'duration': '20s', 'gpus': 1}, {'duration': '900s', 'gpus': 1},"
        " {'duration': '900s', 'gpus': 1}, {'duration': '900s', 'gpus': 1}]}}}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 10, 1e-9);
    CHECK_NEAR(bed_metric(rows, "cluster.gpus_in_use.mean"), 8, 1e-9);
}

/* Two GPUs and three jobs: the one with the most work left gets none, although it was running. */
TEST(the_largest_job_leaves_when_gpus_are_too_few)
{
    struct bed_rows *rows = run_site("hesrpt", "'cluster': {'nodes': 1, 'gpus_per_node': 2}",
                                     "{'duration': '300s', 'gpus': 1}, {'submit': '10s', 'duration': '30s', 'gpus': 1},"
                                     "{'submit': '10s', 'duration': '60s', 'gpus': 1}");
    for (int64_t id = 1; id < 3; id++) CHECK_NEAR(bed_job(rows, id)->start_s, 10, 1e-9);
    CHECK_EQ_INT(bed_decisions(rows, "preempt", 0), 1);
    bed_free(rows);
}
