/* The depth of Gavel's rounds: only the oldest unfinished jobs take part. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { JOBS = 40 };

static const char *const policies[] = {"gavel", "gavel-fifo", "gavel-fifo-perf", "gavel-isolated", "gandiva"};
enum { N_POLICIES = sizeof policies / sizeof *policies };

static struct bed_rows *run(const char *policy, int depth)
{
    return bed_ok(BED(.check = true),
                  "{'seed': 4, 'cluster': {'node_types': {'new': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'h100-sxm'},"
                  " 'old': {'nodes': 2, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}}},"
                  " 'jobs': {'scheduler': {'policy': '%s', 'depth': %d, 'round': '60s', 'reallocation': '60s',"
                  " 'idle_waits': false}, 'trace': {'format': 'generate-jobs', 'count': %d,"
                  " 'arrival': {'process': 'poisson', 'rate': '60/h'}, 'mix': 'philly', 'max_gpus': 4}}}",
                  policy, depth, JOBS);
}

TEST(as_deep_as_there_are_jobs_changes_nothing)
{
    for (int i = 0; i < N_POLICIES; i++) {
        struct bed_rows *all = run(policies[i], 0);
        CHECK(bed_equal(all, run(policies[i], JOBS)));
        CHECK(!bed_equal(all, run(policies[i], 3)));
    }
}

/* Jobs are numbered in order of arrival. When job k starts, all but depth - 1 of the jobs before it have finished. */
TEST(the_oldest_jobs_take_part)
{
    static const int depths[] = {1, 2, 7};
    for (int i = 0; i < 3 * N_POLICIES; i++) {
        const int depth = depths[i / N_POLICIES];
        struct bed_rows *rows = run(policies[i % N_POLICIES], depth);
        CHECK_EQ_INT(rows->n_jobs, JOBS);
        CHECK_NEAR(bed_metric(rows, "job.ended"), JOBS, 0);
        for (int k = 0; k < JOBS; k++) {
            int unfinished = 0;
            for (int before = 0; before < k; before++)
                unfinished += bed_job(rows, before)->end_s > bed_job(rows, k)->start_s;
            if (!CHECK(unfinished < depth)) return;
        }
    }
}
