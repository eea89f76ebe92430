/* Measures jobs per second of CPU time in whole scenarios of jobs, one JSON line per cell.
 *
 *     acme     a million jobs like those of Acme's Seren on 2,288 GPUs, under FIFO and Tiresias
 *     openb    Alibaba's tasks placed on its 1,213 nodes one by one, until all GPUs are requested, by FGD and its
 *              rivals; only where the public data is installed
 *
 * The time covers reading or generating the trace, events, decisions and statistics. */
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <stdio.h>
#include <unistd.h>

static double median_s(const char *text, const char *metric, struct bench_outcome *outcome)
{
    double spent_s[BENCH_REPEATS];
    for (int i = 0; i < BENCH_REPEATS; i++) {
        *outcome = bench_scenario(text, metric, false);
        spent_s[i] = outcome->cpu_s;
    }
    return bench_median(spent_s);
}

static void report_acme(const char *scheduler)
{
    const int jobs = bench_load(1000000);
    char text[512];
    struct bench_outcome outcome;
    snprintf(text, sizeof text,
             "{\"cluster\": {\"nodes\": 286, \"gpus_per_node\": 8}, \"seed\": 1, \"jobs\": {\"scheduler\": \"%s\","
             " \"trace\": {\"format\": \"generate-jobs\", \"mix\": \"seren\", \"count\": %d}}}",
             scheduler, jobs);
    const double cpu_s = median_s(text, "cluster.gpu_util", &outcome);
    printf(
        "{\"bench\":\"acme\",\"scheduler\":\"%s\",\"gpus\":2288,\"jobs\":%d,\"jobs_per_s\":%.0f,\"events\":%llu,\"gpu_util\":%.3f}\n",
        scheduler, jobs, jobs / cpu_s, (unsigned long long)outcome.events, outcome.metric);
    fflush(stdout);
}

#define DATA "../shared/data/job_traces/"

static void report_placer(const char *placer)
{
    char text[1024];
    struct bench_outcome outcome;
    snprintf(text, sizeof text,
             "{\"cluster\": {\"nodes_file\": {\"path\": \"" DATA
             "alibaba_openb2023_nodes.csv\", \"cpu_nodes\": false}}, \"seed\": 1,"
             " \"until\": \"100s\", \"jobs\": {\"scheduler\": \"fifo-skip\","
             " \"placement\": {\"policy\": \"%s\", \"ties\": \"shuffled\"},"
             " \"trace\": {\"format\": \"openb\", \"path\": \"" DATA "alibaba_openb2023_pods_default.csv\","
             " \"resample\": {\"gpus\": %d}}}}",
             placer, bench_load(6212));
    const double cpu_s = median_s(text, "job.submitted", &outcome);
    printf("{\"bench\":\"openb\",\"placement\":\"%s\",\"tasks\":%.0f,\"tasks_per_s\":%.0f}\n", placer, outcome.metric,
           outcome.metric / cpu_s);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const placers[] = {"fgd", "best-fit", "dot-product", "clustering", "packing"};
    (void)argv;
    report_acme("fifo");
    report_acme("tiresias");
    if (access(DATA "alibaba_openb2023_nodes.csv", R_OK) != 0) {
        fprintf(stderr, "datacenter: skipped openb: needs " DATA "\n");
        return 0;
    }
    for (size_t i = 0; i < (argc > 1 ? sizeof placers / sizeof *placers : 1); i++) report_placer(placers[i]);
    return 0;
}
