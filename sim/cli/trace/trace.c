/* orrery trace: checks, describes, converts and generates traces, outside any run.
 *
 * A trace is the object {"format": FORMAT, "path": FILE, ...} of a scenario: --format names the reader or generator,
 * --set gives its other parameters, including transforms. */
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/file_kind.h"
#include "sim/cli/key_names.h"
#include "sim/cli/paths.h"
#include "sim/cli/plugins.h"
#include "sim/cli/run/setup.h"
#include "sim/cli/study/compare_log.h"
#include "sim/cli/trace/trace_replay.h"
#include "sim/cli/trace/trace_report.h"
#include "sim/core/json_write.h"
#include "sim/core/number.h"
#include "traces/check.h"
#include "traces/convert.h"
#include "traces/guess.h"
#include "traces/registry.h"
#include "traces/stat.h"
#include "traces/unroll.h"

#include <inttypes.h>
#include <string.h>

struct trace_options {
    struct option_texts settings, caches;
    const char *format, *seed, *output, *to;
    const char *scenario, *service, *train, *bad_rows;
    int refit;
    int form; /* enum answer_form */
};

static const char *const refits[] = {"nothing", "overhead", NULL};

#define AT(name) offsetof(struct trace_options, name)
static const struct option trace_options[] = {
    {"What is read", "format", 'f', OPTION_TEXT, AT(format), "FORMAT", NULL,
     "format of FILE ('orrery list formats'); default: guessed from its beginning"},
    {NULL, "set", 's', OPTION_TEXTS, AT(settings), "KEY=VALUE", NULL, "a parameter of the format: rate_scale=2"},
    {NULL, "seed", 0, OPTION_TEXT, AT(seed), "N", NULL, "seed of generators and random transforms; default: 1"},
    {"What comes out", "output", 'o', OPTION_TEXT, AT(output), "FILE", NULL, "the new trace; gzip when it ends in .gz"},
    {NULL, "to", 't', OPTION_TEXT, AT(to), "FORMAT", NULL,
     "csv, csv-chunks, jsonl, azure-llm, mooncake, sessions; csv-jobs, csv-graphs, philly"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "stat, replay: print one JSON object"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms,
     "stat: print the values as CSV; replay: the distributions"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "stat, replay: print tables of LaTeX"},
    {NULL, "prefix-cache", 0, OPTION_TEXTS, AT(caches), "POLICY=N,...", NULL,
     "stat: hits of a cache of N prompt blocks with this eviction policy"},
    {"How a log is replayed", "scenario", 0, OPTION_TEXT, AT(scenario), "SCENARIO", NULL,
     "the deployment; --set changes its values, -o stores the run"},
    {NULL, "service", 0, OPTION_TEXT, AT(service), "NAME", NULL, "the service of the scenario, if it has several"},
    {NULL, "allow-bad-rows", 0, OPTION_TEXT, AT(bad_rows), "N", NULL,
     "most unreadable rows of the log to leave out; default: 0"},
    {NULL, "refit", 0, OPTION_CHOICE, AT(refit), "overhead", refits,
     "fit the engine's CPU overhead on one part of the log, test it on the other"},
    {NULL, "train", 0, OPTION_TEXT, AT(train), "SHARE", NULL,
     "share of the log to fit on, from its start; default: 0.5"},
    {0}};
#undef AT

/* An open trace: one of the two sources. */
struct opened {
    struct arena arena;
    struct config *config;
    const struct trace_format *format;
    struct source_options options;
    struct request_source *requests;
    struct job_source *jobs;
};

static void trace_close(struct opened *trace)
{
    if (trace->requests != NULL) trace->requests->close(trace->requests);
    if (trace->jobs != NULL) trace->jobs->close(trace->jobs);
    config_destroy(trace->config);
    arena_fini(&trace->arena);
}

static const struct trace_format *find_format(struct cli *cli, const char *name)
{
    const struct trace_format *format = trace_format_find(name);
    if (format != NULL) return format;
    const char *names[128];
    size_t n = 0;
    for (size_t i = 0; i < trace_format_count() && n < sizeof names / sizeof *names; i++)
        names[n++] = trace_format_at(i)->name;
    const char *nearest = text_nearest(name, names, n);
    char hint[128] = "'orrery list formats' shows all";
    if (nearest != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "unknown format '%s'", name);
    return NULL;
}

