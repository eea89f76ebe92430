/* Measures requests per second of CPU time whose KV goes from one pool to another over one overloaded link, and how the
 * time grows when requests double, one JSON line per number.
 *
 * 1,000 requests per second arrive and a link of 0.5 GB/s carries one or two of them: all the others move at once. A
 * network that gives each flow its new share at every change would take time in the square of the requests. */
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <stdio.h>

#define SCENARIO                                                                                                       \
    "{\"cluster\": {\"nodes\": 2, \"gpus_per_node\": 1, \"gpu\": \"a100-80-sxm\", \"network\": {\"bandwidth\":"            \
    " \"0.5GB/s\"}}, \"seed\": 1, \"services\": {\"chat\": {\"llm\": \"llama-2-7b\", \"batching\": \"vllm-v0\", \"kv\": {\"blocks\": 10000000},"      \
    " \"pools\": {\"prompts\": {\"role\": \"prefill\"}, \"tokens\": {\"role\": \"decode\"}}, \"cost\": {\"kind\":"            \
    " \"affine\", \"prefill\": {\"fixed\": \"1us\", \"per_token\": \"1ns\"}, \"decode\": {\"fixed\": \"1ms\","               \
    " \"per_sequence\": \"1us\", \"per_context_token\": \"1ns\"}}, \"trace\": {\"format\": \"generate\", \"count\": %d,"  \
    " \"arrival\": {\"process\": \"poisson\", \"rate\": \"1000/s\"}, \"prompt\": {\"distribution\": \"uniform\","           \
    " \"min\": 20, \"max\": 3000}, \"output\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 200}}}}}"

static double median_s(int requests, struct bench_outcome *outcome)
{
    double spent_s[BENCH_REPEATS];
    char text[2048];
    snprintf(text, sizeof text, SCENARIO, requests);
    for (int i = 0; i < BENCH_REPEATS; i++) {
        *outcome = bench_scenario(text, "sim.end_s", false);
        spent_s[i] = outcome->cpu_s;
    }
    return bench_median(spent_s);
}

int main(int argc, char **argv)
{
    const int most = bench_load(argc > 1 ? 256000 : 64000);
    double before_s = 0.0;
    (void)argv;
    for (int requests = bench_load(8000); requests <= most; requests *= 2) {
        struct bench_outcome outcome;
        const double cpu_s = median_s(requests, &outcome);
        printf("{\"bench\":\"flows\",\"requests\":%d,\"requests_per_s\":%.0f,\"growth\":%.2f,\"simulated_s\":%.0f}\n",
               requests, requests / cpu_s, before_s > 0.0 ? cpu_s / before_s : 0.0, outcome.metric);
        fflush(stdout);
        before_s = cpu_s;
    }
    return 0;
}
