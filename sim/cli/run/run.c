/* orrery run: simulates a scenario, or repeats a run of a results database. */
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/file_kind.h"
#include "sim/cli/key_names.h"
#include "sim/cli/paths.h"
#include "sim/cli/run/other_batcher.h"
#include "sim/cli/run/misfits.h"
#include "sim/cli/run/large_site.h"
#include "sim/cli/run/setup.h"
#include "sim/cli/run/results_limit.h"
#include "sim/cli/run/simulate.h"
#include "sim/cli/version.h"
#include "sim/core/number.h"
#include "sim/core/units.h"
#include "sim/store/readback.h"
#include "sim/store/timeline.h"
#include "sim/world/world.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct run_options {
    struct option_texts settings;
    const char *seed, *name, *output, *results_limit, *from, *data;
    const char *timeline, *timeline_window, *timeline_sample;
    int keep, queue, check, interval;
    int form; /* enum answer_form */
    bool quiet, verbose, dump_config, single_step, strict_domain, resume;
};

static const char *const keeps[] = {"scenario", "metrics", "curves", "rows", "decisions", NULL};
static const char *const intervals[] = {"auto", "always", "never", NULL}; /* by enum interval_choice */
static const char *const queues[] = {"calendar", "heap", NULL};
static const char *const checks[] = {"end", "event", NULL};

#define AT(name) offsetof(struct run_options, name)
static const struct option run_options[] = {
    {"What is simulated", "set", 's', OPTION_TEXTS, AT(settings), "KEY=VALUE", NULL,
     "set a value of the scenario: services.chat.replicas=4"},
    {NULL, "seed", 0, OPTION_TEXT, AT(seed), "N", NULL, "seed of all random streams"},
    {NULL, "name", 0, OPTION_TEXT, AT(name), "TEXT", NULL, "title of the run in the results"},
    {NULL, "from", 0, OPTION_TEXT, AT(from), "DB:RUN", NULL, "repeat a run of a results database, compare the hash"},
    {NULL, "data", 0, OPTION_TEXT, AT(data), "DIR", NULL, DATA_OPTION_HELP},
    {NULL, "dump-config", 0, OPTION_FLAG, AT(dump_config), NULL, NULL, "print the resolved scenario and stop"},
    {"What comes out", "output", 'o', OPTION_TEXT, AT(output), "DB", NULL,
     "add the run to this results database (SQLite)"},
    {NULL, "keep", 0, OPTION_CHOICE, AT(keep), "scenario|metrics|curves|rows|decisions", keeps,
     "by its key 'keep' (default); metrics; + curves; + rows; + decisions"},
    {NULL, "interval", 0, OPTION_CHOICE, AT(interval), "auto|always|never", intervals,
     "intervals by the error of the cost models, from two more runs; auto: of small runs"},
    {NULL, "results-limit", 0, OPTION_TEXT, AT(results_limit), "SIZE", NULL,
     "stop when the results would take more than this (" RESULTS_LIMIT_DEFAULT ")"},
    {NULL, "resume", 0, OPTION_FLAG, AT(resume), NULL, NULL, "first remove runs that a killed process left open"},
    {NULL, "timeline", 0, OPTION_TEXT, AT(timeline), "FILE.json[.gz]", NULL,
     "timeline of replicas, requests and jobs, for ui.perfetto.dev"},
    {NULL, "timeline-window", 0, OPTION_TEXT, AT(timeline_window), "FROM:TO", NULL,
     "only this part of the timeline: 10s:1min"},
    {NULL, "timeline-sample", 0, OPTION_TEXT, AT(timeline_sample), "1/N", NULL,
     "only one of N requests in the timeline"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the metrics as CSV, warnings on standard error"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print tables of LaTeX"},
    {NULL, "verbose", 'v', OPTION_FLAG, AT(verbose), NULL, NULL, "all metrics in the summary, not the most important"},
    {NULL, "quiet", 'q', OPTION_FLAG, AT(quiet), NULL, NULL, "no progress and no closing line"},
    {"How it is computed (the result stays the same)", "queue", 0, OPTION_CHOICE, AT(queue), "calendar|heap", queues,
     "the queue of pending events"},
    {NULL, "single-step", 0, OPTION_FLAG, AT(single_step), NULL, NULL, "visit every iteration of every replica"},
    {NULL, "check", 0, OPTION_CHOICE, AT(check), "end|event", checks,
     "check the invariants at the end, or at every event"},
    {NULL, "strict-domain", 0, OPTION_FLAG, AT(strict_domain), NULL, NULL,
     "exit with 1 if a cost model left its fitted range, with 2 if it has none"},
    {0}};
