/* Measures jobs per second of CPU time for each scheduler: a million generated jobs on a thousand nodes of eight GPUs.
 * One JSON line per cell; the time covers generation, events, decisions and statistics.
 *
 * The moderate load keeps the queue short. In overload it grows to 10^5 jobs, where a scheduler that walked through
 * all pending jobs would crawl.
 *
 * The last lines show growth: all jobs come in the first second, each for one of 32 GPUs, with run times from 1 s to
 * 10,000 s, evenly distributed by their logarithms. "growth" is the CPU time relative to half as many jobs. */
#include "policies/registry.h"
#include "sim/cli/plugins.h"
#include "sim/core/engine.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/world/jobs/jobs.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int32_t sizes[] = {1, 2, 4, 8, 16, 32};
static const double shares[] = {0.55, 0.15, 0.10, 0.14, 0.04, 0.02}; /* of the jobs */

enum { N_SIZES = sizeof sizes / sizeof sizes[0], NODES = 1000, GPUS_PER_NODE = 8 };

static const double MEAN_RUN_S = 3600;

struct generator {
    struct job_source source;
    struct rng rng;
    int64_t n_left, n_made;
    double now_s, mean_gap_s;
    bool all_at_once;
};

static int32_t draw_size(struct rng *rng)
{
    double u = rng_uniform(rng);
    int i = 0;
    while (i < N_SIZES - 1 && u >= shares[i]) u -= shares[i++];
    return sizes[i];
}

static const double SHORTEST_S = 1, LONGEST_S = 10000;

/* The next job of those that come in the first second. */
static struct job_record draw_waiting(struct generator *generator)
{
    const double n = (double)(generator->n_made + generator->n_left + 1), share = rng_uniform(&generator->rng);
    const sim_ns duration_ns = sim_ns_from_s(SHORTEST_S * pow(LONGEST_S / SHORTEST_S, share));
    return (struct job_record){.id = generator->n_made,
                               .submit_ns = sim_ns_from_s((double)generator->n_made / n),
                               .duration_ns = duration_ns,
                               .estimate_ns = duration_ns,
                               .gpus = 1,
                               .gpu_milli = 1000,
                               .group = "",
                               .user = ""};
}

static struct job_record draw_job(struct generator *generator)
{
    struct rng *rng = &generator->rng;
    generator->now_s += rng_exponential(rng, generator->mean_gap_s);
    sim_ns duration_ns = sim_ns_from_s(rng_exponential(rng, MEAN_RUN_S));
    double overestimate = 1 + 4 * rng_uniform(rng);
    return (struct job_record){.id = generator->n_made,
                               .submit_ns = sim_ns_from_s(generator->now_s),
                               .duration_ns = duration_ns,
                               .estimate_ns = (sim_ns)((double)duration_ns * overestimate),
                               .gpus = draw_size(rng),
                               .gpu_milli = 1000,
                               .group = "",
                               .user = ""};
}

static int generator_next(struct job_source *source, struct job_record *record, struct diag *diag)
{
    (void)diag;
    struct generator *generator = (struct generator *)source;
    if (generator->n_left-- == 0) return 0;
    *record = generator->all_at_once ? draw_waiting(generator) : draw_job(generator);
    generator->n_made++;
    return 1;
}

static struct source_place generator_place(const struct job_source *source)
{
    return (struct source_place){.row = ((const struct generator *)source)->n_made};
}

static bool generator_note(const struct job_source *source, size_t index, struct source_note *note)
{
    (void)source, (void)index, (void)note;
    return false;
}

static void generator_close(struct job_source *source)
{
    mem_free(source);
}

struct cell {
    const char *scheduler, *placement;
    double load; /* 0: all jobs come in the first second, to four nodes */
    int jobs;
    bool once;      /* long: no median of several runs */
    bool only_full; /* not part of the short table */
};

static int generator_open(const void *params, const struct source_options *options, struct job_source **source,
                          struct diag *diag)
{
    (void)diag;
    const struct cell *cell = params;
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return SIM_E_NOMEM;
    double mean_size = 0;
    for (int i = 0; i < N_SIZES; i++) mean_size += shares[i] * sizes[i];
    generator->source = (struct job_source){generator_next, generator_place, generator_note, generator_close};
    rng_init(&generator->rng, options->seed, 0, "jobs", 0);
    generator->n_left = bench_load(cell->jobs);
    if (cell->load > 0) generator->mean_gap_s = MEAN_RUN_S * mean_size / (cell->load * NODES * GPUS_PER_NODE);
    generator->all_at_once = !(cell->load > 0);
    *source = &generator->source;
    return 0;
}

static const struct trace_format generator_format = {.name = "generated", .open_jobs = generator_open};

struct outcome {
    double jct_s, util;
};

static int keep_metric(void *context, const struct metric_row *row)
{
    struct outcome *outcome = context;
    if (strcmp(row->name, "job.jct_s.mean") == 0) outcome->jct_s = row->value;
    if (strcmp(row->name, "cluster.gpu_util") == 0) outcome->util = row->value;
    return 0;
}

/* The defaults of a scheduler's parameters, in `arena`; NULL when it has none. */
static void *default_params(const struct policy *policy, struct arena *arena)
{
    if (policy->params == NULL) return NULL;
    struct config_families families = cli_families(NULL);
    struct config *config = NULL;
    void *params = arena_alloc(arena, policy->params_bytes);
    int code = config_parse("params", ".", "{}", 2, &config, NULL);
    if (code == 0) code = config_bind(config, policy->params, &families, arena, params, policy->params_bytes, NULL);
    config_destroy(config);
    return code == 0 ? params : NULL;
}

