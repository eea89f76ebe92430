/* Generated traces have the statistics that were asked for, within sampling error (4.5 standard errors: one false alarm
 * in 150,000 checks), for every seed. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/stat.h"

enum { N_SEEDS = 4 };

#define SIGMAS 4.5

static struct trace_stat stat_of(uint64_t seed, const char *json)
{
    SCOPED(trace_source) trace = {0};
    struct trace_stat stat = {0};
    if (trace_source_requests(&trace, seed, "%s", json) == 0) trace_stat_requests(trace.requests, &stat, &trace.diag);
    CHECK_EQ_STR(trace.message, "");
    return stat;
}

/* `hits` of `n` are what a probability of `p` allows. */
static void check_share(int64_t hits, int64_t n, double p, const char *what)
{
    char text[256];
    double share = (double)hits / (double)n, error = SIGMAS * sqrt(p * (1 - p) / (double)n) + 1e-9;
    snprintf(text, sizeof text, "%s: share %.5f, expected %.5f +- %.5f", what, share, p, error);
    test_check(fabs(share - p) <= error, text, __FILE__, __LINE__);
}

/* --- arrivals --- */

#define LENGTHS "'prompt': {'distribution': 'fixed', 'tokens': 1}, 'output': {'distribution': 'fixed', 'tokens': 1}"
#define ARRIVALS(duration, process)                                                                                    \
    "{'format': 'generate', 'duration': '" duration "', " LENGTHS ", 'arrival': " process "}"

/* Mean rate, gap CV and dispersion; counts of a process with dispersion I vary I times as much as Poisson's. An IDC
 * over w windows has a relative standard error of sqrt(2 / w), a little more where windows depend on each other. */
static void check_process(const char *json, double duration_s, double rate_per_s, double gap_cv, const double *idc,
                          double correlation_s)
{
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        struct trace_stat stat = stat_of(seed, json);
        double most = idc[TRACE_STAT_WINDOWS - 1];
        CHECK_NEAR((double)stat.n, rate_per_s * duration_s, SIGMAS * sqrt(1.1 * most * rate_per_s * duration_s));
        if (gap_cv > 0) CHECK_NEAR(stat.gap_cv, gap_cv, gap_cv * 0.02);
        for (int i = 0; i < TRACE_STAT_WINDOWS; i++) {
            double n_windows = duration_s / fmax(trace_stat_window_s[i], correlation_s);
            CHECK_NEAR(stat.idc[i], idc[i], idc[i] * SIGMAS * sqrt(2 / n_windows));
        }
    }
}

TEST(poisson_arrivals)
{
    static const double idc[] = {1, 1, 1, 1};
    check_process(ARRIVALS("30000s", "{'process': 'poisson', 'rate': '5/s'}"), 30000, 5, 1, idc, 0);
}

/* A renewal process of gap CV c has an IDC that tends to c^2 over windows much longer than its gaps. */
TEST_OPTIMISED(gamma_arrivals)
{
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        struct trace_stat bursty = stat_of(seed, ARRIVALS("30000s", "{'process': 'gamma', 'rate': '20/s', 'cv': 2}"));
        CHECK_NEAR((double)bursty.n, 600000, SIGMAS * 2 * sqrt(600000));
        CHECK_NEAR(bursty.gap_cv, 2, 0.04);
        CHECK_NEAR(bursty.idc[2], 4, 4 * SIGMAS * sqrt(2 / 500.0));
        struct trace_stat even = stat_of(seed, ARRIVALS("30000s", "{'process': 'gamma', 'rate': '20/s', 'cv': 0.5}"));
        CHECK_NEAR((double)even.n, 600000, SIGMAS * 0.5 * sqrt(600000));
        CHECK_NEAR(even.gap_cv, 0.5, 0.01);
        CHECK_NEAR(even.idc[2], 0.25, 0.25 * SIGMAS * sqrt(2 / 500.0));
    }
}

TEST(fixed_arrivals_are_exact)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    MUST(trace_source_requests(&trace, 1, ARRIVALS("1000s", "{'process': 'fixed', 'rate': '3/s'}")) == 0);
    for (int64_t i = 0; i < 3000; i++) {
        CHECK_EQ_INT(trace_source_request(&trace, &record), 1);
        CHECK_EQ_INT(record.arrival_ns, (i * SIM_NS_PER_S + (i % 3 == 2)) / 3); /* rounded to the nearest */
    }
    CHECK_EQ_INT(trace_source_request(&trace, &record), 0);
}

