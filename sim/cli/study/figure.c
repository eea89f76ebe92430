/* orrery figure: simulates figures of papers and judges their claims. */
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/paths.h"
#include "sim/cli/run/results_limit.h"
#include "sim/cli/study/figure_work.h"
#include "sim/cli/study/sweeping.h"

#include <math.h>
#include <string.h>

struct figure_call {
    const char *directory, *results_limit, *workers, *data;
    struct option_texts settings;
    int form; /* enum answer_form */
    bool resume, gnuplot, quiet;
};

#define AT(name) offsetof(struct figure_call, name)
static const struct option figure_options[] = {
    {"Options of run and all", "output", 'o', OPTION_TEXT, AT(directory), "DIR", NULL,
     "folder of results and documents; default: figures"},
    {NULL, "jobs", 'j', OPTION_TEXT, AT(workers), "N", NULL, "runs in parallel; default: one per core"},
    {NULL, "set", 's', OPTION_TEXTS, AT(settings), "KEY=VALUE", NULL,
     "change a key in all runs, of FIGURE-changed, whose claims gate nothing"},
    {NULL, "data", 0, OPTION_TEXT, AT(data), "DIR", NULL, DATA_OPTION_HELP},
    {NULL, "results-limit", 0, OPTION_TEXT, AT(results_limit), "SIZE", NULL,
     "stop when a study has written this much; default " RESULTS_LIMIT_DEFAULT},
    {NULL, "resume", 0, OPTION_FLAG, AT(resume), NULL, NULL, "keep the finished runs of an earlier call"},
    {NULL, "gnuplot", 0, OPTION_FLAG, AT(gnuplot), NULL, NULL, "also write each chart as .gp and .dat"},
    {NULL, "quiet", 'q', OPTION_FLAG, AT(quiet), NULL, NULL, "no progress and no closing lines"},
    {"Output", "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print a JSON array"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print CSV"},
    {NULL, "markdown", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print a table of Markdown"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print tables of LaTeX"},
    {0}};
#undef AT

/* --- list --- */

static void add_figure(struct answer_table *table, const struct figure *figure, bool as_code)
{
    size_t n_known = 0, n_reported = 0, n_chosen = 0;
    for (size_t i = 0; i < figure->claims.n; i++) {
        const struct figure_claim *claim = FIGURE_ITEM(struct figure_claim, figure->claims, i);
        n_known += claim->known_to_fail != NULL;
        n_chosen += claim->chosen_by != NULL;
        n_reported += !figure_claim_gates(figure, claim);
    }
    char name[DIAG_TEXT_CHARS];
    snprintf(name, sizeof name, as_code ? "`%s`" : "%s", figure->id);
    table_text(table, name);
    table_text(table, figure->place);
    table_number(table, (double)figure->charts.n);
    table_number(table, (double)figure->claims.n);
    table_number(table, (double)n_known);
    table_number(table, (double)n_reported);
    table_number(table, (double)figure_count_fitted(figure));
    table_number(table, (double)n_chosen);
    table_text(table, figure->title);
    table_text(table, figure->citation);
}

static int list_one(struct cli *cli, const struct figure_file *file, struct answer_table *table, bool as_code)
{
    struct figure_work work;
    struct figure_options options = {.directory = "."};
    int code = figure_work_load(&work, file, &options, &cli->diag);
    if (code == 0) add_figure(table, &work.figure, as_code);
    figure_work_fini(&work);
    return code;
}

static int list_figures(struct cli *cli, const struct figure_call *call)
{
    static const struct table_column columns[] = {
        LEFT("figure"),        JSON_ONLY("place"), RIGHT("charts"), RIGHT("claims"), JSON_ONLY("known_to_fail"),
        JSON_ONLY("reported"), RIGHT("fitted"),    RIGHT("chosen"), LEFT("title"),   JSON_ONLY("paper")};
    static const struct table_column of_page[] = {
        LEFT("figure"),    LEFT("place"),   JSON_ONLY("charts"), RIGHT("claims"),    RIGHT_SHOWN("known to fail"),
        RIGHT("reported"), RIGHT("fitted"), JSON_ONLY("chosen"), JSON_ONLY("title"), JSON_ONLY("paper")};
    const bool is_page = call->form == ANSWER_MARKDOWN;
    struct arena arena;
    struct figure_files files;
    struct answer_table table;
    arena_init(&arena);
    table_init(&table, is_page ? of_page : columns, sizeof columns / sizeof *columns);
    int code = figure_shelf_list(&arena, &files, &cli->diag), found = code;
    for (size_t i = 0; code == 0 && i < files.n; i++) {
        int one = list_one(cli, &files.items[i], &table, is_page);
        if (found == 0) found = one;
    }
    code = table_print(&table, code, (enum answer_form)call->form, cli->out, &cli->diag);
    arena_fini(&arena);
    return found != 0 ? found : code;
}

/* --- run --- */

/* For programs: what the shown texts say, as numbers. */
static void add_numbers(struct answer_table *table, const struct claim_result *result)
{
    const struct claim_outcome *outcome = &result->outcome;
    table_number(table, result->is_own ? (double)NAN : result->claim->value);
    table_number(table, result->is_own ? result->claim->value : (double)NAN);
    table_number(table, outcome->ours);
    table_text(table, result->claim->unit);
    table_number(table, result->is_own ? (double)NAN : outcome->deviation);
    table_number(table, result->is_own ? outcome->deviation : (double)NAN);
    table_number(table, result->claim->tolerance_frac);
    table_text(table, claim_verdict_name(result->verdict));
    table_text(table, result->claim->test.entry == NULL ? NULL : outcome->holds ? "yes" : "no");
}

/* Rows for programs have the paper's numbers and our own limits in columns of their own. */
static void add_claim(struct answer_table *table, const struct figure *figure, const struct claim_result *result,
                      bool is_data)
{
    table_text(table, figure->id);
    table_text(table, result->claim->says);
    table_text(table, is_data && result->is_own ? NULL : result->paper);
    table_text(table, result->ours);
    table_text(table, result->deviation);
    table_text(table, result->tolerance);
    table_text(table, result->word);
    table_text(table, claim_basis_name(result));
    table_text(table, result->claim->tag);
    table_text(table, result->verdict == CLAIM_REPORTED ? result->because : NULL);
    table_text(table, result->claim->known_to_fail);
    table_text(table, result->claim->chosen_by);
    add_numbers(table, result);
}

static const struct table_column claim_columns[] = {
    JSON_ONLY("figure"),       LEFT("claim"),   RIGHT("paper"), RIGHT("ours"),  RIGHT("deviation"),
    RIGHT("tolerance"),        LEFT("verdict"), LEFT("basis"),  LEFT("source"), JSON_ONLY("reported_because"),
    JSON_ONLY("known_to_fail"), JSON_ONLY("chosen_by"), JSON_ONLY("paper_value"), JSON_ONLY("own_limit_value"),
    JSON_ONLY("ours_value"),
    JSON_ONLY("unit"),         JSON_ONLY("deviation_frac"), JSON_ONLY("own_deviation_frac"),
    JSON_ONLY("tolerance_frac"), JSON_ONLY("verdict_word"), JSON_ONLY("holds")};

static void say_counts(const char *before, const struct claim_counts *counts, const char *more, struct answer *answer)
{
    struct text text;
    text_init(&text);
    claim_counts_text(counts, &text);
    answer->failed |= text.failed;
    if (!text.failed) answer_say(answer, "%s%s%s\n\n", before, text.chars, more);
    text_fini(&text);
}

/* The heading of a figure: its name with what was fitted and what is predicted, then its title. */
static bool make_heading(const struct figure_work *work, const char *gap, struct text *heading)
{
    text_init(heading);
    text_printf(heading, "%s: ", work->figure.id);
    if (claim_basis_text(&work->figure, &work->claims, heading) != 0) return false;
    text_printf(heading, "\n%s%s%s", gap, work->figure.title, gap);
    return !heading->failed;
}

/* Adds the claims to `all` for JSON and CSV. Else prints them at once, ahead of messages: both streams may end in one
 * pipe. */
static int print_claims(struct cli *cli, const struct figure_work *work, struct answer_table *all,
                        enum answer_form form)
{
    static const char *const tolerances[] = {
        [TOLERANCES_WITH_RESULTS] = "; tolerances committed with the results",
        [TOLERANCES_FIRST] = "; tolerances committed before the first run",
        [TOLERANCES_FIRST_IN_PART] = "; tolerances committed before the first run, but those that the notes name",
        [TOLERANCES_OF_ANOTHER] = "; of a figure that --set has changed, with the tolerances of the other"};
    const char *gap = form == ANSWER_MARKDOWN ? "\n" : ""; /* a table of Markdown stands between blank lines */
    struct text heading;
    struct answer answer;
    struct answer_table table;
    answer_init(&answer, answer_is_data(form) ? ANSWER_TEXT : form, NULL);
    TABLE_INIT(&table, claim_columns);
    for (size_t i = 0; i < work->claims.n; i++)
        add_claim(answer_is_data(form) ? all : &table, &work->figure, &work->claims.items[i], answer_is_data(form));
    answer.failed |= !make_heading(work, gap, &heading);
    answer_add(&answer, NULL, answer.failed ? NULL : heading.chars, &table);
    text_fini(&heading);
    if (!answer_is_data(form) && work->claims.counts.n_own > 0)
        answer_say(&answer, "%s* %s\n", form == ANSWER_MARKDOWN ? "\n\\" : "", claim_own_note);
    if (!answer_is_data(form)) say_counts(gap, &work->claims.counts, tolerances[work->figure.tolerances], &answer);
    const int code = answer_end(&answer, 0, cli->out, &cli->diag);
    fflush(cli->out);
    return code;
}

/* Whether measurements that the figure needs are absent, and it may be left out; else their absence is an error. */
static int check_measurements(struct cli *cli, struct figure_work *work, const struct figure_options *options,
                              bool *is_skipped)
{
    const char *file, *obtain;
    const int code = figure_work_missing(work, &file, &obtain, &cli->diag);
    if (code != 0 || file == NULL) return code;
    const char *hint = arena_printf(&work->arena, "%s; --data DIR names another folder of public data", obtain);
    if (hint == NULL) return diag_nomem(&cli->diag);
    if (!options->skips)
        return diag_error(&cli->diag, SIM_E_IO, file, hint, "figure %s needs these measurements, which are not there",
                          work->figure.id);
    answer_print(cli->err, "%s: skipped: data absent: it needs %s; %s\n", work->figure.id, file, hint);
    *is_skipped = true;
    return 0;
}

static int run_figure(struct cli *cli, const struct figure_file *file, const struct figure_options *options,
                      struct answer_table *all, enum answer_form form, struct claim_counts *counts)
{
    struct figure_work work;
    int code = figure_work_load(&work, file, options, &cli->diag);
    bool is_skipped = false;
    if (code == 0) code = figure_work_check(&work, file, options, &cli->diag);
    if (code == 0) code = check_measurements(cli, &work, options, &is_skipped);
    if (code == 0 && !is_skipped) code = figure_work_refused(&work, cli);
    if (code != 0 || is_skipped) {
        figure_work_fini(&work);
        return code;
    }
    if (code == 0) code = figure_work_simulate(&work, options, cli);
    if (code == 0) code = figure_work_read(&work, &cli->diag);
    if (code == 0) code = figure_work_write(&work, options, &cli->diag);
    if (code == 0) code = print_claims(cli, &work, all, form);
    if (code == 0) claim_counts_add(counts, &work.claims.counts);
    figure_work_fini(&work);
    return code;
}

/* Unexpected failures, and expected failures that pass. */
static int judge_counts(struct cli *cli, const struct claim_counts *counts)
{
    size_t n_failed = counts->of[CLAIM_FAIL], n_stale = counts->of[CLAIM_NO_LONGER];
    if (n_failed > 0)
        diag_error(&cli->diag, SIM_E_GATE, NULL, "see the verdicts above", "%zu claim%s failed", n_failed,
                   n_failed == 1 ? "" : "s");
    if (n_stale > 0)
        diag_error(&cli->diag, SIM_E_GATE, NULL, "take out \"known_to_fail\"", "%zu claim%s known to fail, but pass%s",
                   n_stale, n_stale == 1 ? " is" : "s are", n_stale == 1 ? "es" : "");
    return n_failed + n_stale > 0 ? SIM_E_GATE : 0;
}

static int run_figures(struct cli *cli, const struct figure_files *files, const struct figure_options *options,
                       enum answer_form form)
{
    struct answer_table all;
    struct answer answer;
    struct claim_counts counts = {0};
    TABLE_INIT(&all, claim_columns);
    answer_init(&answer, form, NULL);
    int code = 0;
    for (size_t i = 0; code == 0 && i < files->n; i++)
        code = run_figure(cli, &files->items[i], options, &all, form, &counts);
    answer_add(&answer, NULL, NULL, &all);
    if (!answer_is_data(form) && files->n > 1) say_counts("all figures: ", &counts, "", &answer);
    code = answer_end(&answer, code, cli->out, &cli->diag);
    fflush(cli->out);
    if (code != 0 || options->n_settings > 0) return code; /* what is changed neither gates nor is in the gallery */
    code = figure_work_gallery(files->items, files->n, options, &cli->diag);
    if (code != 0) return code;
    if (!options->study.quiet) answer_print(cli->err, "%s/index.html shows what has been run\n", options->directory);
    return judge_counts(cli, &counts);
}

static int find_figures(struct cli *cli, const struct cli_call *call, bool all, struct arena *arena,
                        struct figure_files *files)
{
    if (all) return figure_shelf_list(arena, files, &cli->diag);
    int code = 0;
    files->items = arena_alloc(arena, (size_t)call->n_arguments * sizeof *files->items);
    if (files->items == NULL) return SIM_E_NOMEM;
    for (int i = 1; i < call->n_arguments; i++) {
        int one = figure_shelf_find(arena, call->arguments[i], &files->items[files->n++], &cli->diag);
        if (code == 0) code = one;
    }
    return code;
}

static int run_named(struct cli *cli, const struct cli_call *call, bool all)
{
    const struct figure_call *given = call->options;
    struct figure_options options = {.directory = given->directory != NULL ? given->directory : "figures",
                                     .gnuplot = given->gnuplot, .skips = all,
                                     .n_settings = given->settings.n, .settings = given->settings.items,
                                     .study = {.resume = given->resume, .quiet = given->quiet}};
    struct arena arena;
    struct figure_files files = {0};
    arena_init(&arena);
    int code = paths_take_data(cli, given->data);
    options.data = cli->data;
    if (code == 0) code = sweeping_read_count(cli, "--jobs", given->workers, &options.study.workers);
    if (code == 0) code = results_limit_parse(given->results_limit, &options.study.limit_bytes, &cli->diag);
    if (code == 0) code = find_figures(cli, call, all, &arena, &files);
    if (code == 0) code = run_figures(cli, &files, &options, (enum answer_form)given->form);
    arena_fini(&arena);
    return code;
}

static int run(struct cli *cli, const struct cli_call *call)
{
    static const char *const words[] = {"list", "run", "all", NULL};
    enum { LIST, RUN, ALL };
    int word = cli_pick(cli, "action", call->arguments[0], words);
    if (word < 0) return SIM_E_USAGE;
    if (word == RUN && call->n_arguments == 1)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "see 'orrery figure list', or say 'all'",
                          "there is no figure to run");
    const struct figure_call *given = call->options;
    if (given->settings.n > 0 && call->n_arguments != 2)
        return diag_error(&cli->diag, SIM_E_USAGE, "--set", NULL, "it goes with 'run' and one figure");
    if (word != RUN && call->n_arguments > 1)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "name figures behind 'run'", "unexpected argument '%s'",
                          call->arguments[1]);
    return word == LIST ? list_figures(cli, call->options) : run_named(cli, call, word == ALL);
}

const struct verb verb_figure = {
    .name = "figure",
    .summary = "figures of papers: simulate them, draw them beside the paper's points, judge the claims",
    .usage = "list [--json|--csv|--markdown]\nrun FIGURE... [-o DIR] [-j N] [--resume]\n"
             "run FIGURE --set KEY=VALUE [-o DIR]\nall [-o DIR] [-j N] [--resume]",
    .notes = "FIGURE is a name of 'orrery figure list' or a file. The exit status is 1 if a claim fails that is not known\n"
             "to fail, or one passes that is. 'all' leaves out figures whose measurements are not there.\n",
    .options = figure_options,
    .options_bytes = sizeof(struct figure_call),
    .min_arguments = 1,
    .max_arguments = 1000,
    .takes_plugins = true,
    .run = run,
};