static int simulate(const struct cell *cell, struct outcome *outcome, struct engine_stats *stats)
{
    const struct policy *scheduler = policy_find(POLICY_SCHEDULER, cell->scheduler);
    struct arena arena;
    arena_init(&arena);
    struct jobs_config config = {.scheduler = {.entry = scheduler, .params = default_params(scheduler, &arena)},
                                 .placement = {.entry = policy_find(POLICY_PLACEMENT, cell->placement)},
                                 .trace = {.entry = &generator_format, .params = (void *)(uintptr_t)cell}};
    struct cluster_config cluster_config = {.nodes = cell->load > 0 ? NODES : 4, .gpus_per_node = GPUS_PER_NODE};
    struct sink sink = {.context = outcome, .metric = keep_metric};
    struct engine *engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR});
    struct cluster *cluster = NULL;
    struct jobs *jobs = NULL;
    struct diag diag;
    diag_init(&diag);
    struct site_env site = {.engine = engine, .diag = &diag, .sink = &sink, .seed = 1};
    int code = engine == NULL ? SIM_E_NOMEM : cluster_create(&cluster_config, &cluster);
    if (code == 0) code = jobs_create(&site, cluster, &config, &(struct jobs_options){0}, &jobs);
    if (code == 0) code = jobs_start(jobs);
    if (code == 0) code = engine_run(engine, &diag);
    if (code == 0) code = jobs_finish(jobs);
    if (code == 0) code = cluster_emit(cluster, engine_now(engine), &sink);
    if (code == 0) *stats = engine_stats(engine);
    engine_destroy(engine);
    jobs_destroy(jobs);
    cluster_destroy(cluster);
    arena_fini(&arena);
    return code;
}

/* Runs a cell and prints its line. Returns whether it failed. */
static int measure(const struct cell *cell)
{
    struct outcome outcome = {0};
    struct engine_stats stats;
    double spent_s[BENCH_REPEATS];
    for (int i = 0; i < (cell->once ? 1 : BENCH_REPEATS); i++) {
        double start_s = bench_cpu_s();
        int code = simulate(cell, &outcome, &stats);
        spent_s[i] = bench_cpu_s() - start_s;
        if (code == 0) continue;
        fprintf(stderr, "cluster: %s: %s\n", cell->scheduler, sim_err_text(code));
        return 1;
    }
    double cpu_s = cell->once ? spent_s[0] : bench_median(spent_s);
    printf("{\"bench\":\"cluster\",\"scheduler\":\"%s\",\"placement\":\"%s\",\"load\":%g,\"jobs\":%d,"
           "\"jobs_per_s\":%.0f,\"events\":%llu,\"mean_jct_s\":%.0f,\"gpu_util\":%.3f}\n",
           cell->scheduler, cell->placement, cell->load, bench_load(cell->jobs), bench_load(cell->jobs) / cpu_s,
           (unsigned long long)stats.fired, outcome.jct_s, outcome.util);
    fflush(stdout);
    return 0;
}

/* Doubles the number of waiting jobs three times. */
static int measure_growth(const char *scheduler)
{
    double before_s = 0;
    for (int jobs = 8000; jobs <= 64000; jobs *= 2) {
        const struct cell cell = {.scheduler = scheduler, .placement = "consolidated", .jobs = jobs};
        struct outcome outcome = {0};
        struct engine_stats stats;
        const double start_s = bench_cpu_s();
        if (simulate(&cell, &outcome, &stats) != 0) return 1;
        const double spent_s = bench_cpu_s() - start_s;
        printf("{\"bench\":\"cluster\",\"scheduler\":\"%s\",\"waiting_jobs\":%d,\"cpu_s\":%.3f", scheduler,
               bench_load(jobs), spent_s);
        if (before_s > 0) printf(",\"growth\":%.2f", spent_s / before_s);
        puts("}");
        fflush(stdout);
        before_s = spent_s;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct cell cells[] = {
        {"fifo", "counted", 0.8, 1000000, false, false},
        {"tiresias", "counted", 0.8, 1000000, false, false},
        {"fifo", "counted", 1.2, 1000000, true, false},
        {"tiresias", "counted", 1.2, 1000000, true, false},
        {"fifo-skip", "counted", 0.8, 1000000, false, false},
        {"easy", "counted", 0.8, 1000000, false, false},
        {"srtf", "counted", 0.8, 1000000, false, false},
        {"fifo-skip", "counted", 1.2, 1000000, true, false},
        {"easy", "counted", 1.2, 1000000, true, false},
        {"srtf", "counted", 1.2, 1000000, true, false},
        {"sjf", "counted", 0.8, 1000000, false, true},
        {"fewest-gpus", "counted", 0.8, 1000000, false, true},
        {"srsf", "counted", 0.8, 1000000, false, true},
        {"fifo-skip", "consolidated", 0.8, 1000000, false, true},
        {"srtf", "consolidated", 0.8, 1000000, false, true},
        {"fewest-gpus", "counted", 1.2, 1000000, true, true},
        {"srsf", "counted", 1.2, 1000000, true, true},
        {"easy", "consolidated", 1.2, 1000000, true, true},
        {"srtf", "consolidated", 1.2, 200000, true, true},
    };
    bool full = argc > 1 && argv[1][0] != '\0';
    int failed = 0;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        if (full || !cells[i].only_full) failed |= measure(&cells[i]);
    }
    static const char *const growing[] = {"conservative", "equi", "hesrpt", "all-to-shortest"};
    for (size_t i = 0; i < sizeof growing / sizeof growing[0]; i++) failed |= measure_growth(growing[i]);
    return failed;
}
