/* Checkpoints under failures, by simulation against the closed form: the efficiency of four worked cases, flushes, and
 * where the best interval lies. One long job on one node, with exponential failures of the node, also while it
 * restarts. */
#include "models/checkpoint.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <gsl/gsl_multifit.h>

static const struct checkpoint_cost cases[] = {
    {60, 0, 300, 10800}, {5, 0, 120, 10800}, {60, 0, 300, 86400}, {300, 0, 600, 10800}};

/* The useful share of an interval of `useful_s` and its save, with a renewal at each failure. */
static double efficiency_of(const struct checkpoint_cost *cost, double useful_s)
{
    const double mtbf_s = cost->mtbf_s;
    return useful_s /
           (mtbf_s * exp((cost->restart_s + cost->flush_s) / mtbf_s) * expm1((useful_s + cost->stall_s) / mtbf_s));
}

/* The interval of highest efficiency, where g(x) = 1 - x - e^(-x - c) is 0, with x = t/M and c = C/M. g is concave and
 * falls for x > 0, g(1) < 0: Newton's steps from there come down to the root and never pass it. */
static double optimum_s(const struct checkpoint_cost *cost)
{
    const double c = cost->stall_s / cost->mtbf_s;
    double x = 1, before = 2;
    while (x > 0 && x < before) {
        const double rest = exp(-x - c);
        before = x;
        x -= (1 - x - rest) / (rest - 1);
    }
    return fmax(fmin(before, x), 0) * cost->mtbf_s;
}

/* `policy`: JSON; `save`: JSON members that say what a save costs. Returns useful time over all time. */
static double simulate(const struct checkpoint_cost *cost, const char *policy, const char *save, double failures)
{
    const double work_s = floor(failures * cost->mtbf_s * efficiency_of(cost, optimum_s(cost)));
    struct bed_rows *rows = bed_run(
        BED(.no_detail = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8}, 'keep': 'metrics', 'failures': {'causes': {'node': {'scope':"
        " 'node', 'lifetime': {'mean': '%.17gs'}, 'restart': {'law': 'constant', 'mean': '%.17gs'}}}},"
        " 'jobs': {'placement': 'first-fit', 'types': {'default': {'checkpoint': {'policy': %s, %s}}},"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '%.17gs', 'gpus': 8}]}}}",
        cost->mtbf_s, cost->restart_s, policy, save, work_s);
    const double efficiency = rows->code == 0 ? work_s / rows->end_s : (double)NAN;
    CHECK_EQ_INT(rows->code, 0);
    bed_free(rows);
    return efficiency;
}

static double simulate_interval(const struct checkpoint_cost *cost, double interval_s, double failures)
{
    char policy[128], save[128];
    snprintf(policy, sizeof policy, "{'policy': 'periodic', 'interval': '%.17gs'}", interval_s);
    snprintf(save, sizeof save, "'bytes': '%.17gGB', 'write': '1GB/s'", cost->stall_s);
    return simulate(cost, policy, save, failures);
}

/* The losses of n failures have a standard deviation of some 1.1 / sqrt(n) of their sum: below 0.07 points. */
TEST_OPTIMISED(efficiencies_are_those_of_the_formula)
{
    for (int i = 0; i < 4; i++) {
        const double failures = cases[i].mtbf_s > 80000 ? 6e4 : 1.5e5;
        const double best_s = optimum_s(&cases[i]);
        CHECK_NEAR(simulate_interval(&cases[i], best_s, failures), efficiency_of(&cases[i], best_s), 0.002);
        CHECK_NEAR(simulate_interval(&cases[i], 1800, failures), efficiency_of(&cases[i], 1800), 0.002);
    }
}

