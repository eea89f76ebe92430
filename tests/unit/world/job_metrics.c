/* Metrics of jobs in cases small enough to be done by hand. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

static void run_jobs(struct jobrun *run, const struct job_record *records, size_t n, const char *scheduler)
{
    jobrun_init(run,
                &(struct jobrun_spec){.records = records,
                                      .n = n,
                                      .cluster = {.nodes = 1, .gpus_per_node = 4},
                                      .scheduler = scheduler},
                0);
}

static void check(const struct jobrun *run, const char *name, double expected)
{
    const double value = jobrun_metric(run, name);
    CHECK_NEAR(value, expected, 1e-9 * fabs(expected));
}

/* On four GPUs: 3 GPUs from 0 to 10, then 4 from 10 to 20; the second waits from 2 on beside one idle GPU. */
TEST(idle_gpus_beside_a_waiting_job_are_counted)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 3), jobrun_record(1, 2, 10, 4)};
    SCOPED(jobrun) run;
    run_jobs(&run, records, 2, "fifo");
    check(&run, "cluster.idle_while_waiting_gpu_s", 8);
    check(&run, "job.useful_gpu_s.sum", 70);
    check(&run, "job.goodput_frac", 1);
}

/* Node types that the scheduler ignores are none of the jobs' GPUs; where it uses all, 'cluster.gpus' has them. */
TEST(gpus_that_jobs_may_use_are_told_where_they_are_fewer)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 3), jobrun_record(1, 10, 10, 1)};
    struct node_type_config more = {.name = "more", .nodes = 2, .gpus_per_node = 8, .gpu = "slow"};
    const char *const schedulers[] = {"fifo", "gavel"};
    for (size_t i = 0; i < 2; i++) {
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){.records = records, .n = 2, .scheduler = schedulers[i],
                                          .cluster = {.nodes = 1, .gpus_per_node = 4, .gpu = "fast", .node_types = {1, &more}}},
                    0);
        check(&run, "cluster.gpus", 20);
        if (i == 0) {
            check(&run, "cluster.job_gpus", 4);
            check(&run, "cluster.job_gpus_in_use.mean", 2);
        } else {
            CHECK(isnan(jobrun_metric(&run, "cluster.job_gpus")));
        }
    }
    SCOPED(jobrun) run;
    run_jobs(&run, records, 2, "fifo");
    CHECK(isnan(jobrun_metric(&run, "cluster.job_gpus")));
}

/* The first job has 2 s alone and 8 s beside the other: 1.8 jobs in the mean, 4 / 1.8 GPUs for each; on these it would
 * take 10 * 3 / (4 / 1.8) = 13.5 s. The second is there for 18 s, 8 s beside the first: 26/18 jobs, 10 * 26/18 s. */
TEST(finish_time_fairness_is_that_of_the_mean_share)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 3), jobrun_record(1, 2, 10, 4)};
    SCOPED(jobrun) run;
    run_jobs(&run, records, 2, "fifo");
    check(&run, "job.finish_time_fairness.mean", (10 / 13.5 + 18 / (10 * 26 / 18.0)) / 2);
    check(&run, "job.finish_time_fairness.max", 18 / (10 * 26 / 18.0));
}

/* A V100 and a slower K80: the share of a job is one of both, and its speed there the mean of both. Under a scheduler
 * that uses the V100 alone it is a share of that. */
