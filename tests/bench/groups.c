/* Measures requests per second of CPU time on 10,048 GPUs in groups of 64 over eight nodes each, one JSON line per row.
 *
 *     mixed     157 groups serve whole requests of DeepSeek-V3, attention in 64 parts
 *     failures  the same, while nodes fail and take their groups
 *     pools     57 groups process prompts and 100 decode; the KV of each request goes in 64 parts over the network
 *
 * Ten minutes of a day with 115 requests per second; in full the whole day. */
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <stdio.h>

#define SCENARIO                                                                                                       \
    "{\"cluster\": {\"nodes\": 1264, \"gpus_per_node\": 8, \"gpu\": \"h100-sxm\", \"network\": {\"bandwidth\": \"50GB/s\"," \
    " \"per\": \"gpu\"}}, \"seed\": 1, \"until\": \"1d\", %s \"services\": {\"chat\": {\"llm\": \"deepseek-v3\","          \
    " \"routing\": \"least-outstanding\", \"tensor_parallel\": 64, \"data_parallel\": 64, \"cost\": {\"kind\":"            \
    " \"operators\", \"expert_parallel\": 64}, \"batching\": {\"policy\": \"vllm-v1\", \"max_sequences\": 4096,"           \
    " \"token_budget\": 65536}, %s, \"trace\": {\"format\": \"generate\", \"mix\": \"azure-conversation\", \"count\": %d," \
    " \"arrival\": {\"process\": \"poisson\", \"rate\": \"115/s\"}}}}}"

static const struct row {
    const char *name, *failures, *replicas;
} rows[] = {
    {"mixed", "", "\"replicas\": 157"},
    {"failures",
     "\"failures\": {\"causes\": {\"node\": {\"scope\": \"node\", \"lifetime\": {\"mean\": \"60d\"}, \"repair\":"
     " {\"mean\": \"4h\"}}}},",
     "\"replicas\": 157"},
    {"pools", "",
     "\"pools\": {\"prompts\": {\"role\": \"prefill\", \"replicas\": 57}, \"tokens\": {\"role\": \"decode\","
     " \"replicas\": 100}}"},
};

enum { DAY_REQUESTS = 115 * 86400 };

int main(int argc, char **argv)
{
    (void)argv;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int requests = bench_load(argc > 1 ? DAY_REQUESTS : DAY_REQUESTS / 144);
        char text[2048];
        snprintf(text, sizeof text, SCENARIO, rows[i].failures, rows[i].replicas, requests);
        const struct bench_outcome outcome = bench_scenario(text, "failure.replica_stops", false);
        printf("{\"bench\":\"groups\",\"of\":\"%s\",\"gpus\":10048,\"group\":64,\"requests\":%d,\"cpu_s\":%.2f,"
               "\"requests_per_s\":%.0f,\"stops\":%.0f}\n",
               rows[i].name, requests, outcome.cpu_s, requests / outcome.cpu_s, outcome.metric);
        fflush(stdout);
    }
    return 0;
}
