/* Gavel's makespan objective over kinds of jobs: the longest jobs count by themselves, and not by the mean of a kind.
 * Shares are computed only once, so that later ones do not make up for wrong ones. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

enum { N_JOBS = 8 };

/* One fast GPU and three slow ones, of a quarter of its speed. Of type a one job is long and three are short; type b
 * has four of a's mean. All work together takes 206,000 s / 1.75, with the long job on the fast GPU for almost all of
 * its time. */
static double makespan_s(const char *params)
{
    static const double work_s[N_JOBS] = {1e5, 1e3, 1e3, 1e3, 25750, 25750, 25750, 25750};
    struct gpu_speed speeds[] = {{"fast", 1}, {"slow", 0.25}};
    struct job_type types[] = {{.name = "a", .speeds = {2, speeds}}, {.name = "b", .speeds = {2, speeds}}};
    struct node_type_config slow = {.name = "old", .nodes = 1, .gpus_per_node = 3, .gpu = "slow"};
    struct job_record records[N_JOBS];
    SCOPED(jobrun) run;
    double last_s = 0;
    for (int i = 0; i < N_JOBS; i++) {
        records[i] = jobrun_record(i, 0, work_s[i], 1);
        records[i].type = i < 4 ? "a" : "b";
    }
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = N_JOBS, .types = {2, types},
                                      .cluster = {.nodes = 1, .gpus_per_node = 1, .gpu = "fast", .node_types = {1, &slow}},
                                      .scheduler = "gavel-packed", .scheduler_params = params},
                0);
    for (int i = 0; i < N_JOBS; i++) last_s = fmax(last_s, run.jobs[i].end_s);
    return last_s;
}

TEST(a_long_job_among_short_ones_gets_the_fast_gpu)
{
    const double least_s = 206e3 / 1.75,
                 makespan = makespan_s("{\"objective\": \"makespan\", \"reallocation\": \"1000h\"}");
    CHECK(makespan >= least_s - 1e-6);
    CHECK(makespan <= 1.05 * least_s);
}