#undef AT

/* --- Parts of a timeline: "10s:1min", "1/100" --- */

static int parse_window(const char *window, struct timeline_options *options, struct diag *diag)
{
    const char *why = unit_parse_stretch(window, &options->from_s, &options->to_s);
    if (why == NULL) return 0;
    return diag_error(diag, SIM_E_USAGE, "--timeline-window", "write \"10s:1min\", or \"10min:\" for all that follows",
                      "'%s' %s", window, why);
}

static int parse_sample(const char *sample, struct timeline_options *options, struct diag *diag)
{
    if (strncmp(sample, "1/", 2) == 0 && number_i64(sample + 2, strlen(sample + 2), &options->one_in) == NUMBER_OK &&
        options->one_in > 0)
        return 0;
    return diag_error(diag, SIM_E_USAGE, "--timeline-sample", "write \"1/100\" for one request of a hundred",
                      "'%s' is not a share of that form", sample);
}

static int parse_timeline(const char *window, const char *sample, struct timeline_options *options, struct diag *diag)
{
    *options = (struct timeline_options){.from_s = 0, .to_s = (double)INFINITY, .one_in = 1};
    int code = window != NULL ? parse_window(window, options, diag) : 0;
    int sample_code = sample != NULL ? parse_sample(sample, options, diag) : 0;
    return code != 0 ? code : sample_code;
}

/* --- A scenario --- */

static int dump_config(struct cli *cli, const struct setup *setup)
{
    struct text json;
    text_init(&json);
    int code = setup_dump(setup, &json);
    if (code == 0) fputs(json.chars, cli->out);
    text_fini(&json);
    return code;
}

/* A repeated run may be added to its own results database (`results`, or NULL). */
static int check_outputs(struct cli *cli, const struct run_options *options, const struct setup *setup,
                         const char *results)
{
    struct outputs outputs = {.diag = &cli->diag};
    int code = outputs_add(&outputs, "--timeline", options->timeline);
    if (code == 0) code = outputs_check(&outputs, results);
    if (code == 0) code = outputs_add(&outputs, "--output", options->output);
    if (code == 0) code = setup_check_outputs(setup, &outputs);
    if (code == 0) code = outputs_check_form(&outputs, "--timeline", options->timeline, "JSON", "json");
    return code == 0 ? outputs_check_results(&outputs, "--output", options->output) : code;
}

static int run_setup(struct cli *cli, const struct run_options *options, const struct setup *setup, const char *results,
                     char result_hash[HASH_HEX_CHARS])
{
    if (options->dump_config) return dump_config(cli, setup);
    struct timeline_options part;
    double limit_bytes = 0;
    int code = check_outputs(cli, options, setup, results);
    if (code == 0) code = parse_timeline(options->timeline_window, options->timeline_sample, &part, &cli->diag);
    if (code == 0) code = results_limit_parse(options->results_limit, &limit_bytes, &cli->diag);
    if (code != 0) return code;
    warn_trace_misfit(setup, &cli->diag);
    warn_other_batcher(setup, &cli->diag);
    large_site_warn(&setup->scenario, options->output, limit_bytes, cli->err);
    struct simulate_options how = {.output = options->output,
                                   .results_limit_bytes = limit_bytes,
                                   .interval = (enum interval_choice)options->interval,
                                   .resume = options->resume,
                                   .form = (enum answer_form)options->form,
                                   .quiet = options->quiet,
                                   .verbose = options->verbose,
                                   .heap_queue = strcmp(queues[options->queue], "heap") == 0,
                                   .single_step = options->single_step,
                                   .check_events = strcmp(checks[options->check], "event") == 0,
                                   .strict_domain = options->strict_domain,
                                   .timeline = options->timeline,
                                   .timeline_part = &part};
    return simulate(cli, &how, setup, result_hash);
}

