#include "analysis/report/caution.h"
#include "analysis/report/figures.h"
#include "analysis/report/verdict.h"
#include "analysis/report/words.h"
#include "tests/support/harness.h"

/* --- Trends --- */

/* A queue that gets one arrival per second, each of which waits `rate` seconds longer than the one before. */
static struct trend_growth growth_of(double first_s, double rate, int n)
{
    static struct trend trend;
    trend_init(&trend, 0, n - 1);
    for (int i = 0; i < n; i++) trend_add(&trend, i, first_s + rate * i, false);
    return trend_growth(&trend);
}

TEST(growth_is_the_slope_of_waiting)
{
    const struct trend_growth growth = growth_of(1, 0.25, 4000);
    CHECK_NEAR(growth.rate, 0.25, 0.002);
    CHECK_NEAR(growth.early_s, 1 + 0.25 * 1500, 5);
    CHECK_NEAR(growth.late_s, 1 + 0.25 * 3500, 5);
    CHECK(growth.grows && growth.is_saturated && isnan(growth.until_s));
}

TEST(a_level_queue_is_not_saturated)
{
    CHECK(!growth_of(100, 0, 4000).is_saturated);
    CHECK(!growth_of(1, 0.005, 4000).is_saturated);  /* slower than one per hundred */
    CHECK(!growth_of(1e5, 0.25, 4000).is_saturated); /* less than twofold */
    CHECK(!growth_of(1, 0.25, 40).is_saturated);     /* too few to tell */
    CHECK(isnan(growth_of(1, 0.25, 40).rate));
}

/* One server, first come first served, `n` arrivals spaced so that it gets `load`, cut short when the last one has come
 * or seen to the end. Times in units of the service. */
static struct trend_growth serve(double load, int n, bool is_cut)
{
    static struct trend trend;
    const double apart = 1 / load, end = apart * (n - 1);
    double free_at = 0;
    trend_init(&trend, 0, end);
    for (int i = 0; i < n; i++) {
        const double t = apart * i, start = fmax(t, free_at);
        const bool is_left = is_cut && start > end;
        trend_add(&trend, t, is_left ? end - t : start - t, is_left);
        free_at = start + 1;
    }
    return trend_growth(&trend);
}

/* The load comes out of the waits, whether or not the queue was seen to its end, and of a run that was cut short the
 * share that still waited: with load rho who came in the last 1 - 1 / rho of the time. */
TEST(the_load_follows_from_the_growth)
{
    static const double loads[] = {1.05, 1.1, 1.2, 1.5, 2, 3, 8};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        for (int cut = 0; cut < 2; cut++) {
            const struct trend_growth growth = serve(loads[i], 5000, cut);
            CHECK(growth.grows && growth.is_saturated);
            CHECK_NEAR(1 + growth.rate, loads[i], 0.02 * loads[i]);
            CHECK_NEAR(growth.left_frac, cut ? 1 - 1 / loads[i] : 0, 0.002);
            CHECK(isnan(growth.until_s) == !cut);
        }
    CHECK(!serve(0.99, 5000, true).is_saturated);
    CHECK(!serve(0.99, 5000, false).is_saturated);
}

/* Who is served last come first served does not wait ever longer, but more and more are left. */
TEST(leftovers_alone_are_enough)
{
    static struct trend trend;
    for (int one_in = 10; one_in <= 40; one_in += 30) {
        trend_init(&trend, 0, 3999);
        for (int i = 0; i < 4000; i++) trend_add(&trend, i, i % one_in == 0 ? 3999 - i : 1, i % one_in == 0);
        const struct trend_growth growth = trend_growth(&trend);
        CHECK(!growth.grows);
        CHECK_NEAR(growth.left_frac, 1.0 / one_in, 1e-9);
        CHECK(growth.is_saturated == (one_in == 10));
    }
}

TEST(arrivals_without_a_wait_or_outside_are_left_out)
{
    static struct trend trend;
    trend_init(&trend, 10, 20);
    trend_add(&trend, (double)NAN, 1, false);
    trend_add(&trend, 5, 1, false);
    trend_add(&trend, 25, (double)NAN, true);
    double n = 0;
    for (int i = 0; i < TREND_BINS; i++) n += trend.bins[i].n + trend.bins[i].n_left;
    CHECK_NEAR(n, 0, 0);
    CHECK_EQ_INT(trend_bin_at(&trend, 9.9), -1);
    CHECK_EQ_INT(trend_bin_at(&trend, 10), 0);
    CHECK_EQ_INT(trend_bin_at(&trend, 20), TREND_BINS - 1);
}

