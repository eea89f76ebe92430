/* Requests of clients from a table: rates, burstiness and lengths are those of the rows, window by window. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#include <math.h>

static const char header[] =
    "model,client,window_start_s,rate_mean_rps,interarrival_cv,interarrival_family,input_mean,input_p1,"
    "input_p10,input_p25,input_p50,input_p75,input_p90,input_p99,output_mean,output_p1,output_p10,"
    "output_p25,output_p50,output_p75,output_p90,output_p99\n";

static const char *table(const char *rows)
{
    char text[4000];
    snprintf(text, sizeof text, "%s%s", header, rows);
    return trace_source_file("clients.csv", text);
}

#define LENGTHS "300,10,100,200,250,400,500,800,60,1,10,20,40,70,100,200\n"

struct gaps {
    int64_t n;
    double mean_s, cv, prompt_tokens, output_tokens;
};

static struct gaps read_gaps(const char *path, double from_s, double to_s)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    struct gaps gaps = {0};
    double last_s = -1, sum = 0, squares = 0;
    CHECK_EQ_INT(trace_source_requests(&trace, 1,
                                       "{'format': 'generate-clients', 'path': '%s', 'window_length': '1000s'}", path),
                 0);
    while (trace_source_request(&trace, &record) == 1) {
        const double at_s = sim_s_from_ns(record.arrival_ns);
        if (at_s < from_s || at_s >= to_s) continue;
        if (last_s >= 0) sum += at_s - last_s, squares += (at_s - last_s) * (at_s - last_s);
        last_s = at_s;
        gaps.n++;
        gaps.prompt_tokens += record.prompt_tokens;
        gaps.output_tokens += record.output_tokens;
    }
    const double n = (double)gaps.n - 1;
    gaps.mean_s = sum / n;
    gaps.cv = sqrt(squares / n - gaps.mean_s * gaps.mean_s) / gaps.mean_s;
    gaps.prompt_tokens /= (double)gaps.n;
    gaps.output_tokens /= (double)gaps.n;
    return gaps;
}

/* Means of 20,000 gaps are within 3 % (CV 2), their CV within 6 %; mean lengths within 3 %. */
TEST(a_client_has_its_rate_cv_and_lengths)
{
    const char *families[] = {"Gamma", "Weibull"};
    for (int i = 0; i < 2; i++) {
        char rows[600];
        snprintf(rows, sizeof rows, "m,0,0,20,2,%s," LENGTHS "m,0,1000,5,0.5,%s," LENGTHS, families[i], families[i]);
        const char *path = table(rows);
        struct gaps first = read_gaps(path, 0, 1000), second = read_gaps(path, 1000, 2000);
        CHECK_NEAR((double)first.n, 20000, 0.05 * 20000);
        CHECK_NEAR(first.mean_s, 1.0 / 20, 0.05 / 20);
        CHECK_NEAR(first.cv, 2, 0.15);
        CHECK_NEAR((double)second.n, 5000, 0.03 * 5000);
        CHECK_NEAR(second.cv, 0.5, 0.03);
        CHECK_NEAR(first.prompt_tokens, 300, 0.03 * 300);
        CHECK_NEAR(first.output_tokens, 60, 0.05 * 60);
    }
}

TEST(clients_add_up_and_missing_lengths_are_filled)
{
    const char *path = table("m,0,0,10,1,Gamma," LENGTHS
                             "m,1,0,30,1,Gamma,,,,,,,,,,,,,,,,\nother,2,0,1000,1,Gamma," LENGTHS);
    SCOPED(trace_source) trace = {0};
    CHECK_EQ_INT(
        trace_source_requests(&trace, 1,
                              "{'format': 'generate-clients', 'path': '%s', 'model': 'm', 'window_length': '1000s',"
                              " 'scale': 0.5}",
                              path),
        0);
    const struct trace_totals totals = trace_source_totals(&trace);
    CHECK(totals.ordered && totals.code == 0);
    CHECK_NEAR((double)totals.n, 20000, 5 * sqrt(20000));
    CHECK_NEAR((double)totals.prompt_tokens / (double)totals.n, 300, 0.03 * 300);
    CHECK_EQ_INT(trace_source_note(&trace, "no-lengths"), 1);
}

TEST(wrong_tables_are_refused)
{
    static const struct {
        const char *rows, *message;
    } cases[] = {{"m,0,0,10,1,Gamma,300,10,100,90,250,400,500,800,60,1,10,20,40,70,100,200\n", "quantiles must not fall"},
                 {"m,0,0,10,1,Weird," LENGTHS, "'interarrival_family' must be Gamma or Weibull"},
                 {"m,0,0,x,1,Gamma," LENGTHS, "'rate_mean_rps' must be a number"},
                 {"m,0,0,1,1,Gamma,,,,,,,,,,,,,,,,\n", "no client has lengths"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        CHECK_EQ_INT(
            trace_source_requests(&trace, 1, "{'format': 'generate-clients', 'path': '%s'}", table(cases[i].rows)),
            SIM_E_DATA);
        test_check(strstr(trace.message, cases[i].message) != NULL, trace.message, __FILE__, __LINE__);
    }
}

static int64_t count_clients(const char *rows)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    int64_t n = 0;
    CHECK_EQ_INT(trace_source_requests(
                     &trace, 1, "{'format': 'generate-clients', 'path': '%s', 'window_length': '1000s'}", table(rows)),
                 0);
    while (trace_source_request(&trace, &record) == 1) n++;
    return n;
}

/* Names of clients are those of one model. */
TEST(clients_of_two_models_add_up)
{
    const int64_t one = count_clients("a,0,0,10,1,Gamma," LENGTHS),
                  both = count_clients("a,0,0,10,1,Gamma," LENGTHS "b,0,0,20,1,Gamma," LENGTHS);
    CHECK_NEAR((double)one, 10000, 500);
    CHECK_NEAR((double)both, 30000, 1000);
}

/* 100 s at 10/s, then 1000 s at 50/s: the first window does not go on beside the second. */
TEST(a_window_ends_where_the_next_begins)
{
    const int64_t n = count_clients("m,0,100,50,1,Gamma," LENGTHS "m,0,0,10,1,Gamma," LENGTHS);
    CHECK_NEAR((double)n, 51000, 1500);
    SCOPED(trace_source) trace = {0};
    const char *twice = table("m,0,0,1,1,Gamma," LENGTHS "m,0,0,5,1,Gamma," LENGTHS);
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'generate-clients', 'path': '%s'}", twice), SIM_E_DATA);
}
