/* Measures the CPU time of a round of ElasticFlow in which all jobs are new: one JSON line per number of jobs and GPUs.
 * It is the time of a run of one decision, less that of a run under fifo-skip; the median of five. "growth" is that
 * time relative to half as many jobs. */
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <math.h>
#include <stdio.h>

/* Run times of 100 s to 20,000 s, evenly distributed by their logarithms; deadlines after 0.5 to 1.5 of them. */
static void write_scenario(struct text *text, const char *scheduler, int jobs, int gpus)
{
    struct rng rng;
    rng_init(&rng, 1, 0, "bench", 0);
    text_printf(
        text,
        "{\"cluster\": {\"nodes\": %d, \"gpus_per_node\": 8}, \"until\": \"1s\", \"jobs\": {\"scheduler\": \"%s\","
        " \"placement\": \"counted\", \"deadlines\": {\"least\": 0.5, \"most\": 1.5}, \"types\": {\"default\":"
        " {\"speedup\": {\"law\": \"power\", \"exponent\": 0.8}}}, \"trace\": {\"format\": \"inline-jobs\","
        " \"jobs\": [",
        gpus / 8, scheduler);
    for (int i = 0; i < jobs; i++)
        text_printf(text, "%s{\"duration\": \"%.0fs\", \"gpus\": %d}", i > 0 ? ", " : "",
                    100 * pow(200, rng_uniform(&rng)), 1 << rng_below(&rng, 4));
    text_printf(text, "]}}}");
}

static double run_s(const char *scheduler, int jobs, int gpus)
{
    double repeats[BENCH_REPEATS];
    struct text text;
    text_init(&text);
    write_scenario(&text, scheduler, jobs, gpus);
    for (int i = 0; i < BENCH_REPEATS; i++)
        repeats[i] = text.failed ? (double)NAN : bench_scenario(text.chars, "job.arrived", false).cpu_s;
    text_fini(&text);
    return bench_median(repeats);
}

int main(void)
{
    static const int gpus[] = {64, 1024};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        double before_s = NAN;
        for (int jobs = 500; jobs <= 2000; jobs *= 2) {
            const int n = bench_load(jobs);
            const double spent_s = run_s("elasticflow", n, gpus[i]) - run_s("fifo-skip", n, gpus[i]);
            printf("{\"bench\": \"deadlines\", \"cell\": \"elasticflow\", \"gpus\": %d, \"jobs\": %d,"
                   " \"ms_per_round\": %.2f, \"growth\": %.2f}\n",
                   gpus[i], n, spent_s * 1e3, isnan(before_s) ? 0.0 : spent_s / before_s);
            before_s = spent_s;
        }
    }
    return 0;
}