/* Makes the document a scenario would have here: the path, and the settings over it. */
static int load_params(struct cli *cli, struct opened *trace, const char *path, const struct option_texts *settings)
{
    struct text json;
    struct json_writer writer;
    text_init(&json);
    json_writer_init(&writer, &json);
    json_write_open(&writer, NULL, '{');
    if (path != NULL) json_write_string(&writer, "path", path);
    json_write_close(&writer, '}');
    int code = json.failed ? SIM_E_NOMEM
                           : config_parse("the parameters", ".", json.chars, json.length, &trace->config, &cli->diag);
    text_fini(&json);
    for (size_t i = 0; i < settings->n && code == 0; i++)
        code = config_set(trace->config, settings->items[i], &cli->diag);
    return code;
}

static int read_seed(struct cli *cli, const char *text, uint64_t *seed)
{
    int64_t number = 1;
    if (text != NULL && (number_i64(text, strlen(text), &number) != NUMBER_OK || number < 0))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, NULL,
                          "option '--seed' must be a whole number from 0, got '%s'", text);
    *seed = (uint64_t)number;
    return 0;
}

static int check_file(void *context, const char *path)
{
    return outputs_check(context, path);
}

/* The new trace must not replace a file that is read. */
static int check_output(struct cli *cli, const struct trace_options *options, const struct config_families *families,
                        const struct opened *trace, const void *params)
{
    struct outputs outputs = {.diag = &cli->diag};
    int code = outputs_add_form(&outputs, "--output", options->output, "text", "csv json jsonl txt");
    return code == 0 ? named_files_each(families, trace->format->params, params, check_file, &outputs) : code;
}

/* A setting may not name the format; columns belong to a table, so without -f they choose its format in *name. */
static int check_setting(struct cli *cli, const char *setting, const char **name)
{
    static const char columns[] = "columns.", *const of_jobs[] = {"submit", "duration", "gpus"};
    const char *key = setting + sizeof columns - 1;
    if (strncmp(setting, "format=", strlen("format=")) == 0)
        return diag_error(&cli->diag, SIM_E_USAGE, "--set format", NULL, "the format is named by -f: -f %.60s",
                          setting + strlen("format="));
    if (*name != NULL || strncmp(setting, columns, sizeof columns - 1) != 0) return 0;
    *name = "csv";
    for (size_t i = 0; i < sizeof of_jobs / sizeof *of_jobs; i++)
        if (strncmp(key, of_jobs[i], strlen(of_jobs[i])) == 0) *name = "csv-jobs";
    return 0;
}

/* The format that -f names, else that of the settings, else that of the file. */
static int choose_format(struct cli *cli, const char *options_format, const char *path,
                         const struct option_texts *settings, const struct trace_format **format)
{
    const char *name = options_format;
    int code = 0;
    for (size_t i = 0; i < settings->n && code == 0; i++) code = check_setting(cli, settings->items[i], &name);
    if (code != 0) return code;
    const bool is_json = path != NULL && trace_is_json(path);
    if (is_json && name != NULL && options_format == NULL && strcmp(name, "csv") == 0) name = "jsonl";
    const char *hint = is_json ? "name it with -f; jsonl reads any JSON Lines of requests, with --set columns.KEY=NAME"
                               : "name it with -f; csv and csv-jobs read any table, with --set columns.KEY=NAME";
    if (name == NULL && path != NULL && trace_guess(path, TRACE_BOTH, NULL, format, NULL) == 0) return 0;
    if (name == NULL && path != NULL && file_kind_check_path(path, FILE_TRACE, &cli->diag) != 0) return SIM_E_USAGE;
    if (name == NULL && path != NULL) return trace_guess(path, TRACE_BOTH, hint, format, &cli->diag);
    *format = find_format(cli, name != NULL ? name : "generate");
    return *format != NULL ? 0 : SIM_E_USAGE;
}

/* The parameter of the format with this name, or NULL. */
static const struct config_field *find_parameter(const struct trace_format *format, const char *name)
{
    const struct config_field *field = format->params;
    while (field->name != NULL && strcmp(field->name, name) != 0) field++;
    return field->name != NULL ? field : NULL;
}

/* A format that reads a file generates nothing. */
static int check_generates(struct cli *cli, const struct opened *trace)
{
    const struct config_field *file = find_parameter(trace->format, "path");
    if (file == NULL || !(file->flags & CONFIG_REQUIRED) || config_is_given(trace->config, "path")) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, NULL,
                      "leave out -f, or name a generator: 'orrery list formats generate' shows them",
                      "format '%s' reads a file and generates nothing", trace->format->name);
}