static int run_scenario(struct cli *cli, const struct run_options *options, const char *scenario)
{
    struct setup setup;
    char result_hash[HASH_HEX_CHARS];
    struct setup_options over = {.settings = &options->settings,
                                 .seed = options->seed,
                                 .keep = options->keep > 0 ? keeps[options->keep] : NULL,
                                 .name = options->name,
                                 .plugins = cli->plugins,
                                 .data = cli->data};
    int code = setup_load(&setup, scenario, &over, &cli->diag);
    if (code == 0) code = run_setup(cli, options, &setup, NULL, result_hash);
    setup_fini(&setup);
    return code;
}

/* --- A run once more --- */

/* Checks that the stored rows are those that were written. A run without a stored hash passes. */
static int check_rows(struct cli *cli, const struct run_options *options, const struct run_record *record,
                      const char *path)
{
    char stored_hash[HASH_HEX_CHARS];
    if (record->result_hash[0] == 0) return 0;
    int code = results_rehash(path, record->id, stored_hash, &cli->diag);
    if (code != 0 || strcmp(stored_hash, record->result_hash) == 0) return code;
    return diag_error(&cli->diag, SIM_E_GATE, options->from, "the file was changed after the run",
                      "the rows of run %" PRId64 " have the hash %s, but were written with %s", record->id, stored_hash,
                      record->result_hash);
}

/* Checks that the run has the stored result hash. */
static int compare_hashes(struct cli *cli, const struct run_options *options, const struct run_record *record,
                          const char *path, const char *result_hash)
{
    int code = check_rows(cli, options, record, path);
    if (strcmp(record->result_hash, result_hash) == 0) {
        if (code == 0 && !options->quiet)
            fprintf(cli->err, "the result hash is that of run %" PRId64 " and of its rows\n", record->id);
        return code;
    }
    const char *hint = strcmp(record->git_commit, version_commit()) != 0
                           ? "the run was made by another version of orrery"
                           : "traces or catalog files may have changed, or the run did not end";
    diag_error(&cli->diag, SIM_E_GATE, options->from, hint, "the result hash is %s, that of run %" PRId64 " is %s",
               result_hash, record->id, record->result_hash[0] != 0 ? record->result_hash : "missing");
    return code != 0 ? code : SIM_E_GATE;
}

static int repeat_run(struct cli *cli, const struct run_options *options)
{
    struct arena arena;
    struct run_record record;
    struct setup setup;
    char result_hash[HASH_HEX_CHARS];
    const char *path;
    int64_t run_id;
    arena_init(&arena);
    int code = file_kind_check_results(options->from, &cli->diag);
    if (code == 0) code = results_split_name(options->from, &arena, &path, &run_id);
    if (code == 0) code = results_read_run(path, run_id, &arena, &record, &cli->diag);
    if (code == 0) code = results_check_run(path, &record, &cli->diag);
    if (code == 0) code = plugins_check(cli->plugins, record.policies, options->from, &cli->diag);
    if (code == 0) {
        const struct stored_scenario stored = {record.scenario, record.trace_hash};
        code = setup_load_stored(&setup, path, options->from, &stored, cli->plugins, &cli->diag);
        if (code == 0) code = run_setup(cli, options, &setup, path, result_hash);
        if (code == 0 && !options->dump_config) code = compare_hashes(cli, options, &record, path, result_hash);
        setup_fini(&setup);
    }
    arena_fini(&arena);
    return code;
}