/* Two states (Heffes and Lucantoni, IEEE JSAC 1986, eq. 12): leaving them at s1, s2, with rates r1, r2,
 * IDC(t) = 1 + 2 s1 s2 (r1 - r2)^2 / ((s1 + s2)^2 (r1 s2 + r2 s1)) * (1 - (1 - exp(-(s1 + s2) t)) / ((s1 + s2) t)). */
TEST(mmpp_arrivals)
{
    double s1 = 1.0 / 2, s2 = 1.0 / 6, r1 = 12, r2 = 2, s = s1 + s2, idc[TRACE_STAT_WINDOWS];
    double swing = 2 * s1 * s2 * (r1 - r2) * (r1 - r2) / (s * s * (r1 * s2 + r2 * s1));
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) {
        double t = s * trace_stat_window_s[i];
        idc[i] = 1 + swing * (1 - (1 - exp(-t)) / t);
    }
    check_process(ARRIVALS("60000s", "{'process': 'mmpp', 'states': [{'rate': '12/s', 'dwell': '2s'},"
                                     " {'rate': '2/s', 'dwell': '6s'}]}"),
                  60000, (r1 * s2 + r2 * s1) / s, 0, idc, 1 / s);
}

TEST(a_silent_mmpp_state_has_no_arrivals)
{
    struct trace_stat stat = stat_of(5, ARRIVALS("100000s",
                                                 "{'process': 'mmpp', 'states': [{'rate': '10/s', 'dwell': '1s'},"
                                                 " {'rate': '0/s', 'dwell': '3s'}, {'rate': '0/s', 'dwell': '1s'}]}"));
    CHECK_NEAR(stat.rate_per_s, 2, 0.2);
}

TEST(modulated_arrivals)
{
    double idc[TRACE_STAT_WINDOWS];
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) {
        double t = trace_stat_window_s[i];
        idc[i] = 1 + 2 * 0.16 * 10 * 20 * (1 - (1 - exp(-t / 20)) / (t / 20)) +
                 2 * 0.09 * 10 * 0.5 * (1 - (1 - exp(-t / 0.5)) / (t / 0.5));
    }
    check_process(ARRIVALS("60000s", "{'process': 'modulated', 'rate': '10/s', 'modulators': ["
                                     "{'amplitude': 0.4, 'time': '20s'}, {'amplitude': 0.3, 'time': '500ms'}]}"),
                  60000, 10, 0, idc, 20);
}

/* The share of the arrivals in each of the 24 hours, over whole weeks. */
static void check_hours(const char *json, const double *hours)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    int64_t n = 0, counts[24] = {0};
    double sum = 0;
    MUST(trace_source_requests(&trace, 7, "%s", json) == 0);
    for (; trace_source_request(&trace, &record) == 1; n++) counts[record.arrival_ns / (3600 * SIM_NS_PER_S) % 24]++;
    for (int i = 0; i < 24; i++) sum += hours[i];
    for (int i = 0; i < 24; i++) check_share(counts[i], n, hours[i] / sum, "hour of the day");
    CHECK_NEAR((double)n, 14 * 86400 * 0.2, SIGMAS * sqrt(14 * 86400 * 0.2));
}

TEST(diurnal_arrivals_follow_the_hours)
{
    double wave[24], table[24];
    for (int i = 0; i < 24; i++) {
        table[i] = 1 + i % 5;
        wave[i] = 1 + 0.8 * 24 / 6.283185307179586 *
                          (sin(6.283185307179586 * (i + 1 - 15) / 24) - sin(6.283185307179586 * (i - 15) / 24));
    }
    check_hours(ARRIVALS("14d", "{'process': 'diurnal', 'rate': '0.2/s', 'amplitude': 0.8, 'peak_hour': 15}"), wave);
    check_hours(ARRIVALS("14d", "{'process': 'diurnal', 'rate': '0.2/s', 'hours':"
                                " [1,2,3,4,5,1,2,3,4,5,1,2,3,4,5,1,2,3,4,5,1,2,3,4]}"),
                table);
}

