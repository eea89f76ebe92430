/* Queueing theory through the whole world: trace file, arrival events, policies, metrics.
 *
 * Jobs of one GPU on c GPUs under FIFO are M/M/c; a replica that serves one request at a time is M/D/1 or M/G/1. The
 * mean wait over independent replications must lie within a 99 % confidence interval of the closed form. Seeds are
 * fixed. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>

enum { REPLICATIONS = 24, CUSTOMERS = 8000 };

struct queue_model {
    const char *name;
    double arrival_per_s;
    double (*service_s)(struct rng *rng); /* one draw, as the trace will state it */
    void (*write_row)(FILE *file, int id, double arrival_s, double service_s);
    const char *header, *scenario; /* %s: path of the trace */
    const char *metric;            /* mean wait */
    double expected_wait_s;
};

/* Waits of one run; arrivals and service times have streams of their own. */
static double run_once(const struct queue_model *model, uint64_t seed)
{
    char path[512];
    struct rng arrivals, services;
    rng_init(&arrivals, seed, 0, "arrivals", 0);
    rng_init(&services, seed, 0, "services", 0);
    snprintf(path, sizeof path, "%s/trace.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (!CHECK(file != NULL)) return 0;
    fprintf(file, "%s\n", model->header);
    double now_s = 0;
    for (int i = 0; i < CUSTOMERS; i++) {
        now_s += rng_exponential(&arrivals, 1 / model->arrival_per_s);
        model->write_row(file, i, now_s, model->service_s(&services));
    }
    fclose(file);
    struct bed_rows *rows = bed_ok(NULL, model->scenario, path);
    double wait_s = bed_metric(rows, model->metric);
    bed_free(rows);
    return wait_s;
}

static void check_wait(const struct queue_model *model)
{
    double sum = 0, squares = 0;
    for (uint64_t seed = 1; seed <= REPLICATIONS; seed++) {
        double wait_s = run_once(model, seed);
        sum += wait_s;
        squares += wait_s * wait_s;
    }
    double mean = sum / REPLICATIONS, variance = (squares - sum * mean) / (REPLICATIONS - 1);
    double half = gsl_cdf_tdist_Pinv(0.995, REPLICATIONS - 1) * sqrt(variance / REPLICATIONS);
    CHECK_NEAR(mean, model->expected_wait_s, half);
    CHECK(half < 0.15 * model->expected_wait_s); /* the interval says something */
}

/* --- Jobs: M/M/c --- */

static double exponential_60_s(struct rng *rng)
{
    return rng_exponential(rng, 60);
}

static void write_job(FILE *file, int id, double arrival_s, double service_s)
{
    fprintf(file, "%d,%.9f,%.9f,1\n", id, arrival_s, service_s);
}

/* Erlang C: mean wait in M/M/c. */
static double erlang_wait_s(int servers, double arrival_per_s, double service_s)
{
    double load = arrival_per_s * service_s, term = 1, sum = 0;
    for (int k = 0; k < servers; k++) {
        sum += term;
        term *= load / (k + 1);
    }
    double last = term * servers / (servers - load);
    return last / (sum + last) * service_s / (servers - load);
}

static void check_jobs(int gpus)
{
    char scenario[1024];
    snprintf(scenario, sizeof scenario,
             "{'cluster': {'nodes': 1, 'gpus_per_node': %d}, 'warmup': '3h', 'jobs': {'scheduler': 'fifo',"
             " 'placement': 'counted', 'trace': {'format': 'csv-jobs', 'path': '%%s', 'columns': {'id': 'id',"
             " 'submit': 'submit', 'duration': 'duration', 'gpus': 'gpus'}}}}",
             gpus);
    double arrival_per_s = 0.7 * gpus / 60;
    struct queue_model model = {.name = "M/M/c", .arrival_per_s = arrival_per_s, .service_s = exponential_60_s,
                                .write_row = write_job, .header = "id,submit,duration,gpus", .scenario = scenario,
                                .metric = "job.queue_s.mean",
                                .expected_wait_s = erlang_wait_s(gpus, arrival_per_s, 60)};
    check_wait(&model);
}

TEST_OPTIMISED(jobs_on_one_gpu_are_mm1)
{
    CHECK_NEAR(erlang_wait_s(1, 0.7 / 60, 60), 0.7 / 0.3 * 60, 1e-9);
    check_jobs(1);
}

TEST_OPTIMISED(jobs_on_eight_gpus_are_mm8)
{
    check_jobs(8);
}

/* --- Requests, one at a time: M/D/1 and M/G/1 --- */

static const char one_at_a_time[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'warmup': '100s',"
    " 'services': {'queue': {'llm': 'llama-3.1-8b', 'kv': {'blocks': 100000}, 'batching': {'policy': 'vllm-v0',"
    " 'max_sequences': 1}, 'cost': {'kind': 'affine', 'prefill': {'per_token': '1ms'}, 'decode': {'fixed': '1ms'}},"
    " 'trace': {'format': 'csv', 'path': '%s'}}}}";

static double always_100_tokens(struct rng *rng)
{
    (void)rng;
    return 100;
}

static double lognormal_tokens(struct rng *rng)
{
    gsl_rng gsl = rng_gsl(rng);
    double tokens = ceil(gsl_ran_lognormal(&gsl, 4.2, 0.8));
    return tokens < 10000 ? tokens : 10000;
}

static void write_request(FILE *file, int id, double arrival_s, double tokens)
{
    (void)id;
    fprintf(file, "%.9f,%.0f,1\n", arrival_s, tokens);
}

/* Pollaczek and Khinchine: mean wait from the first two moments of the service time. */
static double pollaczek_khinchine_s(double arrival_per_s, double first_s, double second_s2)
{
    return arrival_per_s * second_s2 / (2 * (1 - arrival_per_s * first_s));
}

TEST_OPTIMISED(requests_of_one_length_are_md1)
{
    struct queue_model model = {.name = "M/D/1", .arrival_per_s = 7, .service_s = always_100_tokens,
                                .write_row = write_request, .header = "arrival_s,prompt_tokens,output_tokens",
                                .scenario = one_at_a_time, .metric = "request.queue_s.mean",
                                .expected_wait_s = pollaczek_khinchine_s(7, 0.1, 0.01)};
    check_wait(&model);
}

/* Moments of the rounded and clipped draw, by summing its distribution. */
static void lognormal_moments(double *first_s, double *second_s2)
{
    *first_s = *second_s2 = 0;
    for (int tokens = 1; tokens <= 10000; tokens++) {
        double below = tokens == 1 ? 0 : gsl_cdf_lognormal_P(tokens - 1, 4.2, 0.8);
        double share = (tokens == 10000 ? 1 : gsl_cdf_lognormal_P(tokens, 4.2, 0.8)) - below;
        *first_s += share * tokens * 1e-3;
        *second_s2 += share * tokens * tokens * 1e-6;
    }
}

TEST_OPTIMISED(requests_of_lognormal_length_are_mg1)
{
    double first_s, second_s2;
    lognormal_moments(&first_s, &second_s2);
    double arrival_per_s = 0.7 / first_s;
    struct queue_model model = {.name = "M/G/1", .arrival_per_s = arrival_per_s, .service_s = lognormal_tokens,
                                .write_row = write_request, .header = "arrival_s,prompt_tokens,output_tokens",
                                .scenario = one_at_a_time, .metric = "request.queue_s.mean",
                                .expected_wait_s = pollaczek_khinchine_s(arrival_per_s, first_s, second_s2)};
    check_wait(&model);
}
