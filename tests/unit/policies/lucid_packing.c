/* Lucid's packing by hand, on one GPU. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

static struct gpu_speed beside_b = {.gpu = "v100", .speed = 0.6}, beside_a = {.gpu = "v100", .speed = 0.8};
static struct pair_config of_a = {.type = "b", .speeds = {1, &beside_b}}, of_b = {.type = "a", .speeds = {1, &beside_a}};
static struct job_type types[] = {{.name = "a", .sharing.pairs = {1, &of_a}}, {.name = "b", .sharing.pairs = {1, &of_b}}};

static void run_on(struct jobrun *run, const char *of, const double *duration_s, const char *params)
{
    struct job_record records[8];
    size_t n = 0;
    for (; of[n] != 0; n++) {
        records[n] = jobrun_record((int64_t)n, 0, duration_s[n], 1);
        records[n].type = of[n] == 'a' ? "a" : "b";
    }
    const struct jobrun_spec spec = {.records = records, .n = n, .cluster = {.nodes = 1, .gpus_per_node = 1},
                                     .scheduler = "lucid", .types = {2, types}, .scheduler_params = params};
    jobrun_init(run, &spec, 0);
}

TEST(joins_if_both_keep_their_speed)
{
    static const double durations_s[] = {60, 160};
    struct jobrun run;
    run_on(&run, "ab", durations_s, "{\"least_speed\": 0.5, \"most_ratio\": 10}");
    CHECK_NEAR(run.jobs[0].jct_s, 100, 1e-6);
    CHECK_NEAR(run.jobs[1].jct_s, 180, 1e-6);
    jobrun_fini(&run);
    run_on(&run, "ab", durations_s, "{\"least_speed\": 0.7, \"most_ratio\": 10}"); /* a would keep 0.6 */
    CHECK_NEAR(run.jobs[0].jct_s, 60, 1e-6);
    CHECK_NEAR(run.jobs[1].jct_s, 220, 1e-6);
    jobrun_fini(&run);
    run_on(&run, "ab", durations_s, "{\"least_speed\": 0.5}"); /* 160 exceeds twice 60 */
    CHECK_NEAR(run.jobs[1].jct_s, 220, 1e-6);
    jobrun_fini(&run);
}

/* The second a cannot share with the first, but the b behind it can. A third job never joins two. */
TEST(later_jobs_join_where_the_first_cannot)
{
    static const double durations_s[] = {60, 80, 100, 110};
    struct jobrun run;
    run_on(&run, "aabb", durations_s, "{\"least_speed\": 0.5}");
    CHECK_NEAR(run.jobs[2].start_s, 0, 1e-6);
    CHECK_NEAR(run.jobs[0].jct_s, 100, 1e-6);
    /* At 100 s the b has done 80 s of work; the second a joins it. */
    CHECK_NEAR(run.jobs[1].start_s, 100, 1e-6);
    CHECK(run.jobs[3].start_s > 100);
    jobrun_fini(&run);
}

/* Two GPUs, and jobs of b that keep 0.8 of their speed beside an a: by default the second job takes the free GPU. With
 * `eager` it joins the first. */
TEST(eager_jobs_join_before_they_take_free_gpus)
{
    for (int eager = 0; eager <= 1; eager++) {
        struct job_record records[2] = {jobrun_record(0, 0, 60, 1), jobrun_record(1, 0, 80, 1)};
        records[0].type = "a";
        records[1].type = "b";
        const struct jobrun_spec spec = {.records = records, .n = 2, .cluster = {.nodes = 1, .gpus_per_node = 2},
                                         .scheduler = "lucid", .types = {2, types},
                                         .scheduler_params = eager ? "{\"least_speed\": 0.5, \"eager\": true}"
                                                                   : "{\"least_speed\": 0.5}"};
        struct jobrun run;
        jobrun_init(&run, &spec, 0);
        CHECK_NEAR(run.jobs[0].jct_s, eager ? 100 : 60, 1e-6);
        CHECK_NEAR(run.jobs[1].jct_s, eager ? 100 : 80, 1e-6);
        jobrun_fini(&run);
    }
}

/* n jobs every `gap_s`, on one GPU: with more than `quiet_jobs` in 10 min the latest shares, else it waits. The jobs
 * of the last 50 min count, that of 50 min ago no longer, the job that is submitted now does. */
TEST(jobs_share_only_while_many_are_submitted)
{
    static const struct {
        double gap_s;
        int n;
        const char *params;
        bool shares;
    } cases[] = {
        {100, 10, "{\"least_speed\": 0.5, \"most_ratio\": 1e6, \"quiet_jobs\": 2}", false},   /* 10 of 10 */
        {100, 11, "{\"least_speed\": 0.5, \"most_ratio\": 1e6, \"quiet_jobs\": 2}", true},    /* 11 of 10 */
        {300, 11, "{\"least_speed\": 0.5, \"most_ratio\": 1e6, \"quiet_jobs\": 2}", false},   /* 10: the first is out */
        {299, 11, "{\"least_speed\": 0.5, \"most_ratio\": 1e6, \"quiet_jobs\": 2}", true},    /* 11, all in 2,990 s */
        {300, 11, "{\"least_speed\": 0.5, \"most_ratio\": 1e6, \"quiet_jobs\": 0}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job_record records[12];
        for (int j = 0; j < cases[i].n; j++) {
            /* The first a holds the GPU to the end; those between wait. */
            records[j] = jobrun_record(j, j * cases[i].gap_s, j == 0 ? 1e5 : 10, 1);
            records[j].type = j == cases[i].n - 1 ? "b" : "a"; /* two jobs of a cannot share */
        }
        const struct jobrun_spec spec = {.records = records, .n = (size_t)cases[i].n,
                                         .cluster = {.nodes = 1, .gpus_per_node = 1}, .scheduler = "lucid",
                                         .types = {2, types}, .scheduler_params = cases[i].params};
        struct jobrun run;
        jobrun_init(&run, &spec, 0);
        const struct jobrun_job *last = &run.jobs[cases[i].n - 1];
        CHECK_NEAR(last->start_s, cases[i].shares ? last->submit_s : 1e5, cases[i].shares ? 1e-6 : 200);
        jobrun_fini(&run);
    }
}

/* While sharing is off, the first job that does not fit stops the narrower one behind it. */
TEST(quiet_times_keep_the_order)
{
    for (int quiet = 0; quiet <= 1; quiet++) {
        struct job_record records[3] = {jobrun_record(0, 0, 100, 1), jobrun_record(1, 1, 20, 2),
                                        jobrun_record(2, 1, 90, 1)};
        for (int j = 0; j < 3; j++) records[j].type = "a";
        const struct jobrun_spec spec = {.records = records, .n = 3, .cluster = {.nodes = 1, .gpus_per_node = 2},
                                         .scheduler = "lucid", .types = {2, types},
                                         .scheduler_params = quiet ? "{\"quiet_jobs\": 1}" : "{}"};
        struct jobrun run;
        jobrun_init(&run, &spec, 0);
        CHECK_NEAR(run.jobs[2].start_s, quiet ? 120 : 1, 1e-6);
        jobrun_fini(&run);
    }
}
