/* A million generated requests of the Azure conversation mix on 64 replicas, rows going to SQLite: the whole path of
 * `orrery run`, timed in CPU seconds of the process. Also ten times the output at a tenth of the rate, which must cost about
 * the same: work is done per change of a batch, not per token. Then what it costs to read and hold power, and each batcher beside
 * vLLM v0, metrics only; in full, a day of a service of 1000 GPUs. */
#include "sim/cli/families.h"
#include "sim/core/config.h"
#include "sim/store/results.h"
#include "sim/world/world.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char scenario_text[] =
    "{\"cluster\": {\"nodes\": %d, \"gpus_per_node\": 8, \"gpu\": \"a100-80-sxm\"%s},"
    " \"services\": {\"chat\": {\"llm\": \"mistral-7b\", \"replicas\": %d, \"routing\": \"round-robin\","
    " \"batching\": \"%s\","
    " \"trace\": {\"format\": \"generate\", \"mix\": \"azure-conversation\", \"count\": %ld,"
    " \"arrival\": {\"process\": \"poisson\", \"rate\": \"%g/s\"}%s}}}}";

struct load {
    int nodes; /* of 8 replicas */
    const char *batching;
    long requests;
    double rate_per_s;
    bool rows; /* a row per request goes to the database */
    const char *power; /* more of the cluster; NULL: nothing */
};

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void stop(const struct diag *diag)
{
    char text[1024] = "failed";
    if (diag->n_items > 0) diag_format(&diag->items[0], text, sizeof text);
    fprintf(stderr, "serve: %s\n", text);
    exit(1);
}

struct outcome {
    double cpu_s, iterations;
    uint64_t events;
};

/* The store's sink, with a look at one metric on its way. */
struct tap {
    struct sink to;
    double iterations;
};

static int tap_metric(void *context, const struct metric_row *row)
{
    struct tap *tap = context;
    if (strcmp(row->name, "replica.iterations.sum") == 0) tap->iterations = row->value;
    return tap->to.metric(tap->to.context, row);
}

static int tap_request(void *context, const struct request_row *row)
{
    struct tap *tap = context;
    return tap->to.request(tap->to.context, row);
}

static struct outcome run_scenario(const char *text, bool rows, const char *db_path)
{
    static struct diag diag;
    struct config *config;
    struct scenario scenario;
    struct arena arena;
    struct world *world;
    struct world_result result;
    struct results *results = NULL;
    struct catalog catalog = {.root = "configs"};
    struct config_families families = cli_families(NULL);
    char hash[HASH_HEX_CHARS];
    int64_t run_id;
    double begin_s = cpu_s();
    diag_init(&diag);
    arena_init(&arena);
    if (config_parse("serve", ".", text, strlen(text), &config, &diag) != 0 ||
        scenario_bind(config, &families, &arena, &scenario, &diag) != 0)
        stop(&diag);
    struct world_options options = {.config = config, .catalog = &catalog};
    struct run_info info = {.keep = rows ? KEEP_ROWS : KEEP_METRICS, .name = "serve", .version = "", .git_commit = "", .scenario = text, .scenario_hash = "",
                            .policies = "", .oracle = "", .platform = ""};
    if (world_create(&scenario, &options, &world, &diag) != 0 || results_open(db_path, &(struct results_options){0}, &results, &diag) != 0 ||
        results_begin_run(results, &info, &run_id, &diag) != 0)
        stop(&diag);
    struct tap tap = {.to = results_sink(results)};
    struct sink sink = {.context = &tap, .request = rows ? tap_request : NULL, .metric = tap_metric};
    struct run_end end = {.status = "done", .cost = {.started_utc = ""}};
    if (world_run(world, &sink, &result) != 0 || results_end_run(results, &end, hash, &diag) != 0) stop(&diag);
    results_close(results);
    world_destroy(world);
    config_destroy(config);
    arena_fini(&arena);
    unlink(db_path);
    return (struct outcome){cpu_s() - begin_s, tap.iterations, result.engine.fired};
}

static struct outcome run_mix(const struct load *load, const char *lengths, const char *db_path)
{
    char text[1024];
    snprintf(text, sizeof text, scenario_text, load->nodes, load->power != NULL ? load->power : "", 8 * load->nodes,
             load->batching, load->requests, load->rate_per_s, lengths);
    return run_scenario(text, load->rows, db_path);
}

