/* Made-up jobs against the published figures of five clusters, within sampling error (4.5 standard errors), for every
 * seed. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/stat.h"

#include <gsl/gsl_cdf.h>

enum { N_SEEDS = 4 };

#define SIGMAS 4.5

struct known_mix {
    const char *name;
    double rate_per_h, gpu_s, mean_run_s, mean_gpus, max_gpus;
    double run_cdf[9];   /* in %, at 8, 64, 256 ... 1048576 s */
    double gpus_cdf[11];     /* in %, at 1, 2, 4 ... 1024 GPUs */
    double gpu_time_cdf[11]; /* of the GPU time, the same; 0: not that of the mix */
    double statuses[2][3];   /* in %, of jobs and of GPU time, completed, cancelled, failed; 0: not known */
};

static const struct known_mix known_mixes[] = {{"seren",
                                                663813 / (184 * 24.0),
                                                32405,
                                                1414,
                                                5.68,
                                                1024,
                                                {11.8, 37.1, 65.6, 88.0, 96.0, 98.4, 99.6, 99.9, 100},
                                                {54, 65.4, 67.9, 96.75, 97.9, 98.8, 99.3, 99.55, 99.73, 99.82, 100},
                                                {1.35, 1.79, 2.37, 11.92, 13.15, 19.11, 27.59, 41.69, 56.3, 66.92, 100},
                                                {{49.7, 7.5, 42.9}, {21.2, 66.4, 12.4}}},
                                               {"kalos",
                                                19907 / (184 * 24.0),
                                                267905,
                                                1260,
                                                26.8,
                                                1024,
                                                {0.0, 38.2, 69.1, 85.9, 97.1, 99.1, 99.7, 99.95, 100},
                                                {86.3, 88.4, 88.4, 93.9, 94.3, 94.65, 95.3, 95.7, 96.9, 98.1, 100},
                                                {0.14, 0.15, 0.15, 0.62, 0.63, 1.96, 3.26, 3.75, 24.88, 50.45, 100},
                                                {{54.1, 6.2, 39.7}, {31.3, 60.7, 8}}},
                                               {"philly",
                                                112956 / (137 * 24.0),
                                                61039,
                                                18006,
                                                1.93,
                                                128,
                                                {0.8, 18.9, 31.5, 54.9, 79.3, 90.3, 94.9, 98.4, 99.8},
                                                {82.4, 84.5, 92.05, 98.9, 99.8, 100, 100, 100, 100, 100, 100},
                                                {0},
                                                {{60.4, 9, 30.5}, {32.1, 29.4, 38.6}}},
                                               {"helios",
                                                1580464 / (183 * 24.0),
                                                49351,
                                                6652,
                                                3.72,
                                                1024,
                                                {7.7, 24.9, 56.6, 75.2, 87.5, 94.4, 97.8, 99.6, 99.96},
                                                {72.2, 74.75, 80.5, 94.7, 97.7, 99.35, 99.7, 99.9, 99.96, 100, 100},
                                                {0},
                                                {{62.4, 22.1, 15.5}, {51.3, 39.4, 9.3}}},
                                               {"pai",
                                                1037085 / (62 * 24.0),
                                                0,
                                                4787,
                                                0.683,
                                                8,
                                                {0.4, 21.1, 39.6, 60.8, 78.5, 93.2, 99.0, 99.95, 100},
                                                {97.1, 98.65, 99.1, 100, 100, 100, 100, 100, 100, 100, 100},
                                                {0},
                                                {{0}}}};

/* The published percentages are rounded to 0.05 or 0.1 points. */
static void check_percent(int64_t hits, int64_t n, double percent)
{
    double p = percent / 100;
    CHECK_NEAR((double)hits / (double)n, p, 0.0006 + SIGMAS * sqrt((p * (1 - p) + 1e-6) / (double)n));
}

