/* Measures requests per second of CPU time on the whole path of `orrery run`, from the trace to rows in SQLite.
 *
 *     serve                 a million requests of the Azure conversation mix on 64 replicas; each batcher beside vLLM
 *                           v0, metrics only; in full also a day of a service of 1000 GPUs
 *     serve_long_outputs    ten times the output at a tenth of the rate, which must cost about as much: work is done
 *                           per change of a batch, not per token
 *     serve_prefixes        prefix caches and session affinity on 64 replicas, metrics only: prompts that begin alike,
 *                           and conversations whose answers become part of the next prompt
 *     serve_tiers           such conversations with host memory below caches that hold few of them, against the caches
 *     serve_power           reading and holding power, against a run without
 *     serve_speculation     three drafts in every iteration, metrics only: work is done per sequence and iteration */
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

static const char scenario_text[] =
    "{\"cluster\": {\"nodes\": %d, \"gpus_per_node\": 8, \"gpu\": \"a100-80-sxm\"%s},"
    " \"services\": {\"chat\": {\"llm\": \"mistral-7b\", \"replicas\": %d, \"routing\": \"round-robin\","
    " \"batching\": \"%s\",%s"
    " \"trace\": {\"format\": \"generate\", \"mix\": \"azure-conversation\", \"count\": %d,"
    " \"arrival\": {\"process\": \"poisson\", \"rate\": \"%g/s\"}%s}}}}";

struct load {
    int nodes; /* of 8 replicas */
    const char *batching;
    int requests;
    double rate_per_s;
    bool rows; /* a row per request goes to the database */
    const char *power; /* more of the cluster; NULL: nothing */
    const char *speculation; /* more of the service; NULL: nothing */
};

static struct bench_outcome run_mix(const struct load *load, const char *lengths)
{
    char text[1024];
    snprintf(text, sizeof text, scenario_text, load->nodes, load->power != NULL ? load->power : "", 8 * load->nodes,
             load->batching, load->speculation != NULL ? load->speculation : "", bench_load(load->requests),
             load->rate_per_s, lengths);
    return bench_scenario(text, "replica.iterations.sum", load->rows);
}

static double report_mix(const struct load *load, double reference_cpu_s)
{
    struct bench_outcome outcome = run_mix(load, "");
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"bench\":\"serve\",\"batching\":\"%s\",\"replicas\":%d,\"rows\":%s,\"requests\":%d,"
           "\"requests_per_s\":%.0f,\"iterations_per_s\":%.0f,\"events\":%llu,\"cpu_s\":%.3f,\"rss_mib\":%.1f",
           load->batching, 8 * load->nodes, load->rows ? "true" : "false", bench_load(load->requests),
           bench_load(load->requests) / outcome.cpu_s, outcome.metric / outcome.cpu_s,
           (unsigned long long)outcome.events, outcome.cpu_s, (double)usage.ru_maxrss / 1024);
    if (reference_cpu_s > 0) printf(",\"cpu_ratio\":%.3f", outcome.cpu_s / reference_cpu_s);
    printf("}\n");
    fflush(stdout);
    return outcome.cpu_s;
}

/* The batchers one by one, over vLLM v0. */
static void report_batchers(void)
{
    static const char *const batchers[] = {"vllm-v0", "vllm-v1", "sarathi", "orca", "fastertransformer"};
    double reference_cpu_s = 0;
    for (size_t i = 0; i < sizeof batchers / sizeof *batchers; i++) {
        double cpu = report_mix(&(struct load){8, batchers[i], 300000, 128, false, NULL, NULL}, reference_cpu_s);
        if (i == 0) reference_cpu_s = cpu;
    }
}

/* The same requests with ten times the output at a tenth of the rate, in pairs; the median ratio of CPU time. */
static void report_long_outputs(void)
{
    static const char lengths[] = ", \"prompt\": {\"distribution\": \"fixed\", \"tokens\": 1000},"
                                  " \"output\": {\"distribution\": \"uniform\", \"min\": %d, \"max\": %d}";
    const struct load load = {8, "vllm-v0", 100000, 256, true, NULL, NULL}, tenth = {8, "vllm-v0", 100000, 25.6, true, NULL, NULL};
    char brief[256], tenfold[256];
    double ratios[BENCH_REPEATS];
    snprintf(brief, sizeof brief, lengths, 50, 250);
    snprintf(tenfold, sizeof tenfold, lengths, 500, 2500);
    for (int i = 0; i < BENCH_REPEATS; i++) {
        double short_s = run_mix(&load, brief).cpu_s;
        ratios[i] = run_mix(&tenth, tenfold).cpu_s / short_s;
    }
    printf("{\"bench\":\"serve_long_outputs\",\"requests\":%d,\"cpu_ratio\":%.3f}\n", bench_load(load.requests),
           bench_median(ratios));
    fflush(stdout);
}

/* The same requests with the power of a row of eight servers read every 2 s and held by POLCA, far from its
 * thresholds, so that both do the same; in pairs, the median ratio of CPU time. */
