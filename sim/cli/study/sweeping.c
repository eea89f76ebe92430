#include "sim/cli/study/sweeping.h"

#include "analysis/compare/compare.h"
#include "analysis/stats/stats.h"
#include "sim/cli/answer.h"
#include "sim/cli/run/clock.h"
#include "sim/cli/run/misfits.h"
#include "sim/cli/run/setup.h"
#include "sim/cli/run/simulate.h"
#include "sim/cli/study/recorded.h"
#include "sim/cli/study/sweep_warnings.h"
#include "sim/cli/version.h"
#include "sim/core/number.h"
#include "sim/study/axes.h"
#include "sim/study/size_limit.h"

#include <math.h>
#include <string.h>

/* Adds the intervals of a run that has ended, by two more runs. A failure leaves it without. A run without intervals
 * has a warning that gives the reason. */
static void add_intervals(const struct sweeping_host *host, const struct setup *setup, const struct recorded *own,
                          struct results *results, int64_t run_id, struct diag *diag)
{
    const struct world_options how = {.config = setup->config, .catalog = &setup->catalog,
                                      .interrupt = host->interrupt};
    struct run_intervals found;
    struct diag why;
    diag_init(&why);
    const int n_before = diag->n_warnings;
    if (intervals_find(setup, &how, own->rows, own->n, own->arena, &found, diag) != 0) return;
    if (found.n > 0)
        results_add_intervals(results, run_id, &found, &why);
    else if (setup->scenario.services.n == 0)
        diag_warning(diag, NULL, "leave it out", "'intervals' has no effect: it is about services, and there are none");
    else if (diag->n_warnings == n_before)
        diag_warning(diag, NULL, NULL, "no intervals: no error of the cost models is known, or it moves no metric");
}

static int run(void *context, const struct study *study, const struct study_run *run, struct results *results,
               struct diag *diag)
{
    struct sweeping_host *host = context;
    struct setup_options over = {.run = run, .plugins = host->plugins, .data = host->data, .memory = &host->memory};
    struct recorded recorded = {0};
    struct arena arena;
    struct setup setup;
    arena_init(&arena);
    int code = setup_load(&setup, study->scenario, &over, diag);
    if (code == 0) {
        code = recorded_find(study, run, &setup, &host->memory, host->interrupt, &arena, &recorded);
        if (code == SIM_E_NOMEM) diag_nomem(diag);
    }
    const struct recording_place place = {.results = results, .run_id = run->run_id, .n_params = run->n_params,
                                          .params = run->params, .cpu_before_s = clock_cpu_s(),
                                          .n_recorded = recorded.n, .recorded = recorded.rows};
    const bool is_first = run->seed == study->seeds[0] && study->search == NULL;
    struct recorded own = {.arena = &arena};
    const struct sink sink = recorded_sink(&own);
    const bool has_intervals = study->has_intervals && is_first;
    if (code == 0) code = simulate_into(&setup, &place, host->interrupt, has_intervals ? &sink : NULL, diag);
    if (code == 0 && has_intervals) add_intervals(host, &setup, &own, results, run->run_id, diag);
    if (code == 0) warn_trace_misfit(&setup, diag);
    if (code == 0) heard_add(host->heard, run->run_id, diag);
    setup_fini(&setup);
    arena_fini(&arena);
    return code;
}

static void name_plugins(void *context, const struct study *study, const struct study_run *run, char *files,
                         size_t files_bytes)
{
    const struct sweeping_host *host = context;
    struct setup_options over = {.run = run, .plugins = host->plugins, .data = host->data};
    char all[PLUGINS_CHARS] = "";
    struct setup setup;
    if (setup_load(&setup, study->scenario, &over, NULL) == 0) plugins_in_force(host->plugins, &setup.scenario, all);
    setup_fini(&setup);
    snprintf(files, files_bytes, "%s", all);
}

/* Builds the world, since only that reads the catalog's files. */
static int identify(void *context, const struct study *study, const struct study_run *run,
                    char scenario_hash[HASH_HEX_CHARS], char trace_hash[HASH_HEX_CHARS], struct diag *diag)
{
    const struct sweeping_host *host = context;
    struct setup_options over = {.run = run, .plugins = host->plugins, .data = host->data};
    struct setup setup;
    struct world *world;
    int code = setup_load(&setup, study->scenario, &over, diag);
    if (code == 0) {
        struct world_options options = {.config = setup.config, .catalog = &setup.catalog};
        code = world_create(&setup.scenario, &options, &world, diag);
        if (code == 0) {
            code = setup_hash_files(&setup, trace_hash, diag);
            world_destroy(world);
        }
    }
    if (code == 0 && recording_scenario_hash(&setup, scenario_hash) != 0) code = diag_nomem(diag);
    setup_fini(&setup);
    return code;
}