TEST(finish_time_fairness_is_that_of_a_share_of_every_type)
{
    static const struct {
        const char *scheduler, *speed;
        double share_speed;
    } cases[] = {{"gavel", "0.5", 0.75}, {"gavel-fifo-perf", "0.25", 0.625}, {"gavel", "1", 1}, {"fifo", "0.5", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 1; n <= 4; n *= 2) {
            const struct bed_rows *rows = bed_run(
                BED(.check = true),
                "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'v100-16-sxm', 'node_types': {'k80': {'nodes': 1,"
                " 'gpus_per_node': 1, 'gpu': 'k80'}}}, 'jobs': {'scheduler': '%s', 'placement': 'counted', 'types': {"
                "'a': {'speeds': {'k80': %s}}}, 'trace': {'format': 'generate-job-types', 'count': %d, 'types': {'a': {"
                "'arrival': {'process': 'fixed', 'rate': '1000000/s'}, 'run_time': {'law': 'fixed', 'mean': '1h'}}}}}}",
                cases[i].scheduler, cases[i].speed, n);
            CHECK_EQ_INT(rows->code, 0);
            CHECK_EQ_INT(rows->n_jobs, n);
            /* Jobs in the system, mean over the stay of each: n until the first one ends, and fewer then. */
            double mean = 0;
            const double gpus = strcmp(cases[i].scheduler, "fifo") == 0 ? 1 : 2;
            for (int j = 0; j < n; j++) {
                const struct job_row *job = &rows->jobs[j];
                double jobs_s = 0;
                for (int k = 0; k < n; k++)
                    jobs_s += fmax(0,
                                   fmin(job->end_s, rows->jobs[k].end_s) - fmax(job->submit_s, rows->jobs[k].submit_s));
                mean += job->jct_s * cases[i].share_speed / (3600 * fmax(1, jobs_s / job->jct_s / gpus)) / n;
            }
            CHECK_NEAR(bed_metric(rows, "job.finish_time_fairness.mean"), mean, 1e-9);
        }
}

/* Two types, 8 V100 and some K80, and a job alone that takes as long as in its trace. What never fits on the K80s, or
 * runs on no K80, has only the V100s of its share. */
TEST(types_that_a_job_cannot_use_add_nothing_to_its_share)
{
    static const struct {
        const char *scheduler;
        int gpus, k80;
        double speed, rho;
    } cases[] = {
        {"gavel", 8, 2, 0.5, 0.8},      {"gavel", 3, 2, 0.5, 0.8},      {"gavel", 2, 2, 0.5, 0.9},
        {"gavel", 8, 8, 0.5, 0.75},     {"gavel", 8, 8, 0, 0.5},        {"gavel", 1, 2, 0, 0.8},
        {"gavel-fifo-perf", 8, 2, 0.5, 0.8}, {"gavel-fifo-perf", 1, 2, 0, 0.8},
    };
    static const char *const placements[] = {"counted", "consolidated"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases * 2; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'v100-16-sxm', 'node_types': {'k80': {'nodes': 1,"
            " 'gpus_per_node': %d, 'gpu': 'k80'}}}, 'jobs': {'scheduler': '%s', 'placement': '%s', 'types': {"
            "'a': {'speeds': {'k80': %g}}}, 'trace': {'format': 'generate-job-types', 'count': 1, 'types': {'a': {"
            "'gpus': %d, 'arrival': {'process': 'fixed', 'rate': '1000000/s'}, 'run_time': {'law': 'fixed', 'mean':"
            " '1h'}}}}}}",
            cases[i / 2].k80, cases[i / 2].scheduler, placements[i % 2], cases[i / 2].speed, cases[i / 2].gpus);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_jobs, 1);
        CHECK_NEAR(bed_metric(rows, "job.finish_time_fairness.mean"), cases[i / 2].rho * rows->jobs[0].jct_s / 3600,
                   1e-9);
    }
}

/* Slowdowns 1 and 1.8. */
TEST(jain_index_is_that_of_the_slowdowns)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 3), jobrun_record(1, 2, 10, 4)};
    SCOPED(jobrun) run;
    run_jobs(&run, records, 2, "fifo");
    check(&run, "job.slowdown_jain", 2.8 * 2.8 / (2 * (1 + 1.8 * 1.8)));
}

/* A job that nobody shares with, or that is smaller than its share, is treated fairly when it never waits. */
TEST(jobs_that_never_wait_are_not_wronged)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 4), jobrun_record(1, 20, 10, 2),
                                         jobrun_record(2, 20, 10, 2)};
    SCOPED(jobrun) run;
    run_jobs(&run, records, 3, "fifo");
    check(&run, "job.finish_time_fairness.max", 1);
    check(&run, "job.slowdown_jain", 1);
    CHECK(jobrun_metric(&run, "cluster.idle_while_waiting_gpu_s") == 0);
}

/* The first of two jobs of 4 GPUs runs from 0 to 2 and from 5 to 13: it waits although it starts at once. The 95th
 * percentile of two waits is the longer one. */
TEST(a_preempted_job_waits_after_its_first_start)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 4), jobrun_record(1, 2, 3, 4)};
    SCOPED(jobrun) run;
    run_jobs(&run, records, 2, "srtf");
    check(&run, "job.jct_s.max", 13);
    CHECK(jobrun_metric(&run, "job.queue_s.max") == 0);
    check(&run, "job.wait_s.mean", 1.5);
    check(&run, "job.wait_s.p95", 3);
    check(&run, "job.wait_s.max", 3);
}

