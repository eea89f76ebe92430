/* Which jobs gandiva packs, on lists that meet each of its bounds exactly. Jobs of one GPU that fill it alone end at
 * 100 and 200 s in turns, and together at 100 s over their speed on half of it. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

enum { JOBS = 2 };

/* Ends of two jobs of 100 s and one GPU each, with this speed on half a GPU of theirs alone, on one or two GPUs, which
 * are so many times as fast as those of the trace. */
static void run(struct jobrun *run, double half_speed, int gpus, double gpu_speed, const char *params)
{
    struct gpu_speed speeds[] = {{"v100", gpu_speed}};
    struct speedup_point points[] = {{0.5, half_speed}, {1, 1}};
    struct job_type type = {
        .name = "x", .speedup = {.law = SPEEDUP_TABLE, .points = {2, points}}, .speeds = {1, speeds}};
    struct job_record records[JOBS] = {jobrun_record(0, 0, 100, 1), jobrun_record(1, 0, 100, 1)};
    for (int i = 0; i < JOBS; i++) records[i].type = "x";
    jobrun_init(run,
                &(struct jobrun_spec){.records = records,
                                      .n = JOBS,
                                      .cluster = {.nodes = 1, .gpus_per_node = gpus, .gpu = "v100"},
                                      .scheduler = "gandiva",
                                      .scheduler_params = params,
                                      .types = {1, &type}},
                0);
}

static void check_ends(double half_speed, int gpus, const char *params, double first_s, double last_s)
{
    SCOPED(jobrun) result;
    run(&result, half_speed, gpus, 1, params);
    CHECK_NEAR(fmin(result.jobs[0].end_s, result.jobs[1].end_s), first_s, 1e-6);
    CHECK_NEAR(fmax(result.jobs[0].end_s, result.jobs[1].end_s), last_s, 1e-6);
}

TEST(jobs_are_packed_only_where_that_gains)
{
    check_ends(0.625, 1, NULL, 160, 160);
    check_ends(0.5, 1, NULL, 100, 200); /* together as fast as one alone: nothing is gained */
    check_ends(0.4, 1, NULL, 100, 200);
    check_ends(0, 1, NULL, 100, 200);
}

/* The released code packs any two, and only its next allocation, after 32 minutes, splits those that lose. A job that
 * cannot run on half of its GPUs runs alone on GPUs left over. */
TEST(as_released_any_two_are_tried)
{
    check_ends(0.5, 1, "{\"pairs\": \"released\"}", 200, 200);
    check_ends(0.4, 1, "{\"pairs\": \"released\"}", 250, 250);
    check_ends(0, 1, "{\"pairs\": \"released\"}", 100, 200);
}

/* Requests for all GPUs, and no more, pack nothing. */
TEST(jobs_that_fit_exactly_are_not_packed)
{
    check_ends(0.9, 2, NULL, 100, 100);
    check_ends(0.9, 1, NULL, 100 / 0.9, 100 / 0.9);
}

/* Gains are relative to each job alone: on GPUs of twice the speed, jobs of 0.4 beside each other lose as before. */
TEST(a_gain_is_relative_to_the_speed_alone)
{
    static const struct {
        double half_speed, first_s, last_s;
    } cases[] = {{0.4, 50, 100}, {0.625, 80, 80}};
    for (int i = 0; i < 2; i++)
        for (int slow = 0; slow < 2; slow++) {
            SCOPED(jobrun) result;
            const double speed = slow ? 0.5 : 2;
            run(&result, cases[i].half_speed, 1, speed, NULL);
            CHECK_NEAR(fmin(result.jobs[0].end_s, result.jobs[1].end_s), cases[i].first_s * 2 / speed, 1e-6);
            CHECK_NEAR(fmax(result.jobs[0].end_s, result.jobs[1].end_s), cases[i].last_s * 2 / speed, 1e-6);
        }
}
