/* Gavel's simulator (stanford-futuredata/gavel @ c4fa400) on 400 jobs of 1 to 8 GPUs and 64 counted V100s, by its
 * policies without linear programs. tests/fixtures/gavel holds our input and what it computed.
 *
 * Its jobs are of whole steps, of which a round has not quite six minutes' worth. This adds up to some ms per job and
 * decides none of the ties here: isolated shares, fifo and fifo_perf agree for every job. Gandiva draws its pairs from
 * random numbers of its own, so that only the mean says something, which there, over 16 seeds, is 4905 s with a
 * standard deviation of 119 s. With its draws the rounds are the same, all 166, but for two things that it does: pairs
 * that nobody drew run on GPUs left over, which counts 35 s, and a packed job's end is told when its partner's round is
 * over, 46 s. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

enum { JOBS = 400 };

#define FIXTURES "tests/fixtures/gavel/"

/* Run times on V100. */
static void read_jobs(struct job_record *records)
{
    FILE *file = fopen(FIXTURES "gavel400_jobs.csv", "r");
    if (!CHECK(file != NULL)) return;
    CHECK(fscanf(file, "%*[^\n]") == 0);
    for (int i = 0; i < JOBS; i++) {
        int id, submit_s, gpus;
        double steps, rate;
        CHECK_EQ_INT(fscanf(file, "%d,%d,%d,%lf,%lf,%*f,%*f", &id, &submit_s, &gpus, &steps, &rate), 5);
        CHECK_EQ_INT(id, i);
        records[i] = jobrun_record(id, submit_s, steps / rate, gpus);
        records[i].type = gpus == 1 ? "1" : gpus == 2 ? "2" : gpus == 4 ? "4" : "8";
    }
    fclose(file);
}

/* There two jobs of one GPU each run on one as fast as alone; wider ones cannot be packed: types by width. */
static struct config_list packing(void)
{
    static struct speedup_point points[4][2] = {
        {{0.5, 1}, {1, 1}}, {{1, 0}, {2, 2}}, {{2, 0}, {4, 4}}, {{4, 0}, {8, 8}}};
    static const char *const names[] = {"1", "2", "4", "8"};
    static struct job_type types[4];
    for (int i = 0; i < 4; i++)
        types[i] = (struct job_type){.name = names[i], .speedup = {.law = SPEEDUP_TABLE, .points = {2, points[i]}}};
    return (struct config_list){4, types};
}

struct peer {
    const char *scheduler, *params, *peer;
    double mean_jct_s;
    int same; /* so many jobs, at least, are done within two seconds of when they are there */
};

static double compare(const struct peer *peer)
{
    struct job_record records[JOBS] = {0};
    SCOPED(jobrun) run = {0};
    read_jobs(records);
    jobrun_init(&run, &(struct jobrun_spec){.records = records, .n = JOBS, .cluster = {.nodes = 8, .gpus_per_node = 8},
                                            .scheduler = peer->scheduler, .scheduler_params = peer->params,
                                            .types = packing()}, 0);
    char path[128];
    snprintf(path, sizeof path, FIXTURES "jobs400_v100x64_%s_out.csv", peer->peer);
    FILE *file = fopen(path, "r");
    int id, n = 0, same = 0;
    double jct_s, sum_s = 0;
    if (CHECK(file != NULL)) {
        CHECK(fscanf(file, "%*[^\n]") == 0);
        for (; fscanf(file, "%d,%lf", &id, &jct_s) == 2; n++) {
            sum_s += jct_s;
            same += fabs(run.jobs[id].jct_s - jct_s) <= 2;
        }
        fclose(file);
    }
    CHECK_EQ_INT(n, JOBS);
    CHECK_NEAR(sum_s / JOBS, peer->mean_jct_s, 1e-3);
    CHECK_NEAR(run.mean_jct_s, peer->mean_jct_s, 0.05 * peer->mean_jct_s);
    CHECK(same >= peer->same);
    return run.mean_jct_s;
}