/* Opens the trace; `path` is NULL for generators. trace_close may follow in either case. */
static int trace_open(struct cli *cli, const struct trace_options *options, const char *path, struct opened *trace)
{
    memset(trace, 0, sizeof *trace);
    arena_init(&trace->arena);
    int code = choose_format(cli, options->format, path, &options->settings, &trace->format);
    if (code != 0) return code;
    code = load_params(cli, trace, path, &options->settings);
    if (code == 0 && path == NULL) code = check_generates(cli, trace);
    void *params = arena_alloc(&trace->arena, trace->format->params_bytes);
    if (params == NULL) return SIM_E_NOMEM;
    struct config_families families = cli_families(NULL);
    families.advice = find_parameter(trace->format, "arrival") != NULL ? key_advice_of_trace : NULL;
    if (code == 0)
        code = config_bind(trace->config, trace->format->params, &families, &trace->arena, params,
                           trace->format->params_bytes, &cli->diag);
    if (code == 0) code = check_output(cli, options, &families, trace, params);
    trace->options = (struct source_options){.stream = "trace", .where = "--set", .interrupt = cli->interrupt};
    if (code == 0) code = read_seed(cli, options->seed, &trace->options.seed);
    if (code != 0) return code;
    if (trace->format->open_requests != NULL)
        return trace->format->open_requests(params, &trace->options, &trace->requests, &cli->diag);
    return trace->format->open_jobs(params, &trace->options, &trace->jobs, &cli->diag);
}

/* Reports rows and values that were dropped or changed. Without memory to unroll sessions the source is already
 * closed. */
static void add_notes(struct cli *cli, const struct opened *trace)
{
    struct source_note note;
    if (trace->requests == NULL && trace->jobs == NULL) return;
    for (size_t i = 0; trace->requests != NULL ? trace->requests->note(trace->requests, i, &note)
                                               : trace->jobs->note(trace->jobs, i, &note);
         i++)
        diag_warning(&cli->diag, note.where, NULL, "%s (%" PRId64 " times)", note.text, note.count);
}

/* --- The topics --- */

/* Runs the action of the topic on an open trace; `path` is its file, NULL for generators. */
typedef int (*topic_fn)(struct cli *cli, const struct trace_options *options, const char *path, struct opened *trace);

/* Sessions as single requests. Their answers come at once. */
static int unroll(struct cli *cli, struct opened *trace)
{
    struct request_source *sessions = trace->requests;
    if (sessions == NULL || sessions->session == NULL) return 0;
    trace->requests = NULL;
    return unroll_open(sessions, &trace->requests, &cli->diag);
}

enum { LONG_OUTPUTS = 3 }; /* times the prompts: more than traces of people, and less than those with columns swapped */

static void warn_of_outputs(struct cli *cli, const char *path, const struct trace_check *found)
{
    if (found->output_tokens <= LONG_OUTPUTS * found->prompt_tokens) return;
    diag_warning(&cli->diag, path, "see that the columns of prompts and outputs are not swapped",
                 "outputs are %.3g times as long as prompts",
                 (double)found->output_tokens / (double)found->prompt_tokens);
}

static void warn_of_ids(struct cli *cli, const char *path, const struct trace_check *found)
{
    if (found->n_same_ids == 0) return;
    diag_warning(&cli->diag, path,
                 "give each job an id of its own, or leave out the column of ids; sacct lists attempts with '-D' alone",
                 "%" PRId64 " jobs have the id of an earlier one, the first %" PRId64
                 ": each is a job of its own, which no command can name",
                 found->n_same_ids, found->first_same_id);
}

static int check(struct cli *cli, const struct trace_options *options, const char *path, struct opened *trace)
{
    struct trace_check found;
    int code = unroll(cli, trace);
    if (code != 0) return code;
    code = trace->requests != NULL ? trace_check_requests(trace->requests, &found, &cli->diag)
                                   : trace_check_jobs(trace->jobs, &found, &cli->diag);
    if (code != 0 && code != SIM_E_DATA) return code;
    if (code == 0) warn_of_outputs(cli, path, &found);
    if (code == 0) warn_of_ids(cli, path, &found);
    if (options->format == NULL)
        answer_print(cli->out, "%s: format %s, guessed from its beginning\n", path, trace->format->name);
    trace_report_check(&found, path, trace->requests != NULL, cli->out);
    return code;
}

/* Logs the blocks if prefix caches are to be tried on them. */
static int stat_requests(struct cli *cli, struct opened *trace, struct trace_caches *caches, struct trace_stat *found)
{
    struct block_log log = {0};
    struct logging_source logging;
    logging_source_init(&logging, trace->requests, &log);
    int code = trace_stat_requests(caches->n > 0 ? &logging.source : trace->requests, found, &cli->diag);
    if (code == 0) code = trace_caches_run(caches, &log, &cli->diag);
    block_log_fini(&log);
    return code;
}

