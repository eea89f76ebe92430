/* Elastic jobs on a cluster of three GPUs that are always paid for: EQUI, heSRPT and all GPUs to the shortest against
 * independent simulations of the same queue, 60,000 jobs each (the jobs of Fig. 1 of arXiv 2406.15560, s(k) = k below
 * one GPU, exponential sizes): mean response times of 0.653, 0.647 and 0.691 s, where renting the optimal widths takes
 * 0.246 s at the same mean number of GPUs. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { JOBS = 60000, BATCHES = 30, BATCH = JOBS / BATCHES };

static const double Z99 = 2.5758;

#define TYPE "{'arrival': {'process': 'poisson', 'rate': '0.4/s'}, 'run_time': {'mean': '1s', 'law': 'exponential'}}"
#define SCENARIO                                                                                                       \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 3}, 'seed': 1, 'jobs': {'scheduler': %s, 'placement': 'counted',"       \
    "'types': {'amdahl': {'speedup': {'law': 'amdahl', 'parallel_frac': 0.8}},"                                        \
    "'root': {'speedup': {'law': 'power', 'exponent': 0.5, 'linear_below_one': true}}},"                               \
    "'trace': {'format': 'generate-job-types', 'count': 60000, 'types': {'amdahl': " TYPE                              \
    ", 'root': " TYPE "}}}}"

/* Standard error of the mean response time by batch means: jobs that follow each other share the cluster. */
static double standard_error_s(const struct bed_rows *rows)
{
    double sums[BATCHES] = {0}, mean = 0, squares = 0;
    for (size_t i = 0; i < rows->n_jobs; i++) sums[rows->jobs[i].id / BATCH] += rows->jobs[i].jct_s / BATCH;
    for (int i = 0; i < BATCHES; i++) mean += sums[i] / BATCHES;
    for (int i = 0; i < BATCHES; i++) squares += (sums[i] - mean) * (sums[i] - mean);
    return sqrt(squares / (BATCHES - 1) / BATCHES);
}

/* Both are means of so many jobs, so their difference has twice the variance. */
static void takes(const char *scheduler, double expected_s)
{
    struct bed_rows *rows = bed_run(BED(.no_detail = true), SCENARIO, scheduler);
    MUST(CHECK_EQ_INT(rows->code, 0));
    MUST(CHECK_EQ_INT(rows->n_jobs, JOBS));
    const double error_s = standard_error_s(rows), within_s = Z99 * sqrt(2.0) * error_s;
    CHECK_NEAR(bed_metric(rows, "job.jct_s.mean"), expected_s, within_s);
    CHECK(within_s < 0.06 * expected_s);
    bed_free(rows);
}

TEST(equi_takes_what_it_took_elsewhere)
{
    takes("'equi'", 0.653);
}

TEST(hesrpt_takes_what_it_took_elsewhere)
{
    takes("{'policy': 'hesrpt', 'exponent': 0.5}", 0.647);
}

TEST(all_to_the_shortest_takes_what_it_took_elsewhere)
{
    takes("'all-to-shortest'", 0.691);
}