TEST(diurnal_arrivals_follow_the_week)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    int64_t n = 0, counts[7] = {0};
    MUST(trace_source_requests(&trace, 7,
                               ARRIVALS("28d", "{'process': 'diurnal', 'rate': '0.1/s', 'amplitude': 0, 'start_day':"
                                               " 'friday', 'weekdays': [0, 2, 0, 0, 3, 4, 1]}")) == 0);
    for (; trace_source_request(&trace, &record) == 1; n++) counts[record.arrival_ns / (86400 * SIM_NS_PER_S) % 7]++;
    static const double from_friday[] = {3, 4, 1, 0, 2, 0, 0};
    for (int i = 0; i < 7; i++) check_share(counts[i], n, from_friday[i] / 10, "day of the week");
}

/* 2 of the 168 hours of a week have a rate: arrivals are in these alone, in the right number. */
TEST(diurnal_arrivals_pass_over_idle_hours)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    int64_t n = 0, on_tuesday = 0, on_sunday = 0;
    const double mean = 8 * 7 * 86400 * 0.1;
    MUST(trace_source_requests(&trace, 7,
                               ARRIVALS("56d", "{'process': 'diurnal', 'rate': '0.1/s', 'start_day': 'friday',"
                                               " 'start_hour': 22.5, 'weekdays': [0, 2, 0, 0, 0, 0, 3], 'hours':"
                                               " [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}")) == 0);
    for (; trace_source_request(&trace, &record) == 1; n++) {
        const int64_t hour = (record.arrival_ns / SIM_NS_PER_S + (4 * 24 + 22) * 3600 + 1800) / 3600 % (7 * 24);
        on_tuesday += hour == 1 * 24 + 23;
        on_sunday += hour == 6 * 24 + 23;
    }
    CHECK_EQ_INT(on_tuesday + on_sunday, n);
    CHECK_NEAR((double)on_tuesday, 0.4 * mean, SIGMAS * sqrt(0.4 * mean));
    CHECK_NEAR((double)on_sunday, 0.6 * mean, SIGMAS * sqrt(0.6 * mean));
}

/* The clock jumps: at this rate a candidate for each second of the idle week would take hours. */
TEST(idle_hours_take_no_time)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    MUST(trace_source_requests(&trace, 7,
                               "{'format': 'generate', 'count': 30, " LENGTHS ", 'arrival': {'process':"
                               " 'diurnal', 'rate': '1000/s', 'weekdays': [0, 0, 0, 0, 0, 0, 1],"
                               " 'hours': [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}}") == 0);
    for (int i = 0; i < 30; i++) {
        CHECK_EQ_INT(trace_source_request(&trace, &record), 1);
        CHECK_NEAR(sim_s_from_ns(record.arrival_ns), (6 * 24 + 23) * 3600, 1);
    }
}

/* In quiet hours the clock jumps too: at this rate a candidate for each second would take hours. */
TEST(quiet_hours_take_no_time)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    MUST(trace_source_requests(&trace, 7,
                               "{'format': 'generate', 'count': 30, " LENGTHS ", 'arrival': {'process':"
                               " 'diurnal', 'rate': '1000/s', 'amplitude': 1, 'peak_hour': 12,"
                               " 'weekdays': [1e-12, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12, 1]}}") == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &record), 1);
    CHECK(record.arrival_ns > 6 * 86400 * SIM_NS_PER_S);
    trace_source_fini(&trace);
    MUST(trace_source_requests(&trace, 7,
                               "{'format': 'generate', 'count': 30, " LENGTHS ", 'arrival': {'process':"
                               " 'diurnal', 'rate': '1e6/s', 'start_hour': 0.3, 'hours': [1e-15,1e-15,1e-15,1e-15,"
                               "1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,1e-15,"
                               "1e-15,1e-15,1e-15,1e-15,1e-15,1]}}") == 0);
    for (int i = 0; i < 30; i++) {
        CHECK_EQ_INT(trace_source_request(&trace, &record), 1);
        CHECK_NEAR(sim_s_from_ns(record.arrival_ns), (23 - 0.3) * 3600, 1);
    }
}