static void check_job_mix(const struct known_mix *mix, uint64_t seed)
{
    enum { COUNT = 100000 };
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    int64_t run_hits[9] = {0}, gpu_hits[11] = {0};
    MUST(trace_source_jobs(&trace, seed, "{'format': 'generate-jobs', 'mix': '%s', 'count': %d}", mix->name, COUNT) ==
         0);
    while (trace_source_job(&trace, &job) == 1) {
        for (int i = 0; i < 9; i++) run_hits[i] += job.duration_ns <= (SIM_NS_PER_S * 8) << (i == 0 ? 0 : 2 * i + 1);
        for (int i = 0; i < 11; i++) gpu_hits[i] += job.gpus <= 1 << i;
        MUST(job.gpus >= 1 && job.gpu_milli >= 1 && job.gpu_milli <= 1000 && job.duration_ns >= SIM_NS_PER_S);
    }
    for (int i = 0; i < 9; i++) check_percent(run_hits[i], COUNT, mix->run_cdf[i]);
    for (int i = 0; i < 11; i++) check_percent(gpu_hits[i], COUNT, mix->gpus_cdf[i]);
}

TEST(job_mixes_have_the_published_distributions)
{
    for (size_t i = 0; i < sizeof known_mixes / sizeof *known_mixes; i++) {
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) check_job_mix(&known_mixes[i], seed);
    }
}

/* The GPU time per job is fitted: only sampling counts. The curves of GPUs are known to 0.3 points, which bounds the
 * difference of the means by 0.003 of the largest number; those of run times only at the vertices. */
TEST_OPTIMISED(job_mixes_have_the_published_load)
{
    enum { COUNT = 1000000 };
    for (size_t i = 0; i < sizeof known_mixes / sizeof *known_mixes; i++) {
        const struct known_mix *mix = &known_mixes[i];
        SCOPED(trace_source) trace = {0};
        struct job_record job;
        double run_s = 0, gpus = 0, gpu_s = 0, squares = 0;
        MUST(trace_source_jobs(&trace, 11, "{'format': 'generate-jobs', 'mix': '%s', 'count': %d}", mix->name, COUNT) ==
             0);
        while (trace_source_job(&trace, &job) == 1) {
            double job_gpus = job.gpus == 1 ? job.gpu_milli / 1000.0 : job.gpus, job_s = sim_s_from_ns(job.duration_ns);
            run_s += job_s;
            gpus += job_gpus;
            gpu_s += job_s * job_gpus;
            squares += job_s * job_gpus * job_s * job_gpus;
        }
        CHECK_NEAR(run_s / COUNT, mix->mean_run_s, 0.2 * mix->mean_run_s);
        CHECK_NEAR(gpus / COUNT, mix->mean_gpus, 0.003 * mix->max_gpus);
        double error = SIGMAS * sqrt(squares) / COUNT;
        if (mix->gpu_s > 0) CHECK_NEAR(gpu_s / COUNT, mix->gpu_s, error + 0.01 * mix->gpu_s);
    }
}

/* What one trace has of a mix. */
struct shares {
    double jobs, gpu_s, squares;        /* sums; of the squares of the GPU-seconds */
    double by_gpus[11];                 /* GPU-seconds of jobs of at most 1, 2, 4 ... GPUs */
    double by_status[2][JOB_FAILS + 1]; /* jobs and GPU-seconds */
};

static struct shares sum_shares(const char *mix, uint64_t seed, int count)
{
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    struct shares sums = {0};
    trace_source_jobs(&trace, seed, "{'format': 'generate-jobs', 'mix': '%s', 'count': %d}", mix, count);
    CHECK_EQ_INT(trace.code, 0);
    while (trace.code == 0 && trace_source_job(&trace, &job) == 1) {
        const double gpu_s = sim_s_from_ns(job.duration_ns) * job.gpus;
        sums.jobs++;
        sums.gpu_s += gpu_s;
        sums.squares += gpu_s * gpu_s;
        for (int i = 0; i < 11; i++) sums.by_gpus[i] += job.gpus <= 1 << i ? gpu_s : 0;
        sums.by_status[0][job.status]++;
        sums.by_status[1][job.status] += gpu_s;
    }
    return sums;
}