/* Policies work out the same interval from what they see. */
TEST(policies_choose_their_interval)
{
    const char *save = "'bytes': '60GB', 'write': '1GB/s'";
    const double young_s = checkpoint_young_s(&cases[0]), daly_s = checkpoint_daly_s(&cases[0]);
    CHECK_NEAR(simulate(&cases[0], "'young'", save, 2000), simulate_interval(&cases[0], young_s, 2000), 1e-7);
    CHECK_NEAR(simulate(&cases[0], "'daly'", save, 2000), simulate_interval(&cases[0], daly_s, 2000), 1e-7);
}

/* The mean over two jobs that save, of Young's sqrt(2 C M) and a stated interval; a third job saves nothing. */
TEST(the_interval_that_was_chosen_is_a_metric)
{
    struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 3, 'gpus_per_node': 8}, 'until': '1h', 'failures': {'causes': {'node': {'scope': 'node',"
        " 'lifetime': {'law': 'exponential', 'mean': '50h'}}}}, 'jobs': {'placement': 'first-fit', 'types': {"
        "'young': {'checkpoint': {'policy': 'young', 'bytes': '60GB', 'write': '1GB/s'}},"
        " 'stated': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '300s'}, 'bytes': '6GB',"
        " 'write': '1GB/s'}}, 'none': {}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '9h', 'gpus': 8,"
        " 'type': 'young'}, {'duration': '9h', 'gpus': 8, 'type': 'stated'}, {'duration': '9h', 'gpus': 8,"
        " 'type': 'none'}]}}}");
    CHECK_NEAR(bed_metric(rows, "job.checkpoint_interval_s.mean"), (sqrt(2.0 * 60 * 50 * 3600) + 300) / 2, 1e-6);
    bed_free(rows);
}

/* A store so slow that a save outlasts all clocks is none: the mean is that of the other job, or there is none. */
TEST(a_save_that_never_ends_has_no_interval)
{
    for (int i = 0; i < 2 * 2; i++) {
        struct bed_rows *rows = bed_ok(
            NULL,
            "{'cluster': {'nodes': 2, 'gpus_per_node': 8}, 'jobs': {'placement': 'first-fit', 'types': {"
            "'slow': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '50s'}, 'bytes': '1MB',"
            " 'model': 'datastates', 'gpu_copy': '20GB/s', 'node_write': '%sB/s'}},"
            " 'stated': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '300s'}, 'bytes': '6GB',"
            " 'write': '1GB/s'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 8,"
            " 'type': 'slow'}%s]}}}",
            i < 2 ? "1e-303" : "1e-5", i % 2 == 0 ? ", {'duration': '1000s', 'gpus': 8, 'type': 'stated'}" : "");
        const double mean_s = bed_metric(rows, "job.checkpoint_interval_s.mean");
        CHECK(i % 2 == 0 ? mean_s == 300 : isnan(mean_s));
        bed_free(rows);
    }
}

/* A job of 100.5 intervals of work stalls in 100 saves of 7 s. With the default an interval is 200 s. */
TEST(checkfreq_spends_its_overhead)
{
    static const struct {
        const char *policy;
        double work_s, stall_s;
    } rows[] = {{"'checkfreq'", 200 * 100.5, 700},
                {"{'policy': 'checkfreq', 'overhead': 0.07}", 100 * 100.5, 700},
                {"{'policy': 'checkfreq', 'overhead': 1}", 7 * 100.5, 700}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct bed_rows *run = bed_ok(
            NULL,
            "{'jobs': {'types': {'default': {'checkpoint': {'policy': %s, 'bytes': '7GB', 'write': '1GB/s'}}},"
            " 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '%.17gs', 'gpus': 8}]}}}",
            rows[i].policy, rows[i].work_s);
        CHECK_NEAR(run->end_s, rows[i].work_s + rows[i].stall_s, 1e-6);
    }
}

/* Saves that stall nothing follow each other: writes of 2 s hide behind steps of 5 s, so a failure loses between 2 s
 * and 7 s of work, and without failures the job ends with its work. */
TEST(checkfreq_saves_all_the_time_where_saves_are_free)
{
    static const char text[] =
        "{%s'jobs': {'placement': 'first-fit', 'types': {'default': {'checkpoint': {'policy': 'checkfreq', 'model':"
        " 'fastpersist', 'bytes': '2GB', 'write': '1GB/s', 'overlap': '5s'}}}, 'trace': {'format': 'inline-jobs',"
        " 'jobs': [{'duration': '100000s', 'gpus': 8}]}}}";
    const struct bed_rows *whole = bed_ok(NULL, text, "");
    CHECK(whole->end_s == 100000);
    const struct bed_rows *run = bed_ok(
        NULL, text,
        "'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '500s'}}}}, 'until': '3d', ");
    const double failures = bed_metric(run, "failure.interrupts"), lost_s = bed_metric(run, "failure.lost_gpu_s") / 8;
    CHECK(failures > 100);
    CHECK(lost_s > 4 * failures && lost_s < 5 * failures); /* 2 s, and half of 5 s */
}

/* Failures play no part in its choice. */
TEST(checkfreq_ignores_failures)
{
    const char *save = "'bytes': '60GB', 'write': '1GB/s'";
    for (int i = 0; i < 3; i += 2)
        CHECK_NEAR(simulate(&cases[i], "{'policy': 'checkfreq', 'overhead': 0.05}", save, 200),
                   simulate_interval(&cases[i], 1200, 200), 1e-7);
}

/* What is still on its way to storage when a failure comes is lost: a longer restart, as far as means go. */
TEST_OPTIMISED(flushes_cost_like_restarts)
{
    const struct checkpoint_cost cost = {20, 400, 300, 10800};
    const char *policy = "{'policy': 'periodic', 'interval': '900s'}";
    const char *save = "'model': 'datastates', 'bytes': '420GB', 'write': '1GB/s', 'gpu_copy': '2.5GB/s',"
                       " 'gpu_buffer': '60GB', 'overlap': '1s'";
    CHECK_NEAR(simulate(&cost, policy, save, 1.5e5), efficiency_of(&cost, 900), 0.002);
}

/* Fits a + b x + c x^2; returns where it is extreme. */
static double vertex(const double *x, const double *y, size_t n)
{
    gsl_matrix *powers = gsl_matrix_alloc(n, 3), *covariance = gsl_matrix_alloc(3, 3);
    gsl_vector *values = gsl_vector_alloc(n), *fit = gsl_vector_alloc(3);
    gsl_multifit_linear_workspace *space = gsl_multifit_linear_alloc(n, 3);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 3; k++) gsl_matrix_set(powers, i, k, pow(x[i], (double)k));
        gsl_vector_set(values, i, y[i]);
    }
    double squares;
    gsl_multifit_linear(powers, values, fit, covariance, &squares, space);
    CHECK(gsl_vector_get(fit, 2) < 0);
    const double at = -gsl_vector_get(fit, 1) / (2 * gsl_vector_get(fit, 2));
    gsl_multifit_linear_free(space);
    gsl_vector_free(values);
    gsl_vector_free(fit);
    gsl_matrix_free(powers);
    gsl_matrix_free(covariance);
    return at;
}