static int stat(struct cli *cli, const struct trace_options *options, const char *path, struct opened *trace)
{
    (void)path;
    struct trace_stat found;
    struct trace_caches caches;
    struct config_families families = cli_families(cli->plugins);
    int code = unroll(cli, trace);
    if (code != 0) return code;
    code = trace_caches_read(&options->caches, &families, trace->options.seed, &caches, &cli->diag);
    if (code == 0)
        code = trace->requests != NULL ? stat_requests(cli, trace, &caches, &found)
                                       : trace_stat_jobs(trace->jobs, &found, &cli->diag);
    if (code == 0 && trace->requests == NULL) code = trace_caches_run(&caches, &(struct block_log){0}, &cli->diag);
    if (code == 0)
        code = trace_report_stat(&found, trace->requests != NULL, &caches, (enum answer_form)options->form, cli->out);
    trace_caches_fini(&caches);
    return code;
}

static const struct trace_writer *find_writer(struct cli *cli, const char *name, bool requests)
{
    const char *names[33] = {NULL};
    for (size_t i = 0, n = 0; trace_writer_at(i) != NULL && n < 32; i++)
        if ((trace_writer_at(i)->job == NULL) == requests) names[n++] = trace_writer_at(i)->name;
    int found = cli_pick(cli, requests ? "format for requests" : "format for jobs", name, names);
    return found >= 0 ? trace_writer_find(names[found]) : NULL;
}

/* Calendar times do not come into the new file. */
static void put_origin(struct cli *cli, struct source_place place)
{
    char when[TIMESTAMP_CHARS];
    if (place.origin_ns == 0) return;
    timestamp_show(place.origin_ns, when);
    answer_print(cli->out, "; its time 0 was %s", when);
}

static int convert(struct cli *cli, const struct trace_options *options, const char *path, struct opened *trace)
{
    (void)path;
    bool requests = trace->requests != NULL;
    const bool sessions = requests && trace->requests->session != NULL;
    const char *to = sessions ? "sessions" : requests ? "csv" : "csv-jobs";
    if (options->to != NULL) to = options->to;
    const struct trace_writer *writer = find_writer(cli, to, requests);
    if (writer == NULL) return SIM_E_USAGE;
    if (writer->session != NULL && !sessions)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL,
                          "convert to csv, jsonl or mooncake; formats 'sessions' and 'generate-sessions' have waits, "
                          "sessions of a log do not",
                          "requests of '%s' are of no sessions with waits", trace->format->name);
    int64_t n;
    int code = writer->session == NULL ? unroll(cli, trace) : 0;
    if (code != 0) return code;
    code = requests ? trace_convert_requests(trace->requests, writer, options->output, &n, &cli->diag)
                    : trace_convert_jobs(trace->jobs, writer, options->output, &n, &cli->diag);
    if (code != 0) return code;
    answer_print(cli->out, "%s: %" PRId64 " %s", options->output, n,
                 writer->session != NULL ? "sessions"
                 : requests              ? "requests"
                                         : "jobs");
    put_origin(cli, requests ? trace->requests->place(trace->requests) : trace->jobs->place(trace->jobs));
    answer_print(cli->out, "\n");
    return 0;
}

/* --- The verb --- */

enum { CHECK, STAT, CONVERT, GENERATE, REPLAY };
static const char *const topics[] = {"check", "stat", "convert", "generate", "replay", NULL};

static int fail_usage(struct cli *cli, const char *hint, const char *text)
{
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "%s", text);
}

static int check_replay(struct cli *cli, const struct trace_options *options, const char *log)
{
    static const char usage[] = "usage: orrery trace replay LOG --scenario SCENARIO";
    if (log == NULL) return fail_usage(cli, usage, "there is no log to replay");
    if (file_kind_check_log(log, &cli->diag) != 0) return SIM_E_USAGE;
    if (options->format == NULL && compare_log_refuse(log, &cli->diag) != 0) return SIM_E_USAGE;
    if (options->scenario == NULL)
        return fail_usage(cli, "name the deployment with --scenario, such as quickstart",
                          "a log is replayed through a scenario");
    if (options->to != NULL) return fail_usage(cli, "'orrery trace convert' does", "this writes no trace");
    if (options->caches.n > 0) return fail_usage(cli, "'orrery trace stat' does", "this tries no prefix caches");
    if (options->train != NULL && options->refit == 0) return fail_usage(cli, NULL, "--train goes with --refit");
    return 0;
}

static int read_bad_rows(struct cli *cli, const struct trace_options *options, int64_t *allowed)
{
    const char *text = options->bad_rows;
    *allowed = 0;
    if (text == NULL || (number_i64(text, strlen(text), allowed) == NUMBER_OK && *allowed >= 0)) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, NULL,
                      "option '--allow-bad-rows' must be a count of rows, 0 or more, got '%s'", text);
}