static double report_mix(const struct load *load, double reference_cpu_s, const char *db_path)
{
    struct outcome outcome = run_mix(load, "", db_path);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"bench\":\"serve\",\"batching\":\"%s\",\"replicas\":%d,\"rows\":%s,\"requests\":%ld,"
           "\"requests_per_s\":%.0f,\"iterations_per_s\":%.0f,\"events\":%llu,\"cpu_s\":%.3f,\"rss_mib\":%.1f",
           load->batching, 8 * load->nodes, load->rows ? "true" : "false", load->requests,
           (double)load->requests / outcome.cpu_s, outcome.iterations / outcome.cpu_s,
           (unsigned long long)outcome.events, outcome.cpu_s, (double)usage.ru_maxrss / 1024);
    if (reference_cpu_s > 0) printf(",\"cpu_ratio\":%.3f", outcome.cpu_s / reference_cpu_s);
    printf("}\n");
    fflush(stdout);
    return outcome.cpu_s;
}

/* The batchers one by one, over vLLM v0. */
static void report_batchers(const char *db_path)
{
    static const char *const batchers[] = {"vllm-v0", "vllm-v1", "sarathi", "orca", "fastertransformer"};
    double reference_cpu_s = 0;
    for (size_t i = 0; i < sizeof batchers / sizeof *batchers; i++) {
        double cpu = report_mix(&(struct load){8, batchers[i], 300000, 128, false, NULL}, reference_cpu_s, db_path);
        if (i == 0) reference_cpu_s = cpu;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The same requests with ten times the output at a tenth of the rate, in pairs; the median ratio of CPU time. */
static void report_long_outputs(const char *db_path)
{
    enum { PAIRS = 5 };
    static const char lengths[] = ", \"prompt\": {\"distribution\": \"fixed\", \"tokens\": 1000},"
                                  " \"output\": {\"distribution\": \"uniform\", \"min\": %d, \"max\": %d}";
    const struct load load = {8, "vllm-v0", 100000, 256, true, NULL}, tenth = {8, "vllm-v0", 100000, 25.6, true, NULL};
    char brief[256], tenfold[256];
    double ratios[PAIRS];
    snprintf(brief, sizeof brief, lengths, 50, 250);
    snprintf(tenfold, sizeof tenfold, lengths, 500, 2500);
    for (int i = 0; i < PAIRS; i++) {
        double short_s = run_mix(&load, brief, db_path).cpu_s;
        ratios[i] = run_mix(&tenth, tenfold, db_path).cpu_s / short_s;
    }
    qsort(ratios, PAIRS, sizeof *ratios, compare_doubles);
    printf("{\"bench\":\"serve_long_outputs\",\"requests\":%ld,\"cpu_ratio\":%.3f}\n", load.requests,
           ratios[PAIRS / 2]);
    fflush(stdout);
}

/* The same requests with the power of a row of eight servers read every 2 s and held by POLCA, far from its thresholds, so that both
 * do the same; in pairs, the median ratio of CPU time. */
static void report_power(const char *db_path)
{
    enum { PAIRS = 5 };
    static const char power[] = ", \"server_power\": {\"idle\": \"670W\", \"per_gpu_watt\": 0.67}, "
                                "\"power\": {\"budget\": \"100kW\", \"capping\": \"polca\"}";
    const struct load without = {8, "vllm-v0", 300000, 256, false, NULL}, with = {8, "vllm-v0", 300000, 256, false, power};
    double ratios[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        const double without_s = run_mix(&without, "", db_path).cpu_s;
        ratios[i] = run_mix(&with, "", db_path).cpu_s / without_s;
    }
    qsort(ratios, PAIRS, sizeof *ratios, compare_doubles);
    printf("{\"bench\":\"serve_power\",\"requests\":%ld,\"cpu_ratio\":%.3f}\n", with.requests, ratios[PAIRS / 2]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    (void)argv;
    char db_path[64];
    snprintf(db_path, sizeof db_path, P_tmpdir "/orrery-bench-%ld.db", (long)getpid());
    (void)report_mix(&(struct load){8, "vllm-v0", 1000000, 256, true, NULL}, 0, db_path);
    report_long_outputs(db_path);
    report_power(db_path);
    report_batchers(db_path);
    if (argc > 1) (void)report_mix(&(struct load){125, "vllm-v0", 50000000, 578.7, false, NULL}, 0, db_path);
    return 0;
}
