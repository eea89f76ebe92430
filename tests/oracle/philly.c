/* 70,783 jobs of 13 virtual clusters of Microsoft Philly: GPU-seconds are delivered to the last one, and on an
 * unlimited cluster as many GPUs are in use as the trace itself says. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"
#include "tests/support/trace_source.h"

enum { JOBS = 70783 };

static const double GPU_S = 2303146934;

/* NULL, and the test skipped or failed, when the trace cannot be read. */
static struct job_record *read_trace(void)
{
    const char *path = test_shared("job_traces/philly_2017_jobs__13_virtual_clusters.csv");
    if (path == NULL) return NULL;
    struct job_record *records = calloc(JOBS + 1, sizeof *records);
    SCOPED(trace_source) trace;
    CHECK_EQ_INT(trace_source_jobs(&trace, 1, "{'format': 'philly', 'path': '%s'}", path), 0);
    int64_t n = 0;
    while (n <= JOBS && trace_source_job(&trace, &records[n]) == 1) {
        records[n].id = n;
        records[n].group = records[n].user = "";
        n++;
    }
    if (CHECK_EQ_INT(n, JOBS)) return records;
    free(records);
    return NULL;
}

TEST_OPTIMISED(unlimited_cluster_uses_what_the_trace_says)
{
    struct job_record *records = read_trace();
    if (records == NULL) return;
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){
                    .records = records, .n = JOBS, .cluster = {.unlimited = true}, .scheduler = "fifo"},
                0);
    double gpu_s = 0, last_s = 0;
    for (int i = 0; i < JOBS; i++) {
        double end_s = sim_s_from_ns(records[i].submit_ns + records[i].duration_ns);
        last_s = end_s > last_s ? end_s : last_s;
        gpu_s += records[i].gpus * sim_s_from_ns(records[i].duration_ns);
        CHECK(run.jobs[i].end_s == end_s);
    }
    CHECK(gpu_s == GPU_S);
    CHECK(jobrun_metric(&run, "job.gpu_s.sum") == GPU_S);
    CHECK_NEAR(jobrun_metric(&run, "job.gpus_in_use.mean"), GPU_S / last_s, 1e-9);
    CHECK_NEAR(jobrun_metric(&run, "job.gpus_in_use.mean"), 244.79, 0.005);
    free(records);
}

TEST_OPTIMISED(crowded_cluster_delivers_the_same_gpu_seconds)
{
    static const char *const schedulers[] = {"easy", "srsf"};
    struct job_record *records = read_trace();
    if (records == NULL) return;
    for (size_t s = 0; s < sizeof schedulers / sizeof schedulers[0]; s++) {
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){.records = records,
                                          .n = JOBS,
                                          .cluster = {.nodes = 40, .gpus_per_node = 8},
                                          .scheduler = schedulers[s],
                                          .placement = "consolidated"},
                    0);
        CHECK(jobrun_metric(&run, "job.ended") == JOBS);
        CHECK(jobrun_metric(&run, "job.gpu_s.sum") == GPU_S);
    }
    free(records);
}
