/* orrery check: the regression gate of a CI. */
#include "sim/cli/answer.h"
#include "sim/cli/file_kind.h"
#include "sim/cli/key_names.h"
#include "sim/cli/paths.h"
#include "sim/cli/study/check_changes.h"
#include "sim/cli/study/check_runs.h"
#include "sim/cli/study/sweeping.h"
#include "sim/cli/version.h"
#include "sim/core/output.h"
#include "sim/core/path.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check_options {
    const char *baseline, *seed, *only, *workers, *junit, *markdown;
    struct option_texts settings;
    int form; /* enum answer_form */
    bool update, quiet, by_change;
};

#define AT(name) offsetof(struct check_options, name)
static const struct option check_options[] = {
    {"What is checked", "baseline", 'b', OPTION_TEXT, AT(baseline), "FILE", NULL,
     "the scenarios with their expected results"},
    {NULL, "only", 0, OPTION_TEXT, AT(only), "PATTERN", NULL, "only scenarios of the baseline whose name matches"},
    {NULL, "set", 's', OPTION_TEXTS, AT(settings), "KEY=VALUE", NULL,
     "set a value of SCENARIO; paths are relative to the baseline"},
    {NULL, "seed", 0, OPTION_TEXT, AT(seed), "N", NULL, "seed of SCENARIO's random streams"},
    {NULL, "update", 'u', OPTION_FLAG, AT(update), NULL, NULL,
     "write the results into the baseline instead; a new SCENARIO is added to it"},
    {NULL, "by-change", 0, OPTION_FLAG, AT(by_change), NULL, NULL,
     "also run what moved with each difference from the baseline's scenario alone"},
    {"Where the verdict goes", "junit", 0, OPTION_TEXT, AT(junit), "FILE", NULL, "also as JUnit XML, for a CI server"},
    {NULL, "markdown", 0, OPTION_TEXT, AT(markdown), "FILE", NULL, "also as Markdown, for $GITHUB_STEP_SUMMARY"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the scenarios as CSV"},
    {NULL, "quiet", 'q', OPTION_FLAG, AT(quiet), NULL, NULL, "print nothing when the gate is met"},
    {"How it is computed (the result stays the same)", "jobs", 'j', OPTION_TEXT, AT(workers), "N", NULL,
     "runs in parallel; default: one per core"},
    {0}};
#undef AT

/* The state of one call. */
struct checking {
    struct cli *cli;
    const struct check_options *options;
    struct arena *arena;
    struct baseline baseline;
    struct gate_report report;
    struct gate_outcome *outcomes;
    struct text platform;
};

/* --- Which entries --- */

/* The directory part of `path` that it shares with the directory `from`; both absolute and normal. */
static size_t shared_directories(const char *from, const char *path)
{
    size_t shared = 0;
    for (size_t i = 0;; i++) {
        bool ends_from = from[i] == 0 || from[i] == '/', ends_path = path[i] == 0 || path[i] == '/';
        if (ends_from && ends_path) shared = i;
        if (from[i] == 0 || path[i] == 0 || from[i] != path[i]) return shared;
    }
}

/* The path of a file relative to the baseline's directory. In the arena; NULL when out of memory. */
static const char *seen_from(struct arena *arena, const char *directory, const char *path)
{
    char full_directory[PATH_MAX], full_path[PATH_MAX];
    if (realpath(directory, full_directory) == NULL || realpath(path, full_path) == NULL)
        return arena_strdup(arena, path);
    size_t shared = shared_directories(full_directory, full_path);
    const char *seen = full_path + shared + (full_path[shared] == '/');
    for (const char *rest = full_directory + shared; seen != NULL && *rest != 0; rest++)
        if (*rest == '/' && rest[1] != 0) seen = arena_printf(arena, "../%s", seen);
    return seen != NULL ? arena_strdup(arena, seen) : NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Whether the entry is the scenario of the command line; without --set and --seed, whatever its settings. */
static bool is_asked_for(const struct checking *checking, const struct baseline_entry *entry, const char *scenario)
{
    const struct check_options *options = checking->options;
    if (strcmp(entry->scenario, scenario) != 0) return false;
    if (options->settings.n == 0 && options->seed == NULL) return true;
    if (entry->n_settings != options->settings.n || !same_text(entry->seed, options->seed)) return false;
    for (size_t i = 0; i < entry->n_settings; i++)
        if (strcmp(entry->settings[i], options->settings.items[i]) != 0) return false;
    return true;
}

static int add_entry(struct checking *checking, const char *scenario)
{
    struct baseline *baseline = &checking->baseline;
    struct baseline_entry *entry = baseline_add(baseline, checking->arena);
    if (entry == NULL) return diag_nomem(&checking->cli->diag);
    entry->scenario = scenario;
    entry->seed = checking->options->seed;
    entry->n_settings = checking->options->settings.n;
    entry->settings = arena_alloc(checking->arena, (entry->n_settings + 1) * sizeof *entry->settings);
    if (entry->settings == NULL) return diag_nomem(&checking->cli->diag);
    for (size_t i = 0; i < entry->n_settings; i++) entry->settings[i] = checking->options->settings.items[i];
    entry->name = baseline_default_name(entry, checking->arena);
    if (entry->name == NULL) return diag_nomem(&checking->cli->diag);
    for (size_t i = 0; i + 1 < baseline->n_entries; i++)
        if (strcmp(baseline->entries[i].name, entry->name) == 0)
            return diag_error(&checking->cli->diag, SIM_E_USAGE, scenario, "give that one another name in the baseline",
                              "the baseline has another scenario named '%s'", entry->name);
    return 0;
}

/* Adds an entry for every SCENARIO that has none. */
static int add_missing(struct checking *checking, int n, const char **scenarios)
{
    int code = 0;
    for (int i = 0; code == 0 && i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < checking->baseline.n_entries; k++)
            found = found || is_asked_for(checking, &checking->baseline.entries[k], scenarios[i]);
        if (!found) code = add_entry(checking, scenarios[i]);
    }
    return code;
}

static bool is_chosen(const struct checking *checking, const struct baseline_entry *entry, int n,
                      const char *const *scenarios)
{
    const char *only = checking->options->only;
    bool chosen = n == 0;
    for (int i = 0; i < n; i++) chosen = chosen || is_asked_for(checking, entry, scenarios[i]);
    return chosen && (only == NULL || fnmatch(only, entry->name, 0) == 0);
}

/* Lists the entries to run, in the report. */
static int choose(struct checking *checking, const struct cli_call *call)
{
    int n = call->n_arguments;
    struct baseline *baseline = &checking->baseline;
    const char **scenarios = arena_alloc(checking->arena, ((size_t)n + 1) * sizeof *scenarios);
    if (scenarios == NULL) return diag_nomem(&checking->cli->diag);
    for (int i = 0; i < n; i++) {
        const char *word = call->arguments[i];
        bool of_catalog = strpbrk(word, "/.") == NULL && !paths_is_file(word);
        scenarios[i] = of_catalog ? word : seen_from(checking->arena, baseline->directory, word);
        if (scenarios[i] == NULL) return diag_nomem(&checking->cli->diag);
    }
    int code = add_missing(checking, n, scenarios);
    if (code != 0) return code;
    struct gate_report *report = &checking->report;
    report->results = arena_alloc(checking->arena, (baseline->n_entries + 1) * sizeof *report->results);
    checking->outcomes = arena_alloc(checking->arena, (baseline->n_entries + 1) * sizeof *checking->outcomes);
    if (report->results == NULL || checking->outcomes == NULL) return diag_nomem(&checking->cli->diag);
    for (size_t i = 0; i < baseline->n_entries; i++)
        if (is_chosen(checking, &baseline->entries[i], n, scenarios))
            report->results[report->n_results++].entry = &baseline->entries[i];
    if (report->n_results > 0) return 0;
    return diag_error(&checking->cli->diag, SIM_E_USAGE, checking->options->baseline, NULL,
                      "none of its scenarios has a name like '%s'", checking->options->only);
}

/* --- Judging, or writing --- */

static int judge(struct checking *checking)
{
    struct gate_report *report = &checking->report;
    int code = 0;
    for (size_t i = 0; code == 0 && i < report->n_results; i++)
        code = gate_judge(&checking->baseline, report->results[i].entry, &checking->outcomes[i], checking->arena,
                          &report->results[i], &checking->cli->diag);
    gate_count(report);
    return code;
}

static int write_file(struct cli *cli, const char *path, const struct gate_report *report,
                      void (*write)(const struct gate_report *report, struct text *text))
{
    struct output *output;
    if (path == NULL) return 0;
    int code = output_open(path, &output, &cli->diag);
    if (code != 0) return code;
    write(report, output_text(output));
    return output_close(output, false, &cli->diag);
}

static int print(const struct checking *checking)
{
    const struct gate_report *report = &checking->report;
    const enum answer_form form = (enum answer_form)checking->options->form;
    struct answer answer;
    if (checking->options->quiet && gate_code(report) == 0 && !answer_is_data(form)) return 0;
    answer_init(&answer, form, "scenarios");
    if (answer_is_data(form))
        gate_json(report, &answer.json);
    else
        gate_text(report, &answer.text);
    return answer_end(&answer, 0, checking->cli->out, &checking->cli->diag);
}

/* With --by-change. Returns like check_changes. */
static int print_changes(const struct checking *checking, int workers)
{
    struct answer answer;
    if (!checking->options->by_change) return 0;
    answer_init(&answer, ANSWER_TEXT, NULL);
    const int code = check_changes(checking->cli, &checking->report, workers, checking->arena, &answer.text);
    return answer_end(&answer, code, checking->cli->out, &checking->cli->diag);
}

static int tell(struct checking *checking, int workers)
{
    struct cli *cli = checking->cli;
    const struct check_options *options = checking->options;
    int code = judge(checking);
    if (code == 0) code = write_file(cli, options->junit, &checking->report, gate_junit);
    if (code == 0) code = write_file(cli, options->markdown, &checking->report, gate_markdown);
    if (code == 0) code = print(checking);
    if (code == 0) code = print_changes(checking, workers);
    if (code != 0) return code;
    code = gate_code(&checking->report);
    if (code == 0) return 0;
    struct text summary, advice;
    text_init(&summary);
    text_init(&advice);
    gate_summary(&checking->report, &summary);
    gate_advise(&checking->report, &advice);
    diag_error(&cli->diag, code, options->baseline, advice.chars, "the gate is not met: %s",
               summary.chars != NULL ? summary.chars : "");
    text_fini(&summary);
    text_fini(&advice);
    return code;
}

/* Prints what moves in the baseline, before it does. */
static int tell_moves(struct checking *checking)
{
    struct answer answer;
    if (checking->options->quiet || answer_is_data((enum answer_form)checking->options->form)) return 0;
    const int code = judge(checking);
    answer_init(&answer, ANSWER_TEXT, NULL);
    if (code == 0) gate_moves(&checking->report, &answer.text);
    return answer_end(&answer, code, checking->cli->out, &checking->cli->diag);
}

/* Makes the results the new baseline. */
static int update(struct checking *checking)
{
    struct cli *cli = checking->cli;
    struct gate_report *report = &checking->report;
    int code = tell_moves(checking);
    if (code != 0) return code;
    for (size_t i = 0; i < report->n_results; i++) {
        const struct gate_outcome *outcome = &checking->outcomes[i];
        const struct baseline_entry *entry = report->results[i].entry;
        if (outcome->code != 0) {
            diag_error(&cli->diag, outcome->code, entry->name, "the baseline stays as it was", "%s", outcome->finding);
            if (code == 0) code = outcome->code;
            continue;
        }
        struct baseline_entry *mine = &checking->baseline.entries[entry - checking->baseline.entries];
        memcpy(mine->hash, outcome->hash, sizeof mine->hash);
        memcpy(mine->scenario_hash, outcome->scenario_hash, sizeof mine->scenario_hash);
        memcpy(mine->inputs, outcome->inputs, sizeof mine->inputs);
        mine->files = outcome->files;
        mine->resolved = outcome->resolved;
        mine->maker = report->maker;
        mine->n_metrics = outcome->n_metrics;
        mine->metrics = outcome->metrics;
        mine->decisions = outcome->decisions;
    }
    if (code != 0) return code;
    code = baseline_save(&checking->baseline, &cli->diag);
    if (code == 0 && !checking->options->quiet)
        answer_print(cli->err, "%zu scenario%s written to %s, which has %zu\n", report->n_results,
                     report->n_results == 1 ? "" : "s", checking->baseline.path, checking->baseline.n_entries);
    return code;
}

/* --- The verb --- */

/* Only --update with scenarios starts a new baseline. */
static int load(struct checking *checking, const struct cli_call *call)
{
    const struct check_options *options = checking->options;
    bool as_new = options->update && call->n_arguments > 0 && access(options->baseline, F_OK) != 0;
    bool whole = options->update && call->n_arguments == 0 && options->only == NULL;
    const int code = as_new ? 0 : file_kind_check_baseline(options->baseline, &checking->cli->diag);
    if (code != 0) return code;
    if (!as_new)
        return baseline_load(&checking->baseline, options->baseline, whole, checking->arena, &checking->cli->diag);
    return baseline_init(&checking->baseline, options->baseline, checking->arena) == 0
               ? 0
               : diag_nomem(&checking->cli->diag);
}

/* Reports must replace neither the baseline nor its inputs. */
static int check_outputs(const struct checking *checking)
{
    const struct check_options *options = checking->options;
    const struct baseline *baseline = &checking->baseline;
    struct outputs outputs = {.diag = &checking->cli->diag};
    int code = outputs_add(&outputs, "--junit", options->junit);
    if (code == 0) code = outputs_add(&outputs, "--markdown", options->markdown);
    if (code == 0) code = outputs_add(&outputs, "--baseline", baseline->path);
    if (code == 0) code = outputs_add(&outputs, "the log of decisions", baseline->log_path);
    for (size_t i = 0; code == 0 && i < baseline->n_entries; i++) {
        const char *scenario = path_join(checking->arena, baseline->directory, baseline->entries[i].scenario);
        code = scenario != NULL ? outputs_check(&outputs, scenario) : diag_nomem(&checking->cli->diag);
    }
    return code == 0 ? outputs_check_plugins(&outputs, checking->cli->plugins) : code;
}

static int check_baseline(struct checking *checking, const struct cli_call *call)
{
    int workers;
    int code = sweeping_read_count(checking->cli, "--jobs", checking->options->workers, &workers);
    if (code == 0) code = load(checking, call);
    if (code == 0) code = choose(checking, call);
    if (code == 0) code = check_outputs(checking);
    if (code != 0) return code;
    checking->report.baseline = &checking->baseline;
    code = check_run_all(checking->cli, &checking->baseline, checking->report.results, checking->report.n_results,
                         workers, checking->arena, checking->outcomes);
    if (code != 0) return code;
    gate_check_patterns(&checking->report, checking->outcomes, &checking->cli->diag);
    return checking->options->update ? update(checking) : tell(checking, workers);
}

static int check(struct cli *cli, const struct cli_call *call)
{
    const struct check_options *options = call->options;
    if (options->baseline == NULL)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "usage: orrery check --baseline FILE [SCENARIO...]",
                          "there is no baseline to check against");
    if (call->n_arguments == 0 && (options->settings.n > 0 || options->seed != NULL))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "name the SCENARIO that they are for",
                          "'--set' and '--seed' belong to a scenario");
    if (options->by_change && (options->update || answer_is_data((enum answer_form)options->form)))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "leave '--update', '--json' and '--csv' out",
                          "'--by-change' belongs to a report in text");
    struct arena arena;
    arena_init(&arena);
    struct checking checking = {.cli = cli, .options = options, .arena = &arena};
    text_init(&checking.platform);
    version_platform(&checking.platform);
    checking.report.maker = (struct maker){.version = version_text(), .commit = version_commit(),
                                           .platform = checking.platform.chars != NULL ? checking.platform.chars : ""};
    int code = checking.platform.failed ? diag_nomem(&cli->diag) : check_baseline(&checking, call);
    text_fini(&checking.platform);
    arena_fini(&arena);
    return code;
}

const struct verb verb_check = {
    .name = "check",
    .summary = "compare runs with their baseline: the gate of a CI",
    .usage = "--baseline FILE [--only PATTERN] [options]\n--baseline FILE SCENARIO... [--set KEY=VALUE] [options]",
    .notes = "Without SCENARIO the whole baseline is checked. Exit status 0: every scenario is unchanged, or moved within its\n"
             "tolerances; 1: one moved further; 2 to 5: one did not run; 70: one crashed with built-in policies alone.\n",
    .options = check_options,
    .explain_key = key_explain_option,
    .options_bytes = sizeof(struct check_options),
    .max_arguments = 1024,
    .takes_plugins = true,
    .run = check,
};
