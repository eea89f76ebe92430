/* orrery compare: two runs, or two groups of runs. */
#include "analysis/compare/compare.h"
#include "analysis/stats/importance.h"
#include "sim/cli/cli.h"
#include "sim/cli/file_kind.h"
#include "sim/cli/study/compare_log.h"
#include "sim/cli/study/compare_print.h"
#include "sim/core/number.h"
#include "sim/store/readback.h"
#include "sim/world/rows/metric.h"

#include <string.h>

struct compare_verb_options {
    const char *base, *changed, *margin;
    struct option_texts metrics;
    bool steady, points, all;
    int form; /* enum answer_form */
    int fail_on;
};

static const char *const failures[] = {"never", "worse", NULL};

#define AT(name) offsetof(struct compare_verb_options, name)
static const struct option compare_verb_options[] = {
    {"What is compared", "base", 'b', OPTION_TEXT, AT(base), "KEY=VALUE,...", NULL,
     "runs of DB with these parameters, or by seed, run, name, policies or scenario keys"},
    {NULL, "new", 'n', OPTION_TEXT, AT(changed), "KEY=VALUE,...", NULL, "runs compared with the base"},
    {NULL, "metric", 'm', OPTION_TEXTS, AT(metrics), "NAME", NULL, "only metrics whose name contains this: ttft_s.p99"},
    {"How it is judged", "margin", 0, OPTION_TEXT, AT(margin), "PERCENT", NULL,
     "percent of the base below which differences count as none; default: 1%"},
    {NULL, "steady", 0, OPTION_FLAG, AT(steady), NULL, NULL,
     "intervals for the steady state: warm-up by MSER-5, batch means"},
    {NULL, "fail-on", 0, OPTION_CHOICE, AT(fail_on), "never|worse", failures,
     "exit with 1 if some metric is worse, even in one configuration only"},
    {"What comes out", "all", 'a', OPTION_FLAG, AT(all), NULL, NULL, "all metrics, not the six most important"},
    {NULL, "points", 0, OPTION_FLAG, AT(points), NULL, NULL, "also every single configuration of the study"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object, with all configurations"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the metrics as CSV, with all configurations"},
    {NULL, "markdown", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print a table in Markdown"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print tables of LaTeX"},
    {0}};
#undef AT

/* "1%", "1" and "0.5 %" are percent. */
static int read_margin(struct cli *cli, const char *text, double *margin_frac)
{
    size_t n = strlen(text);
    double percent;
    if (n > 0 && text[n - 1] == '%') n--;
    while (n > 0 && text[n - 1] == ' ') n--;
    if (number_f64(text, n, &percent) != NUMBER_OK || !(percent >= 0 && percent <= 100))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "write a percentage of 0 to 100, like 1%",
                          "'--margin' does not take '%s'", text);
    *margin_frac = percent / 100;
    return 0;
}

/* The metric dictionary in the form of analysis/compare. */
static struct compare_metric *read_dictionary(void)
{
    static const enum compare_direction directions[] = {
        [METRIC_NEUTRAL] = COMPARE_NEUTRAL, [METRIC_LOWER] = COMPARE_LOWER, [METRIC_HIGHER] = COMPARE_HIGHER};
    size_t n = 0;
    while (metric_dictionary[n].name != NULL) n++;
    struct compare_metric *metrics = mem_zalloc(n + 1, sizeof *metrics);
    for (size_t i = 0; metrics != NULL && i < n; i++)
        metrics[i] = (struct compare_metric){metric_dictionary[i].name, directions[metric_dictionary[i].direction]};
    return metrics;
}

static int check_usage(struct cli *cli, const struct compare_verb_options *options, int n_arguments)
{
    const bool selects = options->base != NULL || options->changed != NULL;
    if (selects && (options->base == NULL || options->changed == NULL))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, NULL, "--base and --new go together");
    if (n_arguments == 1 && !selects)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL,
                          "name two runs, as results.db:1 results.db:2, or choose groups with --base and --new",
                          "there is nothing to compare with");
    return 0;
}

/* Without --base and --new: two runs if one argument names its number, else all runs that pair. */
static int compare_arguments(struct cli *cli, const struct compare_verb_options *verb, const struct cli_call *call,
                             const struct compare_options *options, struct comparison *comparison)
{
    struct compare_source sources[2];
    int code = 0;
    struct arena arena;
    arena_init(&arena);
    for (int i = 0; code == 0 && i < 2; i++) {
        const char *name = call->arguments[i < call->n_arguments ? i : 0];
        code = results_split_name(name, &arena, &sources[i].path, &sources[i].run_id);
    }
    const bool has_run = code == 0 && (sources[0].run_id != 0 || sources[1].run_id != 0);
    if (code == 0 && has_run && verb->base != NULL)
        code = diag_error(&cli->diag, SIM_E_USAGE, NULL, "leave out the number, or choose it with run=...",
                          "--base and --new choose runs of a whole file");
    else if (code == 0 && has_run)
        code = compare_runs(&sources[0], &sources[1], options, comparison, &cli->diag);
    else if (code == 0)
        code = compare_groups(sources[0].path, verb->base, sources[1].path, verb->changed, options, comparison,
                              &cli->diag);
    arena_fini(&arena);
    return code;
}