/* --- The verdict --- */

/* A trend whose ends are not known before sees the growth that one with known ends sees, within the width of its bins.
 * How long the arrivals left at the end have waited is known last. */
TEST(an_open_trend_sees_what_a_closed_one_sees)
{
    static struct trend open, closed;
    static const double starts[] = {0, 7e5}, loads[] = {0.8, 1.2, 3};
    for (size_t k = 0; k < 6; k++) {
        const double start = starts[k % 2], apart = 1 / loads[k / 2], end = start + 4999 * apart;
        double free_at = 0;
        trend_init(&closed, start, end);
        trend_init_open(&open);
        for (int i = 0; i < 5000; i++) {
            const double t = start + apart * i, begins = fmax(t, free_at);
            const bool is_left = begins > end;
            trend_add(&closed, t, is_left ? end - t : begins - t, is_left);
            if (i > 0) trend_add(&open, t, is_left ? -t : begins - t, is_left);
            free_at = begins + 1;
        }
        trend_add(&open, start, 0, false); /* rows come in order of their ends, not of their arrivals */
        trend_end(&open, end);
        const struct trend_growth a = trend_growth(&closed), b = trend_growth(&open);
        CHECK(a.grows == b.grows && a.is_saturated == b.is_saturated);
        CHECK_NEAR(b.left_frac, a.left_frac, 1e-12);
        if (a.grows) CHECK_NEAR(b.rate, a.rate, 0.05 * a.rate);
    }
}

struct made_metric {
    const char *name;
    double value;
};

static double made(const void *context, const char *name)
{
    const struct made_metric *metric = context;
    for (; metric->name != NULL; metric++)
        if (strcmp(metric->name, name) == 0) return metric->value;
    return (double)NAN;
}

static void check_verdict(const struct made_metric *metrics, struct verdict_facts facts, const char *expected)
{
    SCOPED(text) text = {0};
    facts.metric = made;
    facts.context = metrics;
    verdict_run(&facts, &text);
    CHECK_EQ_STR(text.chars != NULL ? text.chars : "", expected);
}

TEST(a_service_is_described_by_its_counts_and_latencies)
{
    const struct made_metric metrics[] = {
        {"request.arrived", 1000}, {"request.finished", 990}, {"request.rejected", 4}, {"request.unfinished", 6},
        {"request.ttft_s.p50", 0.2}, {"request.ttft_s.p99", 1.5}, {"request.tpot_s.p50", 0.02},
        {"request.tpot_s.p99", 0.03}, {"request.e2e_s.p50", 5}, {"request.e2e_s.p99", 9}, {"replica.busy_frac", 0.5},
        {"model.extrapolated_frac", 0.05}, {0}};
    check_verdict(metrics, (struct verdict_facts){.status = "done"},
                  "Of 1,000 requests 990 finished (99 %), 4 were rejected, 6 were left at the end. The first token came after "
                  "200 ms at the median and 1.5 s at the 99th percentile, the others every 20 ms (30 ms); the whole answer "
                  "took 5 s (9 s). These are times of finished requests alone, without the 6 left at the end. Replicas "
                  "computed 50 % of the time. 5 % of the kernels' time lies outside the measured range.");
}

TEST(jobs_are_described_by_their_completion)
{
    const struct made_metric metrics[] = {{"job.submitted", 50}, {"job.ended", 50}, {"job.jct_s.mean", 7200},
                                          {"job.jct_s.p50", 3600}, {"job.jct_s.p99", 36000}, {"job.jct_s.max", 40000},
                                          {"job.queue_s.mean", 1800}, {"cluster.gpu_util", 0.75}, {0}};
    check_verdict(metrics, (struct verdict_facts){.status = "done"},
                  "All 50 jobs finished. A job took 2 h from submission to its end on average (median 60 min, at "
                  "most 11 h 7 min), 25 % of it before the first start. Jobs and services held 75 % of the cluster's GPU time.");
}