int sweeping_init(struct sweeping_host *host, struct cli *cli)
{
    *host = (struct sweeping_host){.interrupt = cli->interrupt, .plugins = cli->plugins, .data = cli->data};
    catalog_memory_init(&host->memory);
    text_init(&host->platform);
    text_init(&host->program);
    version_platform(&host->platform);
    version_program(&host->program);
    for (size_t i = 0; cli->plugins != NULL && i < cli->plugins->n; i++)
        text_printf(&host->program, " %s", cli->plugins->items[i].hash);
    host->runner = (struct sweep_runner){.context = host, .version = version_text(), .git_commit = version_commit(),
                                         .platform = host->platform.chars, .program = host->program.chars,
                                         .apart = cli->plugins != NULL && cli->plugins->n > 0, .run = run,
                                         .name_plugins = name_plugins, .identify = identify};
    if (!host->platform.failed && !host->program.failed) return 0;
    return diag_nomem(&cli->diag);
}

void sweeping_fini(struct sweeping_host *host)
{
    catalog_memory_fini(&host->memory);
    text_fini(&host->platform);
    text_fini(&host->program);
}

void sweeping_size_warn(struct sweeping_size *size, const struct sweep_progress *progress)
{
    const double predicted_bytes = size_limit_predict(progress, size->limit_bytes);
    const size_t n_ended = progress->n_done + progress->n_failed;
    const bool is_over = progress->bytes > size->limit_bytes; /* the study stops, and says so */
    if (size->has_warned || is_over || predicted_bytes <= size->limit_bytes) return;
    size->has_warned = true;
    if (size->is_shown) fprintf(size->err, "\r\033[K");
    answer_print(size->err,
                 "%s: warning: %zu of %zu runs have %.3g GB. If the others have as much, all have %.3g GB, and the"
                 " study stops at %.3g GB; allow more (--results-limit), or less: %s\n",
                 size->output, n_ended, progress->n_runs, 1e-9 * progress->bytes, 1e-9 * predicted_bytes,
                 1e-9 * size->limit_bytes, size_limit_hint(size->keep));
}

/* Whether the seeds of the study's first point are replicates of one trace. */
static bool is_bootstrap(const struct sweeping_host *host, const struct study *study)
{
    struct study_run run;
    struct arena arena;
    struct setup setup;
    arena_init(&arena);
    bool found = false;
    if (study->n_points > 0 && study_run_with(study, 0, 0, NULL, NULL, &arena, &run) == 0) {
        struct setup_options over = {.run = &run, .plugins = host->plugins, .data = host->data};
        if (setup_load(&setup, study->scenario, &over, NULL) == 0)
            found = recorded_method_of(&setup) == RECORDED_BLOCKS;
        setup_fini(&setup);
    }
    arena_fini(&arena);
    return found;
}

/* Whether a value can stand in a command as it is. */
static bool is_word(const char *value)
{
    return value[0] != 0 && value[strcspn(value, " '\"{[$\\,*?()<>|&;`\n")] == 0;
}

/* "-b scheduler=fifo -n scheduler=tiresias": the first axis of words that vary, else what is to be written there. */
static const char *show_groups(const struct study *study, struct arena *arena)
{
    for (size_t i = 0; i < axes_keys(study->axes); i++) {
        const char *base = axes_param(study->axes, 0, i).value, *name = axes_name(study->axes, i);
        for (size_t point = 1; point < study->n_points && is_word(base); point++) {
            const char *value = axes_param(study->axes, point, i).value;
            if (strcmp(value, base) == 0 || !is_word(value)) continue;
            return arena_printf(arena, "-b %s=%s -n %s=%s", name, base, name, value);
        }
    }
    return "-b KEY=VALUE -n KEY=VALUE";
}

void sweeping_replicates_warn(const struct sweeping_host *host, const struct study *study, const char *path,
                              const char *output, FILE *err)
{
    const double level = 0.95, least_p = stats_replicate_least_p(study->n_seeds, level);
    if (study->search != NULL || COMPARE_PRIMARY * least_p < 1 - level || !is_bootstrap(host, study)) return;
    const int most = (int)((1 - level) / least_p);
    struct arena arena;
    arena_init(&arena);
    const char *groups = show_groups(study, &arena);
    answer_print(err,
                 "%s: warning: %zu replicates allow a verdict on %d metric%s, and 'orrery compare' shows %d. Choose "
                 "before you see a result, and then type: orrery compare %s %s -m %s%s. Or take enough seeds for %d "
                 "metrics: orrery sweep %s --seeds %.0f\n",
                 study->name, study->n_seeds, most, most == 1 ? "" : "s at most", COMPARE_PRIMARY, output,
                 groups != NULL ? groups : "", study->n_show > 0 ? study->show[0] : "METRIC",
                 most == 1 ? "" : " -m ANOTHER", COMPARE_PRIMARY, path, ceil(2 * COMPARE_PRIMARY / (1 - level) - 1e-9));
    arena_fini(&arena);
}

int sweeping_read_count(struct cli *cli, const char *option, const char *text, int *n)
{
    enum { MOST = 1000000 };
    int64_t number = 0;
    const bool is_count = text == NULL ||
                          (number_i64(text, strlen(text), &number) == NUMBER_OK && number >= 1 && number <= MOST);
    *n = is_count ? (int)number : 0;
    if (is_count) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, option, NULL, "must be a whole number of at least 1, got '%s'", text);
}