TEST(policies_without_linear_programs)
{
    static const struct peer peers[] = {{"gandiva", "{\"pairs\": \"released\"}", "gandiva", 4909.644, 0},
                                        {"gavel-isolated", NULL, "isolated", 5011.702, JOBS},
                                        {"gavel-fifo", NULL, "fifo", 20918.292, JOBS},
                                        {"gavel-fifo-perf", NULL, "fifo_perf", 21395.291, JOBS}};
    double before_s = 0;
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        const double mean_s = compare(&peers[i]);
        CHECK(mean_s > before_s);
        before_s = mean_s;
    }
}

/* There time 0 stands for "no allocation yet": a job that comes after one made then gets its own at the next round,
 * else only after 32 minutes. */
TEST(an_allocation_at_time_zero_counts_for_none)
{
    for (int i = 0; i < 2; i++) {
        const double first_s = i * 5.0;
        struct job_record records[] = {jobrun_record(0, first_s, 100, 1), jobrun_record(1, first_s + 10, 100, 1),
                                       jobrun_record(2, first_s + 1925, 100, 1)};
        SCOPED(jobrun) run;
        jobrun_init(&run, &(struct jobrun_spec){.records = records, .n = 3, .cluster = {.nodes = 1, .gpus_per_node = 1},
                                                .scheduler = "gavel-fifo"}, 0);
        CHECK_NEAR(run.jobs[1].start_s, i == 0 ? 100 : first_s + 1925, 1e-9);
    }
}

/* Shares are computed anew exactly 32 minutes after the last time, not a second earlier: the job that arrives then
 * starts the one before it. As Gavel's simulator ran it. */
TEST(an_allocation_is_due_after_exactly_32_minutes)
{
    for (int early_s = 0; early_s <= 1; early_s++) {
        struct job_record records[] = {jobrun_record(0, 7, 100, 1), jobrun_record(1, 50, 100, 1),
                                       jobrun_record(2, 1927 - early_s, 60, 1), jobrun_record(3, 3000, 60, 1)};
        static const char *const schedulers[] = {"gavel-fifo", "gavel-fifo-perf", "gavel-isolated"};
        for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
            SCOPED(jobrun) run;
            jobrun_init(&run, &(struct jobrun_spec){.records = records, .n = 4,
                                                    .cluster = {.nodes = 1, .gpus_per_node = 1},
                                                    .scheduler = schedulers[i]}, 0);
            CHECK_NEAR(run.jobs[0].end_s, 107, 0);
            CHECK_NEAR(run.jobs[1].end_s, early_s == 0 ? 2027 : 3100, 0);
        }
    }
}

/* A job that ends exactly with its round does not prolong it, and a job that arrives then takes part in the next. */
TEST(jobs_may_end_and_arrive_exactly_with_a_round)
{
    struct job_record records[] = {jobrun_record(0, 0, 360, 1),    jobrun_record(1, 0, 720, 1),
                                   jobrun_record(2, 360, 360, 1),  jobrun_record(3, 720, 100, 1),
                                   jobrun_record(4, 1080, 100, 2), jobrun_record(5, 3000, 60, 1),
                                   jobrun_record(6, 5000, 1, 1)};
    static const double ends_s[][6] = {{360, 720, 720, 3100, 5100}, {360, 720, 720, 3100, 3200, 3060}};
    for (int isolated = 0; isolated <= 1; isolated++) {
        SCOPED(jobrun) run;
        jobrun_init(&run, &(struct jobrun_spec){.records = records, .n = 7,
                                                .cluster = {.nodes = 1, .gpus_per_node = 2},
                                                .scheduler = isolated == 1 ? "gavel-isolated" : "gavel-fifo"}, 0);
        for (int i = 0; i < 5 + isolated; i++) CHECK_NEAR(run.jobs[i].end_s, ends_s[isolated][i], 0);
    }
}
