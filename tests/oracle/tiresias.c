/* The Tiresias simulator (SymbioticLab/Tiresias) on 400 jobs and 16 nodes of 8 counted GPUs: every job must start,
 * finish, be preempted and be resumed as there, to the second. tests/fixtures/tiresias holds our input and what it
 * computed. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

enum { JOBS = 400 };

#define FIXTURES "tests/fixtures/tiresias/jobs400"

static void read_jobs(struct job_record *records)
{
    FILE *file = fopen(FIXTURES ".csv", "r");
    if (!CHECK(file != NULL)) return;
    CHECK(fscanf(file, "%*[^\n]") == 0);
    for (int i = 0; i < JOBS; i++) {
        int id, submit_s, gpus, duration_s;
        CHECK_EQ_INT(fscanf(file, "%d,%d,%d,%d", &id, &submit_s, &gpus, &duration_s), 4);
        CHECK_EQ_INT(id, i);
        records[i] = jobrun_record(id, submit_s, duration_s, gpus);
    }
    fclose(file);
}

/* A row of the peer: its executed_time counts from first start to finish, pending_time is JCT - duration. */
struct peer_row {
    int time_s, job, gpus, submit_s, start_s, end_s, executed_s, jct_s, duration_s, pending_s, preempts, resumes;
};

static bool read_row(FILE *file, struct peer_row *row)
{
    return fscanf(file, "%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%*d", &row->time_s, &row->job, &row->gpus, &row->submit_s,
                  &row->start_s, &row->end_s, &row->executed_s, &row->jct_s, &row->duration_s, &row->pending_s,
                  &row->preempts, &row->resumes) == 12;
}

/* The peer's output behind its header; NULL, a failed check, when there is none. */
static FILE *open_output(const char *peer)
{
    char path[256];
    snprintf(path, sizeof path, FIXTURES "_%s_count_out.csv", peer);
    FILE *file = fopen(path, "r");
    if (CHECK(file != NULL)) CHECK(fscanf(file, "%*[^\n]") == 0);
    return file;
}

static void compare_row(const struct peer_row *row, const struct jobrun_job *job, bool preemptive)
{
    CHECK_EQ_STR(job->status, "finished");
    CHECK(job->start_s == row->start_s);
    CHECK(job->end_s == row->end_s);
    CHECK(job->jct_s == row->jct_s);
    CHECK(job->gpu_s == (double)row->gpus * row->duration_s);
    CHECK_EQ_INT(job->preemptions, row->preempts);
    CHECK_EQ_INT(job->starts, preemptive ? row->resumes : 1);
}

static void run_jobs(const char *scheduler, const char *params, struct jobrun *run)
{
    struct job_record records[JOBS] = {0};
    read_jobs(records);
    jobrun_init(run,
                &(struct jobrun_spec){.records = records,
                                      .n = JOBS,
                                      .cluster = {.nodes = 16, .gpus_per_node = 8},
                                      .scheduler = scheduler,
                                      .scheduler_params = params},
                0);
}

static void compare(const char *scheduler, const char *params, const char *peer, bool preemptive, double mean_jct_s,
                    double makespan_s, int64_t preemptions)
{
    SCOPED(jobrun) run;
    run_jobs(scheduler, params, &run);
    FILE *file = open_output(peer);
    if (file != NULL) {
        int n = 0;
        for (struct peer_row row; read_row(file, &row); n++) compare_row(&row, &run.jobs[row.job], preemptive);
        CHECK_EQ_INT(n, JOBS);
        fclose(file);
    }
    CHECK_NEAR(run.mean_jct_s, mean_jct_s, 1e-9);
    CHECK(run.makespan_s == makespan_s);
    CHECK(jobrun_metric(&run, "job.preemptions.sum") == (double)preemptions);
}

TEST(fifo_is_their_fifo)
{
    compare("fifo", NULL, "fifo", false, 2433.4375, 57722, 0);
}

TEST(fifo_skip_is_their_fjf)
{
    compare("fifo-skip", NULL, "fjf", false, 2377.0775, 57722, 0);
}

TEST(fewest_gpus_is_their_sjf)
{
    compare("fewest-gpus", NULL, "sjf", true, 2360.0125, 57722, 18);
}

TEST(srtf_is_their_shortest)
{
    compare("srtf", NULL, "shortest", true, 2384.98, 60908, 125);
}

TEST(srsf_is_their_shortest_gpu)
{
    compare("srsf", NULL, "shortest-gpu", true, 2352.745, 57722, 43);
}

TEST(tiresias_by_time_is_their_dlas)
{
    const char *params[] = {"{\"service\": \"time\"}", "{\"service\": \"time\", \"looks\": \"released\"}"};
    for (int i = 0; i < 2; i++) compare("tiresias", params[i], "dlas", true, 2389.4725, 58684, 105);
}

TEST(tiresias_that_looks_as_released_is_their_dlas_gpu)
{
    compare("tiresias", "{\"looks\": \"released\"}", "dlas-gpu", true, 2362.8825, 57722, 57);
}

/* There the sizes that are known beforehand are those of the 400 jobs themselves. */
TEST(gittins_as_released_is_their_dlas_gpu_gittins)
{
    compare("tiresias-gittins", "{\"variant\": \"released\"}", "dlas-gpu-gittins", true, 2361.955, 57722, 40);
}