/* Seven intervals from 0.5 to 2 times Young's under the same failures, and a parabola in the logarithm: to first order
 * the overhead C/t + t/(2 M) is symmetric there. */
TEST_OPTIMISED(the_best_interval_is_found)
{
    for (int i = 0; i < 4; i += 3) {
        double logs[7], efficiencies[7];
        for (int k = 0; k < 7; k++) {
            logs[k] = (k - 3) * log(2.0) / 3;
            efficiencies[k] = simulate_interval(&cases[i], checkpoint_young_s(&cases[i]) * exp(logs[k]), 2e4);
        }
        const double best_s = checkpoint_young_s(&cases[i]) * exp(vertex(logs, efficiencies, 7));
        CHECK_NEAR(best_s / optimum_s(&cases[i]), 1.0, 0.08);
    }
}

/* Without failures, policies that follow the failure rate never save, even if saves are free. */
TEST(without_failures_nothing_is_saved)
{
    static const char *const policies[] = {"none", "young", "daly"};
    static const char *const overlaps[] = {"0s", "10s"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct bed_rows *rows = bed_ok(
                NULL,
                "{'jobs': {'types': {'default': {'checkpoint': {'policy': '%s', 'model': 'fastpersist', 'bytes': '1GB',"
                " 'write': '1GB/s', 'overlap': '%s'}}}, 'trace': {'format': 'inline-jobs',"
                " 'jobs': [{'duration': '5000s', 'gpus': 8}]}}}",
                policies[i], overlaps[k]);
            CHECK(rows->end_s == 5000);
        }
}