/* Quiet hours, in a table or of a wave on a quiet day, have their share of the arrivals. */
TEST(quiet_hours_have_their_arrivals)
{
    static const char *const arrivals[] = {
        ARRIVALS("1d", "{'process': 'diurnal', 'rate': '2/s', 'start_hour': 0.7, 'hours':"
                       " [4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,100000]}"),
        ARRIVALS("6d", "{'process': 'diurnal', 'rate': '2/s', 'amplitude': 1, 'weekdays': [4, 4, 4, 4, 4, 4, 24976]}")};
    static const double expected[] = {2 * 86400 * 92 / 100092.0, 2 * 7 * 86400 * 24 / 25000.0};
    for (size_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++) {
        SCOPED(trace_source) trace = {0};
        struct request_record record;
        int64_t n = 0, late = 0;
        MUST(trace_source_requests(&trace, 7, "%s", arrivals[i]) == 0);
        while (trace_source_request(&trace, &record) == 1) {
            const int64_t day_s = (record.arrival_ns / SIM_NS_PER_S + (i == 0 ? 2520 : 0)) % 86400;
            if (i == 0 && day_s >= 23 * 3600) continue;
            n++;
            late += day_s >= (i == 0 ? 11 * 3600 + 1800 : 14 * 3600);
        }
        CHECK_NEAR((double)n, expected[i], SIGMAS * sqrt(expected[i]));
        CHECK_NEAR((double)late, 0.5 * expected[i], SIGMAS * sqrt(0.5 * expected[i]));
    }
}

/* --- closed loop --- */

struct user_end {
    sim_ns time_ns;
    int64_t id;
};

/* Every request takes `service_ns`, however many there are. The interactive response time law: with U users, response
 * time R and think time Z, the throughput is U / (R + Z). */
static void check_closed_loop(const char *distribution, int users, double think_s, double service_s)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    struct user_end *ends = calloc((size_t)users, sizeof *ends);
    int n_active = 0;
    int64_t n = 0, n_more = 0, last_id = -1;
    sim_ns last_ns = 0;
    bool ordered = true, in_time = true;
    MUST(trace_source_requests(&trace, 3,
                               "{'format': 'generate', 'count': 20000, " LENGTHS ", 'arrival': {'process': 'closed',"
                               " 'users': %d, 'think': '%gs', 'think_distribution': '%s'}}",
                               users, think_s, distribution) == 0);
    MUST(trace.requests->follow != NULL);
    while (trace_source_request(&trace, &record) == 1) {
        MUST(n_active < users);
        ordered &= record.arrival_ns >= last_ns;
        last_ns = record.arrival_ns;
        ends[n_active++] = (struct user_end){record.arrival_ns + sim_ns_from_s(service_s), record.id};
        n++;
    }
    CHECK_EQ_INT(n, users);
    while (n_active > 0) {
        int first = 0;
        for (int i = 1; i < n_active; i++) {
            if (ends[i].time_ns < ends[first].time_ns) first = i;
        }
        struct user_end end = ends[first];
        last_ns = end.time_ns;
        ends[first] = ends[--n_active];
        const struct request_end of = {.id = end.id, .now_ns = end.time_ns, .is_answered = true};
        int more = trace.requests->follow(trace.requests, &of, &record, &trace.diag);
        if (more != 1) continue;
        in_time &= record.arrival_ns >= end.time_ns && record.id > last_id;
        last_id = record.id;
        ends[n_active++] = (struct user_end){record.arrival_ns + sim_ns_from_s(service_s), record.id};
        n_more++;
    }
    CHECK(ordered && in_time);
    CHECK_EQ_INT(n + n_more, 20000);
    double cycles = 20000.0 / users, cycle_s = think_s + service_s;
    CHECK_NEAR(sim_s_from_ns(last_ns), cycles * cycle_s, cycle_s * 2 + SIGMAS * think_s * sqrt(cycles));
    free(ends);
}

TEST(a_closed_loop_obeys_the_response_time_law)
{
    check_closed_loop("exponential", 10, 2, 0.5);
    check_closed_loop("fixed", 10, 2, 0.5);
    check_closed_loop("exponential", 1, 0, 0.25);
}

/* --- lengths --- */

