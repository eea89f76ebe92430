/* Measures jobs per second of CPU time where each job trains an LLM by a plan, and its messages are claims on a network
 * of leaf and spine switches, on 2,288 GPUs. One JSON line per network: full bisection, and 2:1 oversubscribed leaves.
 *
 * Jobs are of four plans: dense, with a pipeline, with experts, with long sequences. They ask for 8 to 256 GPUs. Their
 * arrivals fill most of the site. The time covers reading the trace, prices, events and statistics. */
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <stdio.h>
#include <string.h>

enum { NODES = 286, GPUS = NODES * 8, N_PLANS = 4, N_WIDTHS = 4, LINE_CHARS = 128, HEAD_CHARS = 2048 };

/* steps: mean of a job. */
static const struct {
    const char *name, *plan;
    int gpus[N_WIDTHS], steps;
} plans[N_PLANS] = {
    {"dense", "\"llm\": \"llama-3.1-8b\", \"tensor_parallel\": 2, \"global_batch\": 256", {8, 16, 32, 64}, 400},
    {"stages", "\"llm\": \"llama-3.1-70b\", \"tensor_parallel\": 8, \"pipeline_parallel\": 4, \"recompute\": \"full\", "
               "\"global_batch\": 128", {32, 64, 128, 256}, 280},
    {"experts", "\"llm\": \"qwen3-30b-a3b\", \"expert_parallel\": 16, \"global_batch\": 256, \"recompute\": \"full\"",
     {16, 32, 48, 64}, 400},
    {"long", "\"llm\": \"llama-3.1-8b\", \"tensor_parallel\": 4, \"context_parallel\": 4, \"recompute\": \"full\", "
             "\"sequence_tokens\": 65536, \"global_batch\": 32", {16, 32, 64, 128}, 120}};

/* A linear congruential generator (Knuth, TAOCP 3.3.4, line 26). */
static uint32_t drawn(uint64_t *state, uint32_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % n;
}

static size_t add_types(char *text, size_t room)
{
    size_t n = 0;
    for (int i = 0; i < N_PLANS; i++)
        n += (size_t)snprintf(text + n, room - n, "%s\"%s\": {\"training\": {%s}}", i > 0 ? ", " : "", plans[i].name,
                              plans[i].plan);
    return n;
}

static size_t add_jobs(char *text, size_t room, int jobs)
{
    uint64_t state = 1;
    double at_s = 0.0;
    size_t n = 0;
    for (int i = 0; i < jobs; i++) {
        const uint32_t plan = drawn(&state, N_PLANS), width = drawn(&state, 10);
        const int gpus = plans[plan].gpus[width < 4 ? 0 : width < 7 ? 1 : width < 9 ? 2 : 3];
        n += (size_t)snprintf(
            text + n, room - n, "%s{\"submit\": \"%.0fs\", \"type\": \"%s\", \"gpus\": %d, \"steps\": %u}",
            i > 0 ? "," : "", at_s, plans[plan].name, gpus, 1 + drawn(&state, 2 * (uint32_t)plans[plan].steps));
        at_s += (double)gpus * 3600.0 / (0.8 * GPUS) * drawn(&state, 2000) / 1000.0;
    }
    return n;
}

static void report(int oversubscription)
{
    const int jobs = bench_load(10000);
    const size_t room = (size_t)jobs * LINE_CHARS + HEAD_CHARS;
    char *text = malloc(room);
    if (text == NULL) exit(1);
    size_t n = (size_t)snprintf(
        text, room,
        "{\"cluster\": {\"nodes\": %d, \"gpus_per_node\": 8, \"gpu\": \"h100-sxm\", \"network\": "
        "{\"bandwidth\": \"50GB/s\", \"topology\": \"leaf-spine\", \"nodes_per_leaf\": 8, "
        "\"oversubscription\": %d}}, \"jobs\": {\"scheduler\": \"easy\", \"types\": {",
        NODES, oversubscription);
    n += add_types(text + n, room - n);
    n += (size_t)snprintf(text + n, room - n, "}, \"trace\": {\"format\": \"inline-jobs\", \"jobs\": [");
    n += add_jobs(text + n, room - n, jobs);
    snprintf(text + n, room - n, "]}}}");
    const struct bench_outcome outcome = bench_scenario(text, "job.network_speed", false);
    printf("{\"bench\":\"training\",\"oversubscription\":%d,\"gpus\":%d,\"jobs\":%d,\"cpu_s\":%.2f,\"jobs_per_s\":%.0f,"
           "\"network_speed\":%.3f}\n",
           oversubscription, GPUS, jobs, outcome.cpu_s, jobs / outcome.cpu_s, outcome.metric);
    fflush(stdout);
    free(text);
}

int main(void)
{
    report(1);
    report(2);
    return 0;
}