static int other_ends(const struct jobrun *run, const char *peer)
{
    int n = 0;
    FILE *file = open_output(peer);
    for (struct peer_row row; file != NULL && read_row(file, &row);) n += run->jobs[row.job].end_s != row.end_s;
    if (file != NULL) fclose(file);
    return n;
}

TEST(tiresias_that_looks_in_time_is_another_one)
{
    SCOPED(jobrun) run;
    run_jobs("tiresias", NULL, &run);
    CHECK_NEAR(run.mean_jct_s, 2362.16, 1e-9);
    CHECK_EQ_INT(other_ends(&run, "dlas-gpu"), 31);
}

/* --- Bounds met exactly --- */

enum { MOST = 4 };

/* Jobs on `gpus` GPUs, and their first start and end in the released simulator, which has run each list. */
struct bound {
    const char *scheduler, *params;
    int gpus, n;
    struct {
        int submit_s, duration_s, gpus, start_s, end_s;
    } jobs[MOST];
};

static void check_bound(const struct bound *bound)
{
    struct job_record records[MOST] = {0};
    for (int i = 0; i < bound->n; i++)
        records[i] = jobrun_record(i, bound->jobs[i].submit_s, bound->jobs[i].duration_s, bound->jobs[i].gpus);
    SCOPED(jobrun) run;
    jobrun_init(&run, &(struct jobrun_spec){.records = records, .n = (size_t)bound->n,
                                            .cluster = {.nodes = 1, .gpus_per_node = bound->gpus},
                                            .scheduler = bound->scheduler, .scheduler_params = bound->params}, 0);
    for (int i = 0; i < bound->n; i++) {
        CHECK_NEAR(run.jobs[i].start_s, bound->jobs[i].start_s, 0);
        CHECK_NEAR(run.jobs[i].end_s, bound->jobs[i].end_s, 0);
    }
}

/* A job has attained exactly the limit when another one arrives: it goes behind that one. A second earlier it does
 * not, until the check at the limit. */
TEST(a_job_leaves_its_queue_at_exactly_the_limit)
{
    static const char gpu_time[] = "{\"limits\": [20, 40], \"looks\": \"released\"}";
    static const char time[] = "{\"limits\": [20, 40], \"looks\": \"released\", \"service\": \"time\"}";
    static const struct bound bounds[] = {
        {"tiresias", gpu_time, 2, 2, {{0, 30, 2, 0, 35}, {10, 5, 2, 10, 15}}},
        {"tiresias", gpu_time, 2, 2, {{0, 30, 2, 0, 35}, {9, 5, 2, 14, 19}}}, /* check at 9 + (20 - 9) / 2, whole */
        {"tiresias", time, 2, 2, {{0, 30, 2, 0, 35}, {20, 5, 2, 20, 25}}},
        {"tiresias", time, 2, 2, {{0, 30, 2, 0, 35}, {19, 5, 2, 20, 25}}}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) check_bound(&bounds[i]);
}

/* A job returns to the first queue once it has waited the multiple of its executed time, in whole seconds: with a
 * multiple of 0.5 after 1 s for 3 s. */
TEST(a_job_is_promoted_after_exactly_its_patience)
{
    static const struct bound bounds[] = {
        {"tiresias",
         "{\"limits\": [7, 90], \"looks\": \"released\", \"promote_knob\": 1}",
         1,
         4,
         {{0, 20, 1, 0, 46}, {7, 9, 1, 7, 33}, {9, 30, 1, 14, 62}, {10, 3, 1, 21, 24}}},
        {"tiresias",
         "{\"limits\": [7, 90], \"looks\": \"released\", \"promote_knob\": 2}",
         1,
         4,
         {{0, 20, 1, 0, 51}, {7, 9, 1, 7, 33}, {9, 30, 1, 14, 62}, {10, 3, 1, 21, 24}}},
        {"tiresias",
         "{\"limits\": [3, 90], \"looks\": \"released\", \"promote_knob\": 0.5}",
         1,
         4,
         {{3, 6, 1, 3, 15}, {7, 18, 1, 7, 35}, {9, 5, 1, 10, 23}, {10, 3, 1, 15, 18}}}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) check_bound(&bounds[i]);
}

/* Equal jobs keep the order of the previous decision: who runs goes on, and a new job comes last. */
TEST(equal_jobs_keep_their_order)
{
    static const struct bound bounds[] = {
        {"srtf", NULL, 2, 4, {{0, 10, 2, 0, 10}, {4, 6, 2, 10, 16}, {4, 6, 1, 16, 22}, {4, 6, 1, 16, 22}}},
        {"srtf", NULL, 2, 4, {{0, 10, 1, 10, 20}, {0, 5, 2, 0, 5}, {5, 10, 1, 10, 20}, {5, 5, 2, 5, 10}}},
        {"srsf", NULL, 2, 4, {{0, 10, 2, 0, 16}, {4, 6, 2, 16, 22}, {4, 6, 1, 4, 10}, {4, 6, 1, 4, 10}}},
        {"srsf", NULL, 2, 4, {{0, 10, 1, 0, 10}, {0, 5, 2, 15, 20}, {5, 10, 1, 5, 15}, {5, 5, 2, 20, 25}}},
        {"fewest-gpus", NULL, 2, 4, {{0, 10, 1, 0, 10}, {4, 6, 2, 16, 22}, {4, 6, 1, 4, 10}, {10, 6, 1, 10, 16}}}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) check_bound(&bounds[i]);
}
