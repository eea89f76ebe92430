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