/* Restart delays are held and not useful: on 4 GPUs, 12 s from its start, of which 2 s wait. */
TEST(waits_lower_goodput)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 4)};
    const struct restart_config restart = {.start_ns = 2 * SIM_NS_PER_S, .resume_multi_node_s = (double)NAN};
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records,
                                      .n = 1,
                                      .cluster = {.nodes = 1, .gpus_per_node = 4},
                                      .scheduler = "fifo",
                                      .restart = &restart},
                0);
    check(&run, "job.useful_gpu_s.sum", 40);
    check(&run, "job.goodput_frac", 10 / 12.0);
}

TEST(statuses_are_in_rows_and_counts)
{
    struct job_record records[] = {jobrun_record(0, 0, 10, 1), jobrun_record(1, 0, 20, 2), jobrun_record(2, 0, 30, 1)};
    SCOPED(jobrun) run = {0};
    records[1].status = JOB_IS_CANCELLED;
    records[2].status = JOB_FAILS;
    run_jobs(&run, records, 3, "fifo");
    CHECK_EQ_STR(run.jobs[0].status, "finished");
    CHECK_EQ_STR(run.jobs[1].status, "cancelled");
    CHECK_EQ_STR(run.jobs[2].status, "failed");
    check(&run, "job.ended", 3);
    check(&run, "job.finished", 1);
    check(&run, "job.cancelled", 1);
    check(&run, "job.failed", 1);
    check(&run, "job.cancelled_gpu_s.sum", 40);
    check(&run, "job.failed_gpu_s.sum", 30);
}

/* One GPU: 0 and 10 s; four GPUs: 20 s. */
TEST(queueing_is_reported_by_size_and_type)
{
    struct job_record records[] = {jobrun_record(0, 0, 10, 4), jobrun_record(1, 0, 10, 1), jobrun_record(2, 0, 10, 4)};
    SCOPED(jobrun) run = {0};
    records[0].type = "train";
    records[1].type = "eval";
    records[2].type = "train";
    run_jobs(&run, records, 3, "fifo");
    check(&run, "job.queue_s.mean[1 GPU]", 10);
    check(&run, "job.queue_s.max[2-8 GPUs]", 20);
    check(&run, "job.queue_s.mean[train]", 10);
    check(&run, "job.jct_s.mean[train]", 20);
    check(&run, "job.jct_s.mean[eval]", 20);
    CHECK(isnan(jobrun_metric(&run, "job.queue_s.mean[9-64 GPUs]")));
}

/* All of one size and of no type: there is nothing to tell apart. */
TEST(alike_jobs_have_no_classes)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 1), jobrun_record(1, 0, 10, 1)};
    SCOPED(jobrun) run;
    run_jobs(&run, records, 2, "fifo");
    CHECK(isnan(jobrun_metric(&run, "job.queue_s.mean[1 GPU]")));
}

/* Behind a job of all GPUs wait jobs of sizes on either side of each border, each a second less than the one before. */
TEST(sizes_have_their_borders)
{
    static const int32_t gpus[] = {512, 1, 2, 8, 9, 64, 65};
    struct job_record records[7];
    for (int i = 0; i < 7; i++) records[i] = jobrun_record(i, i, 10, gpus[i]);
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 7, .scheduler = "fifo",
                                      .cluster = {.nodes = 1, .gpus_per_node = 512}},
                0);
    check(&run, "job.queue_s.mean[1 GPU]", 9);
    check(&run, "job.queue_s.mean[2-8 GPUs]", 7.5);
    check(&run, "job.queue_s.mean[9-64 GPUs]", 5.5);
    check(&run, "job.queue_s.mean[65 GPUs or more]", 2);
}

/* Jobs are held from their own submission on, until the last of their needs ends. */
TEST(jobs_are_held_from_their_submission_on)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'submit': '1s', 'duration': '10s'}, {'submit': '2s', 'duration': '30s'},"
        "{'submit': '5s', 'duration': '1s', 'after': [{'job': 0}]},"
        "{'submit': '8s', 'duration': '1s', 'after': [{'job': 0}, {'job': 1}]}"
        "]}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "job.held_s.mean"), ((11.0 - 5) + (32 - 8)) / 2, 1e-9);
}