/* Draws 100,000 prompts and counts those of at most each of `tokens`. */
static void check_lengths(const char *distribution, size_t n_points, const double *tokens, const double *cdf_frac)
{
    enum { COUNT = 100000 };
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        SCOPED(trace_source) trace = {0};
        struct request_record record;
        int64_t hits[16] = {0};
        MUST(trace_source_requests(&trace, seed,
                                   "{'format': 'generate', 'count': %d, 'arrival': {'process': 'fixed', 'rate': '1/s'},"
                                   " 'output': {'distribution': 'fixed', 'tokens': 1}, 'prompt': %s}",
                                   COUNT, distribution) == 0);
        while (trace_source_request(&trace, &record) == 1) {
            for (size_t i = 0; i < n_points; i++) hits[i] += record.prompt_tokens <= tokens[i];
        }
        for (size_t i = 0; i < n_points; i++) check_share(hits[i], COUNT, cdf_frac[i], distribution);
    }
}

static double lognormal_cdf(double x, double mean, double cv)
{
    double variance = log1p(cv * cv), mu = log(mean) - variance / 2;
    return erfc(-(log(x) - mu) / sqrt(2 * variance)) / 2;
}

TEST(lengths_have_their_distributions)
{
    check_lengths("{'distribution': 'fixed', 'tokens': 7}", 2, (double[]){6, 7}, (double[]){0, 1});
    check_lengths("{'distribution': 'uniform', 'min': 3, 'max': 12}", 4, (double[]){2, 3, 7, 12},
                  (double[]){0, 0.1, 0.5, 1});
    check_lengths("{'distribution': 'lognormal', 'mean': 1000, 'cv': 1.5, 'min': 10, 'max': 20000}", 6,
                  (double[]){9, 10, 300, 1000, 5000, 20000},
                  (double[]){0, lognormal_cdf(10.5, 1000, 1.5), lognormal_cdf(300.5, 1000, 1.5),
                             lognormal_cdf(1000.5, 1000, 1.5), lognormal_cdf(5000.5, 1000, 1.5), 1});
    check_lengths("{'distribution': 'mixture', 'components': ["
                  "{'weight': 3, 'length': {'distribution': 'fixed', 'tokens': 5}},"
                  "{'length': {'distribution': 'mixture', 'components': ["
                  "{'length': {'distribution': 'fixed', 'tokens': 50}},"
                  "{'length': {'distribution': 'fixed', 'tokens': 70}}]}}]}",
                  4, (double[]){4, 5, 50, 70}, (double[]){0, 0.75, 0.875, 1});
    check_lengths("{'distribution': 'empirical', 'points': [{'tokens': 10, 'cdf': 0.2}, {'tokens': 110, 'cdf': 0.7},"
                  " {'tokens': 111, 'cdf': 0.9}, {'tokens': 511, 'cdf': 1}]}",
                  6, (double[]){9, 10, 60, 110, 111, 311}, (double[]){0, 0.2, 0.45, 0.7, 0.9, 0.95});
}

/* --- request mixes --- */

struct known_lengths {
    double mean, cv;
    int32_t quantiles[TRACE_STAT_QUANTILES];
};

/* Lines between points follow the trace's distribution function to 0.005; the rest is sampling. */
static void check_known(const char *json, uint64_t seed, bool output, const struct known_lengths *known)
{
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    int64_t n = 0, at_most[TRACE_STAT_QUANTILES] = {0}, below[TRACE_STAT_QUANTILES] = {0};
    double sum = 0, squares = 0;
    MUST(trace_source_requests(&trace, seed, "%s", json) == 0);
    for (; trace_source_request(&trace, &r) == 1; n++) {
        int32_t tokens = output ? r.output_tokens : r.prompt_tokens;
        for (int i = 0; i < TRACE_STAT_QUANTILES; i++) {
            at_most[i] += tokens <= known->quantiles[i];
            below[i] += tokens < known->quantiles[i];
        }
        sum += tokens;
        squares += (double)tokens * tokens;
    }
    for (int i = 0; i < TRACE_STAT_QUANTILES; i++) {
        double p = trace_stat_quantile_frac[i], error = 0.005 + SIGMAS * sqrt(p * (1 - p) / (double)n);
        CHECK((double)at_most[i] / (double)n >= p - error && (double)below[i] / (double)n <= p + error);
    }
    double mean = sum / (double)n, cv = sqrt(squares / (double)n - mean * mean) / mean;
    CHECK_NEAR(mean, known->mean, known->mean * (0.005 + SIGMAS * known->cv / sqrt((double)n)));
    CHECK_NEAR(cv, known->cv, 0.02 * known->cv);
}

