/* Which GPU types gavel-fifo gives to jobs: one drawn from those with room, or that of Gavel's released simulator. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { SEEDS = 24 };

/* Jobs of one GPU and 100 s at speed 1, at once, on so many GPUs of each of two types. "v100" is the last by name. */
static struct bed_rows *run(int seed, const char *more, int gpus, int n, double k80, double v100)
{
    SCOPED(text) json = {0};
    text_printf(
        &json,
        "{'cluster': {'nodes': 1, 'gpus_per_node': %d, 'gpu': 'v100-16-sxm', 'node_types': {'other': {'nodes': 1,"
        " 'gpus_per_node': %d, 'gpu': 'k80'}}}, 'seed': %d, 'jobs': {'placement': 'counted', 'scheduler':"
        " {'policy': 'gavel-fifo', 'idle_waits': false%s}, 'types': {'default': {'speeds': {'k80': %g,"
        " 'v100-16-sxm': %g}}}, 'trace': {'format': 'inline-jobs', 'jobs': [",
        gpus, gpus, seed, more, k80, v100);
    for (int i = 0; i < n; i++) text_printf(&json, "%s{'duration': '100s'}", i > 0 ? ", " : "");
    text_printf(&json, "]}}}");
    return bed_ok(BED(.check = true), "%s", json.chars);
}

TEST(a_type_is_drawn_unless_as_released)
{
    int n_slow = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        const double drawn_s = bed_job(run(seed, "", 2, 1, 1, 0.5), 0)->end_s;
        CHECK(fabs(drawn_s - 100) < 1e-6 || fabs(drawn_s - 200) < 1e-6);
        n_slow += drawn_s > 150;
        CHECK_NEAR(bed_job(run(seed, ", 'types': 'released'", 2, 1, 1, 0.5), 0)->end_s, 200, 1e-6);
    }
    CHECK(n_slow > 0 && n_slow < SEEDS);
}

/* Two jobs on one GPU of each type: the first takes the last type by name. Then a drawn type is struck off: either this
 * one, and the second job takes the other, or the other one, and the second job waits for the first. */
TEST(as_released_the_drawn_type_is_struck_off)
{
    int n_beside = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        const struct bed_rows *rows = run(seed, ", 'types': 'released'", 1, 2, 0.25, 1);
        CHECK_NEAR(bed_job(rows, 0)->end_s, 100, 1e-6);
        CHECK(fabs(bed_job(rows, 1)->end_s - 400) < 1e-6 || fabs(bed_job(rows, 1)->end_s - 200) < 1e-6);
        n_beside += bed_job(rows, 1)->end_s > 300;
    }
    CHECK(n_beside > 0 && n_beside < SEEDS);
}

/* Jobs of two types, each of which runs on one GPU type only. As released, a job waits while the type taken cannot run
 * it, and later ones overtake it. Each has its GPUs once, for its run time, in rounds of 6 minutes. */
TEST(as_released_jobs_are_overtaken_and_end)
{
    int n_overtaken = 0;
    for (int seed = 1; seed <= SEEDS; seed++) {
        enum { JOBS = 24 };
        struct rng rng;
        SCOPED(text) json = {0};
        rng_init(&rng, (uint64_t)seed, 0, "overtaken", 0);
        text_printf(
            &json,
            "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'v100-16-sxm', 'node_types': {'other': {'nodes':"
            " 1, 'gpus_per_node': 2, 'gpu': 'k80'}}}, 'seed': %d, 'jobs': {'placement': 'counted', 'scheduler':"
            " {'policy': 'gavel-fifo', 'types': 'released'}, 'types': {'old': {'speeds': {'k80': 1,"
            " 'v100-16-sxm': 0}}, 'new': {'speeds': {'k80': 0, 'v100-16-sxm': 1}}}, 'trace': {'format':"
            " 'inline-jobs', 'jobs': [",
            seed);
        for (int i = 0; i < JOBS; i++)
            text_printf(&json, "%s{'duration': '%ds', 'submit': '%ds', 'type': '%s'}", i > 0 ? ", " : "",
                        60 + (int)rng_below(&rng, 1200), 300 * i / 4, rng_below(&rng, 3) == 0 ? "old" : "new");
        text_printf(&json, "]}}}");
        const struct bed_rows *rows = bed_ok(BED(.check = true), "%s", json.chars);
        CHECK_EQ_INT((int64_t)rows->n_jobs, JOBS);
        for (int i = 0; i < JOBS; i++) {
            const struct job_row *job = bed_job(rows, i);
            CHECK(job->end_s >= job->start_s);
            n_overtaken += i > 0 && job->start_s < bed_job(rows, i - 1)->start_s;
        }
    }
    CHECK(n_overtaken > 0);
}