/* A percentile takes 100 values: below, the maximum stands in its place. */
TEST(the_99th_percentile_takes_a_hundred_requests)
{
    struct made_metric metrics[] = {{"request.arrived", 99}, {"request.finished", 99}, {"request.ttft_s.p50", 1},
                                    {"request.ttft_s.p99", 2}, {"request.ttft_s.max", 3}, {0}};
    check_verdict(metrics, (struct verdict_facts){.status = "done"},
                  "All 99 requests finished. The first token came after 1 s at the median and 3 s at most.");
    metrics[0].value = metrics[1].value = 100;
    check_verdict(metrics, (struct verdict_facts){.status = "done"},
                  "All 100 requests finished. The first token came after 1 s at the median and 2 s at the 99th percentile.");
    for (int n = 1; n <= 1000; n++)
        for (int percent = 51; percent < 100; percent++)
            CHECK(words_has_quantile(n, percent / 100.0) == (n * (100 - percent) >= 100));
    CHECK(words_has_quantile(1, 0.5) && words_has_quantile((double)NAN, 0.99));
}

TEST(one_job_is_no_plural)
{
    const struct made_metric metrics[] = {{"job.submitted", 1}, {"job.ended", 1}, {0}};
    check_verdict(metrics, (struct verdict_facts){.status = "done"}, "The only job finished.");
}

/* Jobs that the trace ends as failed or cancelled have not finished: finished, failed, cancelled, rejected and left are
 * all of them. */
TEST(a_job_that_failed_has_not_finished)
{
    const struct made_metric metrics[] = {{"job.submitted", 60}, {"job.ended", 50}, {"job.failed", 20},
                                          {"job.cancelled", 5}, {"job.rejected", 3}, {"job.unfinished", 7}, {0}};
    check_verdict(metrics, (struct verdict_facts){.status = "done"},
                  "Of 60 jobs 25 finished (41.7 %), 20 failed, 5 were cancelled, 3 were rejected, 7 were left at the end.");
}

TEST(incidents_the_slo_and_the_bill_are_told)
{
    const struct verdict_trend services[] = {{"a", {.left_frac = 0}}, {"b", {.left_frac = 0}}};
    const struct made_metric metrics[] = {
        {"slo.attained_frac", 0.9}, {"slo.attained_frac[a]", 0.95}, {"slo.attained_frac[b]", 0.8},
        {"job.preemptions.sum", 10}, {"failure.interrupts", 4}, {"scaling.yielded_jobs.sum", 5},
        {"replica.preemptions.sum", 2}, {"failure.events", 7}, {"failure.replica_stops", 1}, {"power.brakes", 2},
        {"power.braked_s", 90}, {"power.breaker_trips", 1}, {"cost.usd", 1234.5}, {"cost.usd_per_h", 3}, {0}};
    check_verdict(metrics, (struct verdict_facts){.status = "done", .n_services = 2, .services = services},
                  "90 % of the requests attained their SLO (a 95 %, b 80 %). Jobs yielded their GPUs to replicas 5 times. "
                  "Jobs were preempted once. Requests were evicted from a batch 2 times. Failures struck 7 times: "
                  "they stopped running jobs 4 times and replicas once. The power brake engaged 2 times, for 90 s in all. "
                  "A breaker tripped once. The bill is $1234.50.");
    const struct made_metric calm[] = {{"power.brakes", 0}, {"failure.events", 0}, {"cost.usd_per_h", 3}, {0}};
    check_verdict(calm, (struct verdict_facts){.status = "done"},
                  "Nothing failed. The power brake never engaged. The GPUs of its services cost $3.00 per hour.");
}