/* The greatest distance of the two distributions of GPU time over the GPUs of the jobs is below 5 points. */
TEST(acme_mixes_have_the_published_gpu_time)
{
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        for (size_t m = 0; m < 2; m++) {
            const struct known_mix *mix = &known_mixes[m];
            const struct shares sums = sum_shares(mix->name, seed, 200000);
            for (int i = 0; i < 11; i++) CHECK_NEAR(sums.by_gpus[i] / sums.gpu_s, mix->gpu_time_cdf[i] / 100, 0.05);
        }
    }
}

/* Shares of jobs within 2 points, and those of GPU time too where sizes are spread evenly; elsewhere within the error
 * of as many independent jobs. */
static void check_fates(const struct known_mix *mix)
{
    const struct shares sums = sum_shares(mix->name, 3, 600000);
    for (int status = 0; status <= JOB_FAILS; status++) {
        const double jobs_frac = mix->statuses[0][status] / 100, p = mix->statuses[1][status] / 100;
        const double error = SIGMAS * sqrt(sums.squares * p * (1 - p)) / sums.gpu_s;
        CHECK_NEAR(sums.by_status[0][status] / sums.jobs, jobs_frac, 0.02);
        CHECK_NEAR(sums.by_status[1][status] / sums.gpu_s, p, mix->gpu_time_cdf[0] > 0 ? 0.02 : error);
    }
}

TEST_OPTIMISED(job_mixes_have_the_published_statuses)
{
    for (size_t m = 0; m < 4; m++) check_fates(&known_mixes[m]);
}

/* Over 200,000 jobs the shares of GPU time scatter, for a few jobs hold much of it; but not around anything else: the
 * mean of several seeds is the published share within its 99 % interval (Student), and the published ones' rounding. */
TEST(shares_of_gpu_time_scatter_around_the_published_ones)
{
    enum { SEEDS = 8 };
    double sum[JOB_FAILS + 1] = {0}, squares[JOB_FAILS + 1] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct shares sums = sum_shares("seren", seed, 200000);
        for (int status = 0; status <= JOB_FAILS; status++) {
            const double frac = sums.by_status[1][status] / sums.gpu_s;
            sum[status] += frac;
            squares[status] += frac * frac;
        }
    }
    for (int status = 0; status <= JOB_FAILS; status++) {
        const double mean = sum[status] / SEEDS, deviation = sqrt((squares[status] - sum[status] * mean) / (SEEDS - 1));
        CHECK(deviation < 0.025);
        CHECK_NEAR(mean, known_mixes[0].statuses[1][status] / 100,
                   gsl_cdf_tdist_Pinv(0.995, SEEDS - 1) * deviation / sqrt(SEEDS) + 0.0005);
    }
}

/* Of many jobs a single seed will do. */
TEST(shares_of_gpu_time_are_met_by_many_jobs)
{
    const struct shares sums = sum_shares("seren", 1, 600000);
    for (int status = 0; status <= JOB_FAILS; status++)
        CHECK_NEAR(sums.by_status[1][status] / sums.gpu_s, known_mixes[0].statuses[1][status] / 100, 0.02);
}

/* Nothing is published of PAI's. */
TEST(jobs_of_unknown_status_complete)
{
    CHECK(sum_shares("pai", 1, 1000).by_status[0][JOB_COMPLETES] == 1000);
}

/* Hours and weekdays average out over whole weeks. */
TEST(job_mixes_have_the_published_rates)
{
    for (size_t i = 0; i < sizeof known_mixes / sizeof *known_mixes; i++) {
        SCOPED(trace_source) trace = {0};
        struct trace_stat stat;
        MUST(trace_source_jobs(&trace, 5, "{'format': 'generate-jobs', 'mix': '%s', 'duration': '28d'}",
                               known_mixes[i].name) == 0);
        CHECK_EQ_INT(trace_stat_jobs(trace.jobs, &stat, &trace.diag), 0);
        double expected = known_mixes[i].rate_per_h * 28 * 24;
        CHECK_NEAR((double)stat.n, expected, SIGMAS * sqrt(expected));
        CHECK(known_mixes[i].gpu_time_cdf[0] > 0 || stat.rank_correlation > 0.02);
    }
}