static int replay(struct cli *cli, const struct trace_options *options, const char *path)
{
    int64_t bad_rows;
    const int code = read_bad_rows(cli, options, &bad_rows);
    if (code != 0) return code;
    const struct trace_replay_options replay = {
        .request = {.log = path, .format = options->format, .scenario = options->scenario,
                    .service = options->service, .seed = options->seed, .settings = &options->settings,
                    .allow_bad_rows = bad_rows},
        .output = options->output,
        .train = options->train,
        .refit = options->refit != 0,
        .form = (enum answer_form)options->form};
    return trace_replay(cli, &replay);
}

static int check_usage(struct cli *cli, int topic, const struct trace_options *options, const struct cli_call *call)
{
    const int n_arguments = call->n_arguments;
    bool writes = topic == CONVERT || topic == GENERATE;
    if (topic == REPLAY) return check_replay(cli, options, n_arguments < 2 ? NULL : call->arguments[1]);
    if (options->scenario != NULL || options->service != NULL || options->refit != 0 || options->train != NULL)
        return fail_usage(cli, "'orrery trace replay' does", "this replays nothing");
    if (options->bad_rows != NULL)
        return fail_usage(cli, "write --set allow_bad_rows=N", "--allow-bad-rows is for logs that are replayed");
    if (topic != GENERATE && n_arguments < 2)
        return fail_usage(cli,
                          topic == CHECK  ? "usage: orrery trace check FILE"
                          : topic == STAT ? "usage: orrery trace stat FILE"
                                          : "usage: orrery trace convert FILE -o FILE [-t FORMAT]",
                          "there is no trace to read");
    if (topic == GENERATE && n_arguments > 1)
        return fail_usage(cli, "name the new file with -o", "a generator reads no file");
    if (writes && options->output == NULL) return fail_usage(cli, "name it with -o", "the new trace has no file");
    if (!writes && (options->output != NULL || options->to != NULL))
        return fail_usage(cli, "'orrery trace convert' does", "this writes no trace");
    if (topic != STAT && options->form != ANSWER_TEXT)
        return fail_usage(cli, "--json, --csv and --latex are for 'orrery trace stat' and 'replay'",
                          "this prints no table");
    if (topic != STAT && options->caches.n > 0)
        return fail_usage(cli, "'orrery trace stat' does", "this tries no prefix caches");
    return 0;
}

static int trace(struct cli *cli, const struct cli_call *call)
{
    static const topic_fn run[] = {check, stat, convert, convert};
    const struct trace_options *options = call->options;
    int topic = cli_pick(cli, "topic", call->arguments[0], topics);
    int code = topic >= 0 ? check_usage(cli, topic, options, call) : SIM_E_USAGE;
    if (code != 0) return code;
    if (topic == REPLAY) return replay(cli, options, call->arguments[1]);

    const char *path = topic != GENERATE ? call->arguments[1] : NULL;
    struct opened trace;
    code = trace_open(cli, options, path, &trace);
    if (code == 0) {
        code = run[topic](cli, options, path, &trace);
        add_notes(cli, &trace);
    }
    trace_close(&trace);
    return code;
}

const struct verb verb_trace = {
    .name = "trace",
    .summary = "check, describe, convert, generate and replay traces",
    .usage = "check FILE [-f FORMAT] [--set KEY=VALUE]...\nstat FILE [-f FORMAT] [--prefix-cache POLICY=BLOCKS,...]... [--json]\n"
             "convert FILE [-f FORMAT] -o FILE [-t FORMAT]\ngenerate -o FILE [-t FORMAT] [--set KEY=VALUE]... [--seed N]\n"
             "replay LOG --scenario SCENARIO [--set KEY=VALUE]... [--refit overhead]",
    .notes = "check:    report every wrong row with its place\n"
             "stat:     rate, burstiness, lengths: what a generator has to match. --prefix-cache adds what a cache of\n"
             "          prompt blocks would have found, for any eviction policy: lru=1000,3000,inf; parameters of the\n"
             "          policy go between colons: discard-bit:error=0.1=1000\n"
             "convert:  write it in another format, transforms applied\n"
             "generate: write a synthetic trace\n"
             "replay:   run a real engine's log through a scenario, and compare simulated with measured times\n",
    .options = trace_options,
    .options_bytes = sizeof(struct trace_options),
    .min_arguments = 1,
    .max_arguments = 2,
    .takes_plugins = true,
    .run = trace,
};