TEST(saturation_needs_growth_or_leftovers)
{
    const struct verdict_trend grows = {
        "a", {.until_s = (double)NAN, .early_s = 10, .late_s = 60, .rate = 0.5, .grows = true, .is_saturated = true}};
    const struct verdict_trend level = {"a", {.early_s = 10, .late_s = 11, .rate = 0.001, .left_frac = 0.05}};
    const struct verdict_trend cut = {"a", {.early_s = 10, .late_s = 11, .left_frac = 0.07, .is_saturated = true}};
    const struct made_metric left[] = {{"request.arrived", 100}, {"request.finished", 90}, {"request.unfinished", 10}, {0}};
    check_verdict(left, (struct verdict_facts){.status = "done", .n_services = 1, .services = &grows},
                  "Of 100 requests 90 finished (90 %), 10 were left at the end. The service is saturated: the mean wait "
                  "rises from 10 s in the second quarter of the arrivals to 60 s in the last quarter, as if work arrived "
                  "at 1.5 times the rate at which it is served; mean and percentiles of waiting depend on the length of the run.");
    check_verdict(left, (struct verdict_facts){.status = "done", .n_services = 1, .services = &level},
                  "Of 100 requests 90 finished (90 %), 10 were left at the end.");
    check_verdict(left, (struct verdict_facts){.status = "done", .n_services = 1, .services = &cut},
                  "Of 100 requests 90 finished (90 %), 10 were left at the end. The service is saturated or was cut short: 7 % of "
                  "its requests still waited at the end.");
    check_verdict(left, (struct verdict_facts){.status = "done"},
                  "Of 100 requests 90 finished (90 %), 10 were left at the end. The service is saturated or was cut short: 10 % "
                  "of the requests were left at the end.");
}

TEST(each_service_is_judged_by_its_own_queue)
{
    const struct trend_growth grows = {.until_s = 240, .early_s = 10, .late_s = 60, .rate = 1, .left_frac = 0.5,
                                       .grows = true, .is_saturated = true};
    const struct trend_growth cut = {.left_frac = 0.07, .is_saturated = true};
    const struct trend_growth calm = {.left_frac = 0};
    const struct verdict_trend services[] = {{"a", calm}, {"b", grows}, {"c", cut}, {"d", cut}, {"e", cut}, {"f", cut}};
    const struct made_metric none[] = {{0}};
    struct verdict_facts facts = {.status = "done", .n_services = 3, .services = services};
    check_verdict(
        none, facts,
        "The service 'b' is saturated: the mean wait rises from 10 s in the second quarter of the arrivals up to 4 min "
        "to 60 s in the last quarter, as if work arrived at 2 times the rate at which it is served; mean "
        "and percentiles of waiting depend on the length of the run. The service 'c' is saturated or was cut short: 7 % "
        "of its requests still waited at the end.");
    facts.metric = made, facts.context = none;
    CHECK(verdict_requests_saturate(&facts) && verdict_requests_grow(&facts));
    facts = (struct verdict_facts){.status = "done", .n_services = 4, .services = services + 2};
    check_verdict(
        none, facts,
        "The service 'c' is saturated or was cut short: 7 % of its requests still waited at the end. The service 'd' "
        "is saturated or was cut short: 7 % of its requests still waited at the end. The service 'e' is saturated or "
        "was cut short: 7 % of its requests still waited at the end. So is 1 more.");
    facts.metric = made, facts.context = none;
    CHECK(verdict_requests_saturate(&facts) && !verdict_requests_grow(&facts));
    facts.n_services = 1, facts.services = services;
    CHECK(!verdict_requests_saturate(&facts));
}

TEST(times_say_whom_they_leave_out)
{
    const struct made_metric metrics[] = {
        {"request.arrived", 10}, {"request.finished", 8}, {"request.unfinished", 2}, {"request.ttft_s.p50", 1},
        {"request.ttft_s.max", 2}, {"job.submitted", 71}, {"job.ended", 45}, {"job.unfinished", 26},
        {"job.jct_s.mean", 60}, {"job.jct_s.p50", 50}, {"job.jct_s.max", 90}, {0}};
    const struct trend_growth jobs = {.left_frac = 0.2, .is_saturated = true};
    const struct verdict_trend service = {"a", {.left_frac = 0}};
    check_verdict(metrics, (struct verdict_facts){.status = "done", .n_services = 1, .services = &service, .jobs = &jobs},
                  "Of 10 requests 8 finished (80 %), 2 were left at the end. The first token came after 1 s at the median and 2 s "
                  "at most. These are times of finished requests alone, without the 2 left at the end. Of 71 jobs "
                  "45 finished (63.4 %), 26 were left at the end. A job took 60 s from submission to its end on average (median "
                  "50 s, at most 90 s). These are times of ended jobs alone, without the 26 left at the end. The "
                  "cluster is saturated or was cut short: 20 % of its jobs still waited at the end.");
}