TEST_OPTIMISED(the_azure_mix_is_like_the_trace)
{
    static const struct known_lengths prompt = {1155, 0.96, {181, 396, 1020, 1189, 2735, 4083, 4142}};
    static const struct known_lengths output = {211, 0.77, {41, 85, 129, 395, 424, 451, 601}};
    static const double idc[] = {1.39, 3.86, 16.1, 56.1};
    static const char json[] = "{'format': 'generate', 'mix': 'azure-conversation', 'duration': '60000s'}";
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        struct trace_stat stat = stat_of(seed, json);
        check_known(json, seed, false, &prompt);
        check_known(json, seed, true, &output);
        CHECK_NEAR((double)stat.n, 5.53 * 60000, SIGMAS * sqrt(70 * 5.53 * 60000));
        CHECK_NEAR(stat.gap_cv, 1.09, 0.03);
        for (int i = 0; i < TRACE_STAT_WINDOWS; i++) {
            double n_windows = 60000 / fmax(trace_stat_window_s[i], 240);
            CHECK_NEAR(stat.idc[i], idc[i], idc[i] * (0.01 + SIGMAS * sqrt(2 / n_windows)));
        }
        CHECK_NEAR(stat.rank_correlation, 0, SIGMAS / sqrt(TRACE_STAT_SAMPLE));
    }
}

TEST(the_mooncake_mix_is_like_the_trace)
{
    static const struct known_lengths prompt = {12035, 1.31, {901, 2307, 6909, 15367, 27367, 39551, 85400}};
    static const struct known_lengths output = {343, 0.73, {10, 157, 350, 472, 597, 698, 1119}};
    static const char json[] = "{'format': 'generate', 'mix': 'mooncake-conversation', 'duration': '60000s'}";
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        check_known(json, seed, false, &prompt);
        check_known(json, seed, true, &output);
        CHECK_NEAR((double)stat_of(seed, json).n, 3.4 * 60000, SIGMAS * sqrt(10 * 3.4 * 60000));
    }
}

/* Against the public file itself: at every length the two distribution functions differ by at most 0.005, the distance
 * of the lines between points, and the critical distance of Kolmogorov and Smirnov at 0.1 %. */
