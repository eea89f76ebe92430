/* Run times as users state them: laws of the factor, and what they do to a scheduler that believes them. */
#include "sim/world/jobs/job_types.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

TEST(factors_follow_their_law)
{
    const struct estimates_config lognormal = {ESTIMATE_LOGNORMAL, 0.5, 0}, uniform = {ESTIMATE_UNIFORM, 0, 5};
    CHECK_NEAR(estimate_factor(&lognormal, 0.5), 1, 1e-12);
    CHECK_NEAR(log(estimate_factor(&lognormal, 0.8413447460685429)), 0.5, 1e-9); /* one standard deviation above */
    CHECK_NEAR(estimate_factor(&uniform, 0.25), 2, 1e-12);
    CHECK(estimate_factor(&(struct estimates_config){.law = ESTIMATE_EXACT}, 0.9) == 1);
}

TEST(estimates_come_from_the_trace_unless_configured)
{
    struct rng rng = test_rng(1, "jobs.estimates", 0);
    const struct job_record record = {.duration_ns = 10 * SIM_NS_PER_S, .estimate_ns = 99 * SIM_NS_PER_S};
    CHECK(estimate_of(&(struct estimates_config){.law = ESTIMATE_TRACED}, &record, &rng) == record.estimate_ns);
    CHECK(estimate_of(&(struct estimates_config){.law = ESTIMATE_EXACT}, &record, &rng) == record.duration_ns);
    const sim_ns stated_ns = estimate_of(&(struct estimates_config){ESTIMATE_UNIFORM, 0, 3}, &record, &rng);
    CHECK(stated_ns >= record.duration_ns && stated_ns <= 3 * record.duration_ns);
}

/* Mean completion time under SJF of a queue at 90 % load. */
static double mean_jct_s(const char *estimates)
{
    struct bed_rows *rows = bed_ok(
        BED(.no_detail = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'scheduler': 'sjf', 'placement': 'counted',"
        " 'estimates': %s, 'trace': {'format': 'generate-job-types', 'count': 20000,"
        " 'types': {'any': {'arrival': {'process': 'poisson', 'rate': '0.9/s'}, 'run_time': {'mean': '1s',"
        " 'law': 'exponential'}}}}}}",
        estimates);
    return bed_metric(rows, "job.jct_s.mean");
}

/* M/M/1 under first come, first served: 10 s; shortest first is faster, the less the worse it is told. */
TEST(the_worse_the_estimates_the_longer_it_takes)
{
    const double exact_s = mean_jct_s("{'law': 'exact'}"), good_s = mean_jct_s("{'law': 'lognormal', 'sigma': 0.5}");
    const double bad_s = mean_jct_s("{'law': 'lognormal', 'sigma': 4}");
    CHECK(exact_s < good_s && good_s < bad_s && bad_s < 10.0);
    CHECK(mean_jct_s("{'law': 'traced'}") == exact_s);
}