static int fail_usage(struct cli *cli, const char *hint, const char *text)
{
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "%s", text);
}

static int run(struct cli *cli, const struct cli_call *call)
{
    const struct run_options *options = call->options;
    if (options->resume && options->output == NULL)
        return fail_usage(cli, "name the results database with -o", "'--resume' has nothing to resume");
    if (options->timeline == NULL && (options->timeline_window != NULL || options->timeline_sample != NULL))
        return fail_usage(cli, "name the file with --timeline",
                          "'--timeline-window' and '--timeline-sample' belong to a timeline");
    if (options->from == NULL && call->n_arguments == 0)
        return fail_usage(cli, "usage: orrery run SCENARIO, or --from DB:RUN", "there is no scenario to run");
    if (options->from == NULL) {
        const int code = paths_take_data(cli, options->data);
        return code == 0 ? run_scenario(cli, options, call->arguments[0]) : code;
    }
    if (call->n_arguments > 0 || options->settings.n > 0 || options->seed || options->name || options->keep > 0 ||
        options->data)
        return fail_usage(cli, "leave out SCENARIO, --set, --seed, --name, --keep and --data",
                          "'--from' repeats a run exactly as it was");
    return repeat_run(cli, options);
}

const struct verb verb_run = {
    .name = "run",
    .summary = "simulate a scenario: a summary here, rows into a results database",
    .usage = "SCENARIO [-o results.db] [options]\n--from results.db:RUN [options]",
    .notes = "SCENARIO is a file or a name of 'orrery list scenarios'. Without -o nothing is written to disk.\n",
    .options = run_options,
    .takes_plugins = true,
    .explain_key = key_explain_option,
    .options_bytes = sizeof(struct run_options),
    .max_arguments = 1,
    .run = run,
};

/* --- orrery validate --- */

struct validate_options {
    struct option_texts settings;
    const char *data;
};

static const struct option validate_options[] = {
    {"Options", "set", 's', OPTION_TEXTS, offsetof(struct validate_options, settings), "KEY=VALUE", NULL,
     "set a value of the scenario"},
    {NULL, "data", 0, OPTION_TEXT, offsetof(struct validate_options, data), "DIR", NULL, DATA_OPTION_HELP},
    {0}};

static int validate(struct cli *cli, const struct cli_call *call)
{
    const struct validate_options *options = call->options;
    int code = paths_take_data(cli, options->data);
    if (code != 0) return code;
    struct setup_options over = {.settings = &options->settings, .plugins = cli->plugins, .data = cli->data};
    struct setup setup;
    struct world *world = NULL;
    code = setup_load(&setup, call->arguments[0], &over, &cli->diag);
    if (code == 0) {
        struct world_options how = {.config = setup.config, .catalog = &setup.catalog, .interrupt = cli->interrupt};
        code = world_create(&setup.scenario, &how, &world, &cli->diag);
    }
    if (code == 0) code = world_read_through(world);
    if (code == 0) answer_print(cli->out, "%s: ok\n", call->arguments[0]);
    if (code == 0) warn_idle_types(&setup, &cli->diag);
    if (code == 0) code = world_warn_ahead(world, call->arguments[0], &cli->diag);
    world_destroy(world);
    setup_fini(&setup);
    return code;
}

const struct verb verb_validate = {
    .name = "validate",
    .summary = "check a scenario without running it: keys, units, catalog names, traces, jobs that can never run",
    .usage = "SCENARIO [--set KEY=VALUE]...",
    .options = validate_options,
    .takes_plugins = true,
    .explain_key = key_explain_option,
    .options_bytes = sizeof(struct validate_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = validate,
};
