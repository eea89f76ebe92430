/* Measures the CPU time of a round in which all jobs are new: one JSON line per scheduler and number of jobs. It is the
 * time of a run of one decision, less that of a run under fifo-skip; the median of five. "growth" is that time relative
 * to half as many jobs. */
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GPUS_PER_NODE = 8, NODES = 128 };

struct cell {
    const char *name, *placement, *scheduler;
};

static const struct cell cells[] = {
    {"hived", "consolidated",
     "{\"policy\": \"hived\", \"virtual_clusters\": {\"a\": {\"cells\": [{\"gpus\": 8, \"count\": 48}]},"
     " \"b\": {\"cells\": [{\"gpus\": 4, \"count\": 96}]}}}"},
    {"shockwave", "consolidated", "{\"policy\": \"shockwave\", \"depth\": 100000}"},
    {"antman", "counted", "\"antman\""},
    {"horus", "counted", "\"horus\""},
    {"synergy", "consolidated", "\"synergy\""},
    {"synergy-opt", "consolidated", "{\"policy\": \"synergy\", \"division\": \"opt\"}"},
    {"synergy-las", "consolidated", "{\"policy\": \"synergy\", \"order\": \"las\"}"},
    {"chronus", "consolidated", "{\"policy\": \"chronus\", \"depth\": 100000}"},
};

/* Jobs of the types a, b and c, with 1 to 4 GPUs and run times of 100 s to 20,000 s, evenly distributed by their
 * logarithms. */
static void write_scenario(struct text *text, const struct cell *cell, const char *scheduler, int jobs)
{
    const char *placement = cell->placement;
    const bool hosts = strncmp(cell->name, "synergy", 7) == 0; /* jobs contend for CPUs; type a gains by them */
    struct rng rng;
    rng_init(&rng, 1, 0, "bench", 0);
    text_printf(
        text,
        "{\"cluster\": {\"nodes\": %d, \"gpus_per_node\": %d%s}, \"until\": \"1s\", \"jobs\": {\"scheduler\": %s,"
        " \"placement\": \"%s\", \"deadlines\": {\"least\": 1, \"most\": 4, \"best_effort\": 0.3}, \"types\": {"
        " \"a\": {\"sharing\": {\"utilisation\": 0.7}%s}, \"b\": {\"sharing\": {\"utilisation\": 0.4}},"
        " \"c\": {\"sharing\": {\"utilisation\": 0.5, \"opportunistic\": true}}}, \"trace\": {\"format\": \"inline-jobs\", \"jobs\": [",
        NODES, GPUS_PER_NODE, hosts ? ", \"cpus_per_node\": 24" : "", scheduler, placement,
        hosts ? ", \"host\": {\"cpus\": [{\"per_gpu\": 3, \"speed\": 1}, {\"per_gpu\": 9, \"speed\": 2}]}" : "");
    for (int i = 0; i < jobs; i++)
        text_printf(text, "%s{\"duration\": \"%.0fs\", \"gpus\": %d, \"type\": \"%c\"}", i > 0 ? ", " : "",
                    100 * pow(200, rng_uniform(&rng)), 1 << rng_below(&rng, 3), 'a' + (int)rng_below(&rng, 3));
    text_printf(text, "]}}}");
}

static double run_s(const struct cell *cell, const char *scheduler, int jobs)
{
    double repeats[BENCH_REPEATS];
    struct text text;
    text_init(&text);
    write_scenario(&text, cell, scheduler, jobs);
    for (int i = 0; i < BENCH_REPEATS; i++)
        repeats[i] = text.failed ? (double)NAN : bench_scenario(text.chars, "job.arrived", false).cpu_s;
    text_fini(&text);
    return bench_median(repeats);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        double before_s = NAN;
        for (int jobs = 500; jobs <= 4000; jobs *= 2) {
            const int n = bench_load(jobs);
            const double spent_s = run_s(&cells[i], cells[i].scheduler, n) - run_s(&cells[i], "\"fifo-skip\"", n);
            printf(
                "{\"bench\": \"rounds\", \"cell\": \"%s\", \"jobs\": %d, \"ms_per_round\": %.2f, \"growth\": %.2f}\n",
                cells[i].name, n, spent_s * 1e3, isnan(before_s) ? 0.0 : spent_s / before_s);
            before_s = spent_s;
        }
    }
    return 0;
}
