/* A run that no failure struck says so, with the number that was to be expected. Other runs do not. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <gsl/gsl_cdf.h>

struct said {
    int n;
    double run_s, expected;
};

static int see(void *context, const struct warning_row *row)
{
    struct said *said = context;
    if (strcmp(row->code, "no-failures") != 0) return 0;
    said->n++;
    const int n = sscanf(row->text, "no failure struck in %lf s, about %lf were", &said->run_s, &said->expected);
    CHECK_EQ_INT(n, strstr(row->text, "and none could") != NULL ? 1 : 2);
    return 0;
}

/* Two nodes of 8 GPUs. Two jobs of 100 s are on one each, then one of 100 s is on both: 200 s in all. */
static struct said run(int seed, const char *failures, double *n_events)
{
    struct said said = {0};
    const struct sink sink = {.context = &said, .warning = see};
    struct bed_rows *rows = bed_ok(
        BED(.also = &sink),
        "{'seed': %d, 'cluster': {'nodes': 2, 'gpus_per_node': 8}, 'failures': {%s}, 'jobs': {'trace': {'format':"
        " 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 8}, {'duration': '100s', 'gpus': 8},"
        " {'duration': '100s', 'gpus': 16}]}}}",
        seed, failures);
    if (n_events != NULL) *n_events = bed_metric(rows, "failure.events");
    return said;
}

static void expect(const char *failures, double expected)
{
    const struct said said = run(1, failures, NULL);
    if (!CHECK_EQ_INT(said.n, 1)) printf("for %s\n", failures);
    CHECK_NEAR(said.run_s, 200, 0);
    CHECK_NEAR(said.expected / expected, 1, 0.05); /* it has two digits */
}

TEST(the_number_is_time_by_mean_life)
{
    expect("'causes': {'a': {'scope': 'node', 'lifetime': {'mean': '1000000s'}}}", 2 * 200 / 1e6);
    expect("'causes': {'a': {'scope': 'gpu', 'lifetime': {'mean': '10000000s'}}}", 16 * 200 / 1e7);
    expect("'causes': {'a': {'scope': 'site', 'lifetime': {'mean': '1000000s'}, 'visible': 0.25}}", 0.25 * 200 / 1e6);
    expect("'causes': {'a': {'scope': 'job', 'lifetime': {'mean': '1000000s'}}}", 300 / 1e6);
    expect("'causes': {'a': {'scope': 'job', 'lifetime': {'mean': '1000000s'}},"
           " 'b': {'scope': 'node', 'lifetime': {'mean': '2000000s'}}}",
           300 / 1e6 + 2 * 200 / 2e6);
    expect("'domains': {'a': {'nodes': 2, 'shock': '1000000s', 'hit': 0.5, 'lethal': '4000000s'}}",
           (1 - 0.25) * 200 / 1e6 + 200 / 4e6);
}

TEST(of_ageing_components_it_is_the_share_that_fails)
{
    expect("'causes': {'a': {'scope': 'node', 'lifetime': {'law': 'weibull', 'mean': '10000s', 'shape': 2}}}",
           2 * gsl_cdf_weibull_P(200, 10000 / tgamma(1.5), 2));
    expect("'causes': {'a': {'scope': 'node', 'lifetime': {'law': 'lognormal', 'mean': '10000s', 'shape': 1}}}",
           2 * gsl_cdf_lognormal_P(200, log(10000) - 0.5, 1));
    const struct said said = run(
        1, "'causes': {'a': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '201s'}}}", NULL);
    CHECK(said.n == 1 && said.expected == 0);
}

/* Of exponential lifetimes a run without failures has the probability exp(-expected). Failures cost the jobs nothing
 * here, so a run of 200 s has each seed. */
TEST(runs_that_were_struck_say_nothing)
{
    enum { N_SEEDS = 400 };
    int n_said = 0;
    for (int seed = 1; seed <= N_SEEDS; seed++) {
        double n_events;
        const struct said said = run(seed,
                                     "'causes': {'a': {'scope': 'node', 'lifetime': {'mean': '800s'}, 'slow': 1, "
                                     "'repair': {'mean': '1s'}}}",
                                     &n_events);
        CHECK_EQ_INT(said.n, n_events == 0);
        n_said += said.n;
    }
    const double p = exp(-0.5);
    CHECK_NEAR((double)n_said / N_SEEDS, p, 3.3 * sqrt(p * (1 - p) / N_SEEDS));
}

TEST(what_has_no_lifetimes_is_not_missed)
{
    CHECK_EQ_INT(run(1, "'outages': {'o': {'node': 0, 'from': '10s', 'until': '20s'}}", NULL).n, 0);
    CHECK_EQ_INT(run(1,
                     "'outages': {'o': {'node': 0, 'from': '10s', 'until': '20s'}}, 'causes': {'a': {'scope': 'node',"
                     " 'lifetime': {'mean': '1000000s'}}}",
                     NULL)
                     .n,
                 1);
}