TEST(the_azure_mix_is_close_to_the_file)
{
    const char *path = test_shared("request_traces/azure_llm_2023_conversation.csv");
    if (path == NULL) return;
    enum { MOST = 16384, COUNT = 100000 };
    static double file_cdf[2][MOST], made_cdf[2][MOST];
    for (int made = 0; made < 2; made++) {
        SCOPED(trace_source) trace = {0};
        struct request_record record;
        double(*cdf)[MOST] = made ? made_cdf : file_cdf, n = 0;
        if (made) MUST(trace_source_requests(&trace, 8, "{'format': 'generate', 'count': %d}", COUNT) == 0);
        if (!made) MUST(trace_source_requests(&trace, 8, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
        for (; trace_source_request(&trace, &record) == 1; n++) {
            cdf[0][record.prompt_tokens]++;
            cdf[1][record.output_tokens]++;
        }
        for (int kind = 0; kind < 2; kind++) {
            for (int i = 0; i < MOST; i++) cdf[kind][i] = cdf[kind][i] / n + (i > 0 ? cdf[kind][i - 1] : 0);
        }
    }
    for (int kind = 0; kind < 2; kind++) {
        double distance = 0;
        for (int i = 0; i < MOST; i++) distance = fmax(distance, fabs(file_cdf[kind][i] - made_cdf[kind][i]));
        CHECK_NEAR(distance, 0, 0.005 + 1.95 / sqrt(COUNT));
    }
}

TEST(streams_do_not_disturb_each_other)
{
    struct trace_source a, b, c;
    struct request_record x, y, z;
    MUST(trace_source_requests(&a, 1, "{'format': 'generate', 'count': 500}") == 0);
    MUST(trace_source_requests(
             &b, 1, "{'format': 'generate', 'count': 500, 'output': {'distribution': 'lognormal', 'mean': 9}}") == 0);
    MUST(trace_source_requests(&c, 2, "{'format': 'generate', 'count': 500}") == 0);
    int64_t different = 0;
    while (trace_source_request(&a, &x) == 1) {
        MUST(trace_source_request(&b, &y) == 1 && trace_source_request(&c, &z) == 1);
        CHECK(x.arrival_ns == y.arrival_ns && x.prompt_tokens == y.prompt_tokens);
        different += x.arrival_ns != z.arrival_ns && x.prompt_tokens != z.prompt_tokens;
    }
    CHECK(different > 450);
    trace_source_fini(&a);
    trace_source_fini(&b);
    trace_source_fini(&c);
}

/* --- sessions --- */

/* Blocks are named in order of appearance, so every prompt is a prefix of an earlier one, then new. */
TEST(prompts_share_prefixes_of_earlier_ones)
{
    enum { COUNT = 4000, SYSTEM = 2 };
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    uint64_t next_id = SYSTEM;
    int64_t n_shared = 0;
    uint64_t *after = calloc(1 << 20, sizeof *after); /* the block that followed each block first, and its place */
    bool ok = true;
    MUST(trace_source_requests(&trace, 3,
                               "{'format': 'generate', 'mix': 'mooncake-conversation', 'count': %d, 'sessions':"
                               " {'continue': 0.6, 'system_blocks': %d, 'block_tokens': 512}}",
                               COUNT, SYSTEM) == 0);
    while (trace_source_request(&trace, &r) == 1) {
        int32_t i = 0;
        ok &= r.n_prefix_blocks == (r.prompt_tokens + 511) / 512;
        for (; i < r.n_prefix_blocks && r.prefix_blocks[i] < next_id; i++) {
            if (i < SYSTEM) ok &= r.prefix_blocks[i] == (uint64_t)i;
            if (i > SYSTEM) ok &= after[r.prefix_blocks[i]] == r.prefix_blocks[i - 1];
        }
        n_shared += i > SYSTEM;
        for (; i < r.n_prefix_blocks; i++) {
            ok &= r.prefix_blocks[i] == next_id && next_id < 1 << 20;
            if (i > 0) after[next_id] = r.prefix_blocks[i - 1];
            next_id++;
        }
    }
    CHECK(ok);
    CHECK(n_shared * 3 > COUNT && n_shared * 100 < COUNT * 62);
    free(after);
}

TEST(generated_traces_need_an_end_and_sound_parameters)
{
    SCOPED(trace_source) trace;
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'generate'}"), SIM_E_CONFIG);
    CHECK_EQ_STR(trace.message, "services.chat.trace: error: a generated trace needs an end; write \"count\": 1000, or "
                                "\"duration\": \"1h\"");
    trace_source_fini(&trace);
    static const char *const bad[] = {
        "'prompt': {'distribution': 'uniform', 'min': 5, 'max': 4}",
        "'prompt': {'distribution': 'empirical', 'points': [{'tokens': 5, 'cdf': 0.5}]}",
        "'prompt': {'distribution': 'empirical', 'points': [{'tokens': 5, 'cdf': 0.5}, {'tokens': 4, 'cdf': 1}]}",
        "'prompt': {'distribution': 'mixture', 'components': []}",
        "'prompt': {'distribution': 'mixture', 'components': [{'length': {'distribution': 'uniform', 'min': 5, 'max': 4}}]}",
        "'arrival': {'process': 'mmpp', 'states': [{'rate': '1/s', 'dwell': '1s'}]}",
        "'arrival': {'process': 'mmpp', 'states': [{'rate': '0/s', 'dwell': '1s'}, {'rate': '0/s', 'dwell': '1s'}]}",
        "'arrival': {'process': 'modulated', 'rate': '1/s', 'modulators': [{'amplitude': 1, 'time': '1s'}]}",
        "'arrival': {'process': 'mmpp', 'states': [{'rate': '1e-9/s', 'dwell': '1us'}, {'rate': '0/s', 'dwell': '1s'}]}",
        "'arrival': {'process': 'modulated', 'rate': '1e-9/s', 'modulators': [{'amplitude': 0.5, 'time': '1us'}]}",
        "'arrival': {'process': 'diurnal', 'rate': '1/s', 'hours': [1, 2]}",
        "'arrival': {'process': 'poisson', 'rate': '0/s'}",
        "'arrival': {'process': 'poisson'}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 5, %s}", bad[i]), SIM_E_CONFIG);
        CHECK(trace.message[0] != 0);
        trace_source_fini(&trace);
    }
}