/* --- Losses that are no failures --- */

/* One job of 20 h on spot GPUs that are taken back after 3 h on average, with saves of 60 s. */
static struct bed_rows *run_spot(const char *policy, const char *notice)
{
    return bed_ok(BED(.no_detail = true),
                  "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'h100-sxm'}, 'market': {'offers': {'gpu': {"
                  "'price': '$1/h', 'kind': 'spot', 'spot': {'mean_life': '3h', 'notice': '%s'}}}, 'renting':"
                  " 'as-asked'}, 'jobs': {'types': {'default': {'checkpoint': {'policy': %s, 'bytes': '60GB', 'write':"
                  " '1GB/s'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '20h', 'gpus': 8}]}}}",
                  notice, policy);
}

/* The market's interruptions are failures to a policy: it saves as often as under failures at this rate. */
TEST(spot_interruptions_are_expected)
{
    char policy[128];
    const struct checkpoint_cost cost = {60, 0, 0, 10800};
    snprintf(policy, sizeof policy, "{'policy': 'periodic', 'interval': '%.17gs'}", checkpoint_daly_s(&cost));
    struct bed_rows *daly = run_spot("'daly'", "0s"), *periodic = run_spot(policy, "0s");
    CHECK(bed_metric(daly, "rental.interruptions") > 0 && bed_metric(daly, "job.checkpoint_gpu_s.sum") > 0);
    CHECK_NEAR(daly->end_s, periodic->end_s, 1e-3);
    CHECK(bed_warning(daly, "never-saves") == NULL);
    bed_free(daly);
    bed_free(periodic);
}

/* Within a notice as long as a save nothing is lost but what is done during this save, so there is none before. */
TEST(a_notice_saves_all)
{
    struct bed_rows *rows = run_spot("'daly'", "60s");
    CHECK(isnan(bed_metric(rows, "job.checkpoint_gpu_s.sum")));
    CHECK(bed_metric(rows, "job.lost_gpu_s.sum") <= 60 * 8 * bed_metric(rows, "rental.interruptions"));
    CHECK(bed_warning(rows, "never-saves") == NULL);
    bed_free(rows);
}

/* No policy foresees a planned outage. A run in which one takes all work of a job that never saves says so. */
TEST(jobs_that_never_save_are_warned_of)
{
    static const char *const policies[] = {"daly", "none", "periodic"};
    for (size_t i = 0; i < 3; i++) {
        struct bed_rows *rows = bed_ok(
            BED(.no_detail = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 8}, 'failures': {'outages': {'power': {'node': 0, 'from': '2h',"
            " 'until': '3h', 'jobs': 'interrupt'}}}, 'jobs': {'placement': 'first-fit', 'types': {'default':"
            " {'checkpoint': {'policy': '%s', 'bytes': '60GB', 'write': '1GB/s'}}}, 'trace': {'format':"
            " 'inline-jobs', 'jobs': [{'duration': '10h', 'gpus': 8}]}}}",
            policies[i]);
        CHECK((bed_warning(rows, "never-saves") != NULL) == (i == 0));
        if (i == 0) CHECK_NEAR(bed_metric(rows, "job.lost_gpu_s.sum"), 2 * 3600 * 8, 1e-3);
        bed_free(rows);
    }
}