TEST(a_run_without_a_result_says_so_first)
{
    const struct made_metric none[] = {{0}};
    const struct made_metric some[] = {{"sim.end_s", 90}, {"request.arrived", 0}, {0}};
    check_verdict(none, (struct verdict_facts){.status = "failed"},
                  "The run has status 'failed' and no result; see the warnings.");
    check_verdict(none, (struct verdict_facts){.status = "open"},
                  "The run is not complete: its process died or still runs.");
    check_verdict(some, (struct verdict_facts){.status = "interrupted"},
                  "The run was interrupted at 90 s of simulated time: what follows covers this part only. There were no requests.");
    check_verdict(none, (struct verdict_facts){.status = "done", .is_uncalibrated = true},
                  "The cost model is not calibrated for this GPU.");
    check_verdict(none, (struct verdict_facts){.status = "done"}, "");
}

/* --- Curves --- */

TEST(thinned_shares_keep_every_percentile)
{
    enum { N = 100000 };
    static double x[N], y[N];
    SCOPED(arena) arena = {0};
    struct curve curve;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = (i + 1.0) / N;
    }
    MUST(curve_thin_shares(x, y, N, &arena, &curve) == 0);
    CHECK(curve.n < 350);
    CHECK_NEAR(curve.y[curve.n - 1], 1, 0);
    for (size_t i = 1; i < curve.n; i++) {
        CHECK(curve.y[i] > curve.y[i - 1]);
        CHECK(curve.y[i] - curve.y[i - 1] <= 1.0 / 250 + 2.0 / N);
    }
    size_t in_tail = 0;
    for (size_t i = 0; i < curve.n; i++) in_tail += curve.y[i] > 0.999;
    CHECK(in_tail >= 10);
}

TEST(thinned_lines_keep_peaks_and_ends)
{
    enum { N = 50000 };
    static double x[N], y[N];
    SCOPED(arena) arena = {0};
    struct curve curve;
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i == 31415 ? 1e6 : i == 27182 ? -1e6 : i % 7;
    }
    MUST(curve_thin_extremes(x, y, N, 1000, &arena, &curve) == 0);
    CHECK(curve.n <= 1002);
    bool high = false, low = false;
    for (size_t i = 0; i < curve.n; i++) {
        if (i > 0) CHECK(curve.x[i] > curve.x[i - 1]);
        high |= curve.y[i] > 9e5;
        low |= curve.y[i] < -9e5;
    }
    CHECK(high && low);
    CHECK_NEAR(curve.x[0], 0, 0);
    CHECK_NEAR(curve.x[curve.n - 1], N - 1, 0);
    MUST(curve_thin_extremes(x, y, 5, 1000, &arena, &curve) == 0);
    CHECK_EQ_INT(curve.n, 5);
    MUST(curve_thin_extremes(x, y, 0, 1000, &arena, &curve) == 0);
    CHECK_EQ_INT(curve.n, 0);
}

/* The mean of the bins, weighted by their widths, is the mean of the steps: nothing of the area is lost. */
TEST(bins_keep_the_area)
{
    const double x[] = {0, 1, 2.5, 7}, y[] = {4, 0, 2, 10};
    double means[3];
    curve_bin_means(x, y, 4, 0, 9, 3, means);
    CHECK_NEAR(means[0], (4 * 1 + 0 * 1.5 + 2 * 0.5) / 3, 1e-12);
    CHECK_NEAR(means[1], 2, 1e-12);
    CHECK_NEAR(means[2], (2 * 1 + 10 * 2) / 3.0, 1e-12);
    curve_bin_means(x + 2, y + 2, 2, 0, 9, 3, means);
    CHECK_NEAR(means[0], 2, 1e-12); /* of the part that is known */
    curve_bin_means(x + 3, y + 3, 1, 0, 9, 3, means);
    CHECK(isnan(means[0]) && isnan(means[1]));
    curve_bin_means(x, y, 0, 0, 9, 3, means);
    CHECK(isnan(means[2]));
}

/* --- Warnings that follow from the numbers --- */

