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