static bool is_gate(const struct compare_verb_options *verb)
{
    return strcmp(failures[verb->fail_on], "worse") == 0;
}

/* Counts metrics that are worse, over all points or at one point; rows of a metric are adjacent. */
static int check_gate(struct cli *cli, const struct compare_verb_options *verb, const struct comparison *comparison)
{
    size_t n = 0;
    const struct compare_row *first = NULL, *last = NULL;
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct compare_row *row = &comparison->rows[i];
        if (row->verdict != COMPARE_WORSE) continue;
        if (first == NULL) first = row;
        if (last == NULL || strcmp(last->metric, row->metric) != 0) n++;
        last = row;
    }
    if (n == 0 || !is_gate(verb)) return 0;
    return diag_error(&cli->diag, SIM_E_GATE, NULL, NULL, "%zu %s worse, the first is %s%s%s", n,
                      n == 1 ? "metric is" : "metrics are", first->metric, first->point != NULL ? " at " : "",
                      first->point != NULL ? first->point : "");
}

/* The argument that is a log with measured times, or -1. */
static int find_log(const struct cli_call *call)
{
    for (int i = 0; call->n_arguments == 2 && i < 2; i++)
        if (compare_log_is(call->arguments[i])) return i;
    return -1;
}

static int compare_measured(struct cli *cli, const struct cli_call *call, int log)
{
    const struct compare_verb_options *verb = call->options;
    if (verb->base != NULL || verb->changed != NULL || verb->margin != NULL || verb->metrics.n > 0 || verb->steady ||
        verb->points || verb->all || verb->fail_on != 0)
        return diag_error(&cli->diag, SIM_E_USAGE, call->arguments[log],
                          "leave all options but --json and its like out",
                          "a log has measured times of requests, and no metrics to choose or to judge");
    return compare_log(cli, call->arguments[1 - log], call->arguments[log], (enum answer_form)verb->form);
}

static int compare(struct cli *cli, const struct cli_call *call)
{
    const struct compare_verb_options *verb = call->options;
    const int log = find_log(call);
    if (log >= 0) return compare_measured(cli, call, log);
    for (int i = 0; i < call->n_arguments; i++)
        if (compare_log_refuse(call->arguments[i], &cli->diag) != 0) return SIM_E_USAGE;
    for (int i = 0; i < call->n_arguments; i++) {
        const int kind_code = file_kind_check_results(call->arguments[i], &cli->diag);
        if (kind_code != 0) return kind_code;
    }
    struct compare_options options = {.level = 0.95, .margin_frac = 0.01, .resamples = 2000, .seed = 1};
    struct comparison comparison = {0};
    const char *only[OPTION_MAX_TEXTS + 1] = {NULL};
    int code = check_usage(cli, verb, call->n_arguments);
    if (code == 0 && verb->margin != NULL) code = read_margin(cli, verb->margin, &options.margin_frac);
    if (code != 0) return code;
    for (size_t i = 0; i < verb->metrics.n; i++) only[i] = verb->metrics.items[i];
    struct compare_metric *dictionary = read_dictionary();
    if (dictionary == NULL) return SIM_E_NOMEM;
    options.dictionary = dictionary;
    options.only = verb->metrics.n > 0 ? only : NULL;
    options.ranked = verb->all || verb->metrics.n > 0 ? NULL : metrics_by_importance;
    options.steady = verb->steady;
    arena_init(&comparison.arena);
    code = compare_arguments(cli, verb, call, &options, &comparison);
    const struct compare_print what = {.comparison = &comparison,
                                       .options = &options,
                                       .points = verb->points,
                                       .worse_points = is_gate(verb),
                                       .parts = verb->all};
    if (code == 0) code = compare_print(&what, (enum answer_form)verb->form, cli->out, &cli->diag);
    if (code == 0) code = check_gate(cli, verb, &comparison);
    comparison_fini(&comparison);
    mem_free(dictionary);
    return code;
}

const struct verb verb_compare = {
    .name = "compare",
    .summary = "compare two runs or two groups of runs: what changed, and how certain that is",
    .usage = "DB:RUN DB:RUN [options]\nDB --base KEY=VALUE,... --new KEY=VALUE,... [options]\nDB DB [options]\n"
             "DB[:RUN] LOG",
    .notes = "Two runs are paired by request and job, and intervals are over these. Groups of runs are paired by seed and by\n"
             "the parameters of their study outside --base and --new; intervals are over the seeds. Two files: all runs\n"
             "of one against all runs of the other. LOG is an engine's log or the result of a benchmark that the run\n"
             "replayed: its measured times are compared with the simulated ones. Verdicts, for intervals of 95 % and\n"
             "after Holm's correction for the metrics shown (for a metric that is not shown: for all):\n\n"
             "  same            the whole interval lies within the margin\n"
             "  better, worse   zero is outside the interval ('differs' for neutral metrics,\n"
             "                  and for gains of runs that reject a larger share of their requests)\n"
             "  unclear         neither, or there is no interval\n",
    .options = compare_verb_options,
    .options_bytes = sizeof(struct compare_verb_options),
    .min_arguments = 1,
    .max_arguments = 2,
    .run = compare,
};