/* The codes of all warnings, in their order. */
static const char *cautions_of(const struct made_metric *metrics, struct verdict_facts facts)
{
    static char codes[256];
    struct caution cautions[CAUTIONS_MAX];
    facts.metric = made;
    facts.context = metrics;
    codes[0] = 0;
    const size_t n = cautions_find(&facts, cautions);
    for (size_t i = 0; i < n; i++) {
        CHECK(strlen(cautions[i].text) > 20 && strlen(cautions[i].text) < CAUTION_CHARS - 1);
        strcat(codes, i > 0 ? " " : "");
        strcat(codes, cautions[i].code);
    }
    return codes;
}

TEST(a_warmup_beyond_the_trace_is_told)
{
    const struct made_metric none[] = {{"request.arrived", 0}, {"job.ended", 4}, {0}};
    const struct made_metric some[] = {{"request.arrived", 1}, {"job.ended", 4}, {"job.jct_s.mean", 1}, {0}};
    CHECK_EQ_STR(cautions_of(none, (struct verdict_facts){.status = "done", .warmup_s = 60}), "unmeasured unmeasured");
    CHECK_EQ_STR(cautions_of(none, (struct verdict_facts){.status = "done"}), "unmeasured"); /* nothing arrived */
    CHECK_EQ_STR(cautions_of(some, (struct verdict_facts){.status = "done", .warmup_s = 60}), "");
}

TEST(a_run_that_ends_before_its_first_answer_is_told)
{
    struct made_metric cut[] = {{"request.arrived", 2}, {"request.unfinished", 2}, {"request.finished", 0}, {0}};
    CHECK_EQ_STR(cautions_of(cut, (struct verdict_facts){.status = "done"}), "unmeasured saturated");
    cut[2].value = 1;
    CHECK_EQ_STR(cautions_of(cut, (struct verdict_facts){.status = "done"}), "saturated"); /* half are left */
}

TEST(large_shares_of_rejections_and_brakes_are_told)
{
    struct made_metric metrics[] = {
        {"request.arrived", 1000}, {"request.rejected", 50}, {"power.braked_s", 5}, {"sim.end_s", 100}, {0}};
    const struct verdict_facts facts = {.status = "done"};
    CHECK_EQ_STR(cautions_of(metrics, facts), "rejected braked");
    metrics[1].value = 49;
    metrics[2].value = 4.9;
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    CHECK_EQ_STR(cautions_of(metrics, (struct verdict_facts){.status = "interrupted"}), "incomplete");
}