static void report_power(void)
{
    static const char power[] = ", \"server_power\": {\"idle\": \"670W\", \"per_gpu_watt\": 0.67}, "
                                "\"power\": {\"budget\": \"100kW\", \"capping\": \"polca\"}";
    const struct load without = {8, "vllm-v0", 300000, 256, false, NULL, NULL}, with = {8, "vllm-v0", 300000, 256, false, power, NULL};
    double ratios[BENCH_REPEATS];
    for (int i = 0; i < BENCH_REPEATS; i++) {
        const double without_s = run_mix(&without, "").cpu_s;
        ratios[i] = run_mix(&with, "").cpu_s / without_s;
    }
    printf("{\"bench\":\"serve_power\",\"requests\":%d,\"cpu_ratio\":%.3f}\n", bench_load(with.requests),
           bench_median(ratios));
    fflush(stdout);
}

static const char prefix_text[] =
    "{\"cluster\": {\"nodes\": 8, \"gpus_per_node\": 8, \"gpu\": \"a100-80-sxm\"},"
    " \"services\": {\"chat\": {\"llm\": \"mistral-7b\", \"replicas\": 64, \"routing\": \"session-affinity\","
    " \"batching\": \"vllm-v0\", \"kv\": {\"prefix_cache\": \"lru\"}, \"trace\": {\"format\": \"%s\", \"count\": %d, %s}}}}";

/* The same rate of requests, the second time in conversations of 5.5 turns. */
static void report_prefixes(void)
{
    static const struct {
        const char *format, *keys;
        int count;
    } loads[] = {{"generate", "\"arrival\": {\"process\": \"poisson\", \"rate\": \"128/s\"}, \"sessions\": {\"continue\": 0.6}", 330000},
                 {"generate-sessions",
                  "\"arrival\": {\"process\": \"poisson\", \"rate\": \"23/s\"}, \"block_tokens\": 512, \"classes\": {\"chat\": {}}",
                  60000}};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        char text[1024];
        snprintf(text, sizeof text, prefix_text, loads[i].format, bench_load(loads[i].count), loads[i].keys);
        const struct bench_outcome outcome = bench_scenario(text, "request.finished", false);
        printf(
            "{\"bench\":\"serve_prefixes\",\"trace\":\"%s\",\"requests\":%.0f,\"requests_per_s\":%.0f,\"cpu_s\":%.3f}\n",
            loads[i].format, outcome.metric, outcome.metric / outcome.cpu_s, outcome.cpu_s);
        fflush(stdout);
    }
}

/* Conversations on 64 replicas whose prefix caches hold few of them; below these the host gets the rest and gives it
 * back. In pairs, the median ratio of CPU time. */
static void report_tiers(void)
{
    static const char tiers[] = ", \"prefix_store\": {\"tiers\": {\"host\": {\"capacity\": \"100GB\"}}}";
    static const char format[] =
        "{\"cluster\": {\"nodes\": 8, \"gpus_per_node\": 8, \"gpu\": \"a100-80-sxm\"}, \"services\": {\"chat\": {"
        "\"llm\": \"mistral-7b\", \"replicas\": 64, \"routing\": \"session-affinity\", \"batching\": \"vllm-v0\","
        " \"kv\": {\"blocks\": 8000, \"prefix_cache\": \"lru\"%s}, \"trace\": {\"format\": \"generate-sessions\","
        " \"count\": %d, \"arrival\": {\"process\": \"poisson\", \"rate\": \"23/s\"}, \"block_tokens\": 512,"
        " \"classes\": {\"chat\": {}}}}}}";
    const int sessions = 40000;
    char text[1024];
    double ratios[BENCH_REPEATS], best_cpu_s = 1e9, loaded = 0, requests = 0;
    for (int i = 0; i < BENCH_REPEATS; i++) {
        snprintf(text, sizeof text, format, "", bench_load(sessions));
        const struct bench_outcome without = bench_scenario(text, "request.finished", false);
        snprintf(text, sizeof text, format, tiers, bench_load(sessions));
        const struct bench_outcome with = bench_scenario(text, "store.loaded_tokens.sum", false);
        ratios[i] = with.cpu_s / without.cpu_s;
        loaded = with.metric;
        requests = without.metric;
        if (with.cpu_s < best_cpu_s) best_cpu_s = with.cpu_s;
    }
    printf("{\"bench\":\"serve_tiers\",\"requests\":%.0f,\"requests_per_s\":%.0f,\"loaded_tokens\":%.0f,"
           "\"cpu_ratio\":%.3f}\n",
           requests, requests / best_cpu_s, loaded, bench_median(ratios));
    fflush(stdout);
}

/* Each sequence of an iteration is visited, so the cost is per sequence and iteration, not per change of a batch. */
static void report_speculation(void)
{
    static const char chain[] = " \"speculation\": {\"policy\": \"fixed\", \"drafts\": 3},"
                                " \"acceptance\": {\"rates\": [0.7]},";
    const struct load load = {8, "vllm-v0", 300000, 128, false, NULL, chain};
    const struct bench_outcome outcome = run_mix(&load, "");
    printf("{\"bench\":\"serve_speculation\",\"requests\":%d,\"requests_per_s\":%.0f,\"iterations_per_s\":%.0f}\n",
           bench_load(load.requests), bench_load(load.requests) / outcome.cpu_s, outcome.metric / outcome.cpu_s);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    (void)argv;
    (void)report_mix(&(struct load){8, "vllm-v0", 1000000, 256, true, NULL, NULL}, 0);
    report_long_outputs();
    report_prefixes();
    report_power();
    report_tiers();
    report_batchers();
    report_speculation();
    if (argc > 1) (void)report_mix(&(struct load){125, "vllm-v0", 50000000, 578.7, false, NULL, NULL}, 0);
    return 0;
}
