#include "tests/bench/shared/scenario.h"

#include "sim/cli/plugins.h"
#include "sim/core/config/config.h"
#include "sim/store/results.h"
#include "sim/world/world.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stop(const struct diag *diag)
{
    char text[1024] = "failed";
    if (diag->n_items > 0) diag_format(&diag->items[0], text, sizeof text);
    fprintf(stderr, "scenario: %s\n", text);
    exit(1);
}

/* The store's sink, with a look at one metric on its way. */
struct tap {
    struct sink to;
    const char *name;
    double value;
};

static int tap_metric(void *context, const struct metric_row *row)
{
    struct tap *tap = context;
    if (strcmp(row->name, tap->name) == 0) tap->value = row->value;
    return tap->to.metric(tap->to.context, row);
}

static int tap_request(void *context, const struct request_row *row)
{
    struct tap *tap = context;
    return tap->to.request(tap->to.context, row);
}

static int tap_job(void *context, const struct job_row *row)
{
    struct tap *tap = context;
    return tap->to.job(tap->to.context, row);
}

/* Runs what is bound, and stores it below a path. */
static uint64_t run_into(const char *path, const struct scenario *scenario, const struct world_options *options,
                         const struct run_info *info, struct tap *tap)
{
    static struct diag diag;
    struct world *world;
    struct world_result result;
    struct results *results = NULL;
    struct run_end end = {.status = "done", .cost = {.started_utc = ""}};
    char hash[HASH_HEX_CHARS];
    int64_t run_id;
    diag_init(&diag);
    if (world_create(scenario, options, &world, &diag) != 0 ||
        results_open(path, &(struct results_options){0}, &results, &diag) != 0 ||
        results_begin_run(results, info, &run_id, &diag) != 0)
        stop(&diag);
    const bool rows = info->keep == KEEP_ROWS;
    tap->to = results_sink(results);
    struct sink sink = {.context = tap, .request = rows ? tap_request : NULL, .job = rows ? tap_job : NULL, .metric = tap_metric};
    if (world_run(world, &sink, &result) != 0 || results_end_run(results, &end, hash, &diag) != 0) stop(&diag);
    results_close(results);
    world_destroy(world);
    return result.engine.fired;
}

struct bench_outcome bench_scenario(const char *text, const char *metric, bool rows)
{
    static struct diag diag;
    struct config *config;
    struct scenario scenario;
    struct arena arena;
    struct catalog catalog = {.root = "configs"};
    struct config_families families = cli_families(NULL);
    char path[64];
    const double begin_s = bench_cpu_s();
    diag_init(&diag);
    arena_init(&arena);
    snprintf(path, sizeof path, P_tmpdir "/orrery-bench-%ld.db", (long)getpid());
    if (config_parse("bench", ".", text, strlen(text), &config, &diag) != 0 ||
        scenario_bind(config, &families, &catalog, &arena, &scenario, &diag) != 0)
        stop(&diag);
    const struct world_options options = {.config = config, .catalog = &catalog};
    const struct run_info info = {.keep = rows ? KEEP_ROWS : KEEP_METRICS, .name = "bench", .version = "", .git_commit = "",
                                  .scenario = text, .scenario_hash = "", .policies = "", .oracle = "", .platform = ""};
    struct tap tap = {.name = metric};
    const uint64_t events = run_into(path, &scenario, &options, &info, &tap);
    config_destroy(config);
    arena_fini(&arena);
    unlink(path);
    return (struct bench_outcome){bench_cpu_s() - begin_s, tap.value, events};
}