/* A little above is what studies of oversubscription look at. */
TEST(a_budget_far_below_the_power_is_told)
{
    static const struct {
        double most_frac;
        const char *codes;
    } cases[] = {{0.9, ""}, {1.03, ""}, {1.07, ""}, {1.99, ""}, {2, "over-budget"}, {400, "over-budget"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct made_metric metrics[] = {
            {"power.budget_frac.mean", 0.5}, {"power.budget_frac.max", cases[i].most_frac}, {"sim.end_s", 100}, {0}};
        CHECK_EQ_STR(cautions_of(metrics, (struct verdict_facts){.status = "done"}), cases[i].codes);
    }
}

/* A lease has a bill, whether or not its GPUs are up. */
TEST(costs_without_the_gpus_that_are_down_are_told)
{
    struct made_metric metrics[] = {
        {"failure.replica_down_s", 500}, {"cluster.available_frac", 0.95}, {"cost.usd_per_h", 8},
        {"cost.usd", (double)NAN},       {"sim.end_s", 100},               {0}};
    const struct verdict_facts facts = {.status = "done"};
    CHECK_EQ_STR(cautions_of(metrics, facts), "unpaid");
    metrics[3].value = 1;
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    metrics[3].value = (double)NAN;
    CHECK_EQ_STR(cautions_of(metrics, (struct verdict_facts){.status = "stalled"}), "incomplete");
    metrics[1].value = 0.951;
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    metrics[1].value = (double)NAN;
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
}

/* Of 100 jobs 20 were left on a site where at most 10 GPUs were in use: 10 more than there were GPUs. Nothing is said
 * of jobs without GPUs, nor of jobs that take turns. */
TEST(jobs_that_wait_at_the_end_are_seen_without_rows)
{
    struct made_metric metrics[] = {
        {"job.submitted", 100}, {"job.unfinished", 20}, {"job.gpus_in_use.max", 10}, {"sim.end_s", 100},
        {"job.preemptions.sum", 0}, {0}};
    struct verdict_facts facts = {.status = "done"};
    CHECK_EQ_STR(cautions_of(metrics, facts), "saturated");
    metrics[4].value = 1;
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    metrics[4].value = 0, metrics[2].value = 0;
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    metrics[2].value = 10;
    SCOPED(text) text = {0};
    facts.metric = made, facts.context = metrics;
    verdict_run(&facts, &text);
    CHECK(strstr(text.chars, "saturated or was cut short: 10 % of the jobs were left, beyond one for each GPU.") !=
          NULL);
    metrics[2].value = 15; /* 5 waited */
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    metrics[2].value = 10, metrics[0].value = 19; /* too few to tell */
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    const struct trend_growth calm = {.left_frac = 0.01};
    metrics[0].value = 100, facts.jobs = &calm; /* rows know better */
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
}

/* What is left in a run that stalled waits for what never comes: no queue tells anything of its rate. */
TEST(a_run_that_stalled_is_not_saturated)
{
    const struct made_metric metrics[] = {
        {"request.arrived", 100}, {"request.unfinished", 90}, {"sim.end_s", 100}, {0}};
    CHECK_EQ_STR(cautions_of(metrics, (struct verdict_facts){.status = "done"}), "saturated");
    CHECK_EQ_STR(cautions_of(metrics, (struct verdict_facts){.status = "stalled"}), "incomplete");
    const struct trend_growth jobs = {.left_frac = 0.2, .is_saturated = true};
    const struct verdict_trend service = {"a", {.left_frac = 0.9, .is_saturated = true}};
    struct verdict_facts facts = {.status = "done", .n_services = 1, .services = &service, .jobs = &jobs};
    for (int stalls = 0; stalls <= 1; stalls++) {
        SCOPED(text) text = {0};
        if (stalls) facts.status = "stalled";
        facts.metric = made;
        facts.context = metrics;
        verdict_run(&facts, &text);
        CHECK_EQ_INT(strstr(text.chars, "The service is saturated") != NULL, !stalls);
        CHECK_EQ_INT(strstr(text.chars, "cluster is saturated") != NULL, !stalls);
    }
}

TEST(prefixes_that_nothing_keeps_are_told)
{
    struct made_metric metrics[] = {{"session.new_tokens.sum", 1800}, {"session.recomputed_tokens.sum", 100},
                                    {"session.hit_tokens.sum", 0}, {"session.loaded_tokens.sum", 0}, {0}};
    const struct verdict_facts facts = {.status = "done"};
    CHECK_EQ_STR(cautions_of(metrics, facts), "no-prefix-hits");
    for (int i = 2; i < 4; i++) { /* a cache, or a store below it; a few hits are not enough */
        metrics[i].value = 5;
        CHECK_EQ_STR(cautions_of(metrics, facts), "no-prefix-hits");
        metrics[i].value = 6;
        CHECK_EQ_STR(cautions_of(metrics, facts), "");
        metrics[i].value = 0;
    }
    metrics[0].value = 1901;
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
}

static const char *caution_text(const struct made_metric *metrics)
{
    static struct caution cautions[CAUTIONS_MAX];
    const struct verdict_facts facts = {.status = "done", .metric = made, .context = metrics};
    return cautions_find(&facts, cautions) == 1 ? cautions[0].text : "";
}

/* One who has a cache is not advised to add one. */
TEST(a_cache_without_hits_is_told_as_such)
{
    struct made_metric metrics[] = {{"session.new_tokens.sum", 50}, {"session.recomputed_tokens.sum", 50},
                                    {"session.hit_tokens.sum", 0}, {"session.loaded_tokens.sum", 0},
                                    {"sim.end_s", 9}, {0}};
    CHECK(strstr(caution_text(metrics), "prefix_cache") != NULL);
    metrics[4] = (struct made_metric){"prefix.hit_frac", 0};
    CHECK(strstr(caution_text(metrics), "prefix_cache") == NULL);
    CHECK(strstr(caution_text(metrics), "prefix caches had 0 % of what sessions repeat") != NULL);
    metrics[4] = (struct made_metric){"chunk.hit_tokens.sum", 0};
    CHECK_EQ_STR(caution_text(metrics), "");
}

TEST(a_growing_queue_is_told)
{
    const struct made_metric metrics[] = {{"request.arrived", 1000}, {0}};
    const struct verdict_trend services[] = {{"calm", {.is_saturated = false}}, {"full", {.is_saturated = true, .grows = true}}};
    const struct trend_growth jobs = {.is_saturated = true};
    const struct verdict_facts facts = {.status = "done", .n_services = 2, .services = services, .jobs = &jobs};
    CHECK_EQ_STR(cautions_of(metrics, facts), "saturated saturated");
}

/* n jobs, one every `gap_s`, of `run_s` on one GPU each: the load does not depend on how many there are. */
TEST(the_load_of_a_regular_stream_is_exact)
{
    for (int n = 20; n <= 2000; n *= 10) {
        const double gap_s = 50, run_s = 780;
        struct made_metric metrics[] = {{"cluster.gpus", 16}, {"job.gpu_s.sum", n * run_s},
                                        {"job.useful_gpu_s.sum", n * run_s}, {0}};
        const struct verdict_facts facts = {.status = "done", .metric = made, .context = metrics,
                                            .submissions = {.n = n, .last_s = (n - 1) * gap_s, .held_s = n * run_s}};
        CHECK_NEAR(verdict_load(&facts), run_s / gap_s / 16, 1e-12);
    }
}

TEST(a_load_of_jobs_above_the_capacity_is_told_whatever_waits_look_like)
{
    struct made_metric metrics[] = {
        {"cluster.gpus", 10}, {"cluster.gpus_in_use.mean", 7.5}, {"job.gpu_s.sum", 1500}, {"job.useful_gpu_s.sum", 1500},
        {"sim.end_s", 200}, {"job.makespan_s", 200}, {"job.unfinished", 0}, {"job.wait_gpu_s.sum", 0},
        {"job.wait_s.max", 50}, {"job.preemptions.sum", 0}, {0}, {0}, {0}};
    const struct trend_growth calm = {.left_frac = 0};
    struct verdict_facts facts = {.status = "done", .jobs = &calm, .metric = made, .context = metrics,
                                  .submissions = {.n = 20, .first_s = 0, .last_s = 95, .held_s = 200}};
    CHECK_NEAR(verdict_load(&facts), 1.5, 1e-12);
    CHECK_EQ_STR(cautions_of(metrics, facts), "saturated");
    check_verdict(metrics, facts,
                  "Jobs brought 1.5 times the GPU time that they could have while they were submitted.");
    metrics[1].value = 12.5; /* services hold 5 of the GPUs */
    CHECK_NEAR(verdict_load(&facts), 3, 1e-12);
    metrics[1].value = 7.5, metrics[3].value = 900; /* elastic jobs hold more than they need */
    CHECK_NEAR(verdict_load(&facts), 0.9, 1e-12);
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    metrics[7].value = 400; /* and need to load before they work */
    CHECK_NEAR(verdict_load(&facts), 1.3, 1e-12);
    CHECK_EQ_STR(cautions_of(metrics, facts), "saturated");
    metrics[9].value = 60; /* three in four starts are no first ones */
    CHECK_NEAR(verdict_load(&facts), 1, 1e-12);
    metrics[1].value = 15, metrics[9].value = 0; /* services hold GPUs that the scheduler ignores, and a few others */
    metrics[10] = (struct made_metric){"cluster.job_gpus", 9};
    metrics[11] = (struct made_metric){"cluster.job_gpus_in_use.mean", 8.5};
    CHECK_NEAR(verdict_load(&facts), 1300 / (8.0 * 100), 1e-12);
    metrics[1].value = 7.5;
    metrics[10] = (struct made_metric){0};
    metrics[8].value = 0; /* none waited */
    CHECK_EQ_STR(cautions_of(metrics, facts), "");
    check_verdict(metrics, facts, "");
    facts.submissions.n = 19;
    CHECK(isnan(verdict_load(&facts)));
    facts.submissions = (struct verdict_submissions){.n = 20, .last_s = 100, .held_s = 2001}; /* a burst */
    CHECK(isnan(verdict_load(&facts)));
}
