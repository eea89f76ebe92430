/* orrery export: a table or view of a results database as CSV or LaTeX, or the metrics as OpenMetrics text. */
#include "analysis/export/export.h"
#include "analysis/export/openmetrics.h"
#include "sim/catalog/catalog.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/paths.h"
#include "sim/core/number.h"
#include "sim/core/output.h"
#include "sim/core/path.h"
#include "sim/store/readback.h"
#include "sim/world/rows/metric.h"

#include <string.h>

struct export_options {
    const char *run, *output;
    bool list, openmetrics;
    int form; /* enum answer_form: of a table or view, CSV or LaTeX */
};

#define AT(name) offsetof(struct export_options, name)
static const struct option export_options[] = {
    {"What comes out", "run", 0, OPTION_TEXT, AT(run), "N", NULL, "only the rows of this run (as results.db:N)"},
    {NULL, "output", 'o', OPTION_TEXT, AT(output), "FILE[.gz]", NULL, "write to a file"},
    {NULL, "openmetrics", 0, OPTION_FLAG, AT(openmetrics), NULL, NULL,
     "write the metrics of all runs, or of one, as OpenMetrics text"},
    {NULL, "list", 0, OPTION_FLAG, AT(list), NULL, NULL, "list the tables and views instead"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "with --list: as JSON"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print CSV: the default, but for --list"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print a table of LaTeX, with rounded numbers"},
    {0}};
#undef AT

static int write_out(void *context, struct text *text)
{
    struct cli *cli = context;
    int code = text->length > 0 ? answer_write(text, cli->out) : 0; /* cli_main looks for errors */
    text->length = 0;
    return code;
}

struct file_target {
    struct output *output;
    struct diag *diag;
};

static int write_file(void *context, struct text *text)
{
    struct file_target *target = context;
    text_add_bytes(output_text(target->output), text->chars, text->length);
    text->length = 0;
    return output_flush(target->output, target->diag);
}

static const char *metric_help(const char *name)
{
    const struct metric_def *metric = metric_find(name);
    return metric != NULL ? metric->definition : NULL;
}

/* What is exported; without a source, the metrics as OpenMetrics text. */
struct exporting {
    struct cli *cli;
    const struct export_options *options;
    const struct database *database;
    const struct export_source *source;
    int64_t run_id;
};

static int export_to(const struct exporting *exporting, const struct export_target *target)
{
    const enum export_form form = exporting->options->form == ANSWER_LATEX ? EXPORT_LATEX : EXPORT_CSV;
    struct diag *diag = &exporting->cli->diag;
    if (exporting->source == NULL)
        return export_openmetrics(exporting->database, exporting->run_id, metric_help, target, diag);
    return export_rows(exporting->database, exporting->source, exporting->run_id, form, target, diag);
}

static int export_out(const struct exporting *exporting)
{
    struct cli *cli = exporting->cli;
    struct file_target file = {.diag = &cli->diag};
    const struct export_target standard = {.context = cli, .write = write_out};
    const struct export_target named = {.context = &file, .write = write_file};
    if (exporting->options->output == NULL) return export_to(exporting, &standard);
    int code = output_open(exporting->options->output, &file.output, &cli->diag);
    if (code != 0) return code;
    code = export_to(exporting, &named);
    int closed = output_close(file.output, code != 0, &cli->diag);
    return code != 0 ? code : closed;
}

static int export_source(struct exporting *exporting, const struct export_source *source)
{
    if (exporting->run_id != 0 && !source->has_run)
        return diag_error(&exporting->cli->diag, SIM_E_USAGE, NULL, "leave out the run", "'%s' is not stored by run",
                          source->name);
    exporting->source = source;
    return export_out(exporting);
}

static int list_sources(struct cli *cli, const struct export_options *options, const struct export_sources *sources)
{
    static const struct table_column columns[] = {LEFT("name"), LEFT("kind"), LEFT("about")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < sources->n; i++) {
        table_text(&table, sources->items[i].name);
        table_text(&table, sources->items[i].is_view ? "view" : "table");
        table_text(&table, sources->items[i].about);
    }
    return table_print(&table, 0, (enum answer_form)options->form, cli->out, &cli->diag);
}

static const struct export_source *find_source(struct cli *cli, const struct export_sources *sources, const char *name,
                                               struct arena *arena)
{
    const char **names = arena_alloc(arena, (sources->n + 1) * sizeof *names);
    if (names == NULL) return NULL;
    for (size_t i = 0; i < sources->n; i++) names[i] = sources->items[i].name;
    names[sources->n] = NULL;
    int found = cli_pick(cli, "table or view", name, names);
    return found < 0 ? NULL : &sources->items[found];
}

static int export_from(struct cli *cli, const struct cli_call *call, const struct database *database, int64_t run_id,
                       struct arena *arena)
{
    const struct export_options *options = call->options;
    struct exporting exporting = {.cli = cli, .options = options, .database = database, .run_id = run_id};
    struct export_sources sources;
    const char *data = paths_data(arena);
    const char *views = data != NULL ? path_join(arena, data, "analysis/sql") : NULL;
    if (views == NULL) return SIM_E_NOMEM;
    if (options->openmetrics) return export_out(&exporting);
    int code = export_sources_read(database, views, arena, &sources, &cli->diag);
    if (code != 0) return code;
    if (options->list) return list_sources(cli, options, &sources);
    const struct export_source *source = find_source(cli, &sources, call->arguments[1], arena);
    if (source == NULL && !paths_is_directory(views))
        return diag_error(&cli->diag, SIM_E_USAGE, views, CATALOG_ROOT_HINT " and 'analysis'", "there are no views");
    return source != NULL ? export_source(&exporting, source) : SIM_E_USAGE;
}

/* Takes the run from RESULTS:RUN or --run, and checks that it exists. */
static int find_run(struct cli *cli, const struct export_options *options, const char *path, int64_t *run_id,
                    struct arena *arena)
{
    struct run_record record;
    if (options->run != NULL && (number_i64(options->run, strlen(options->run), run_id) != NUMBER_OK || *run_id < 1))
        return diag_error(&cli->diag, SIM_E_USAGE, "--run", NULL, "'%s' is not the number of a run", options->run);
    return *run_id != 0 ? results_read_run(path, *run_id, arena, &record, &cli->diag) : 0;
}

/* Refuses options that would have no effect. */
static int check_usage(struct cli *cli, const struct export_options *options, int n_arguments)
{
    struct diag *diag = &cli->diag;
    const bool whole = options->list || options->openmetrics;
    if (!whole && n_arguments < 2)
        return diag_error(diag, SIM_E_USAGE, NULL, "'--list' shows them", "name a table or view to export");
    if (whole && n_arguments > 1)
        return diag_error(diag, SIM_E_USAGE, NULL, "leave it out", "'--%s' takes no table or view",
                          options->list ? "list" : "openmetrics");
    if (options->openmetrics && (options->list || options->form != ANSWER_TEXT))
        return diag_error(diag, SIM_E_USAGE, NULL, "leave out the other", "'--openmetrics' is a form of its own");
    if (!options->list && options->form == ANSWER_JSON)
        return diag_error(diag, SIM_E_USAGE, NULL, "tables and views are CSV or LaTeX", "'--json' belongs to '--list'");
    return 0;
}

/* A file of LaTeX needs its option. */
static int check_latex(struct cli *cli, const struct export_options *options)
{
    const size_t n = options->output != NULL ? strlen(options->output) : 0;
    if (n < 4 || strcmp(options->output + n - 4, ".tex") != 0 || options->form != ANSWER_TEXT || options->openmetrics)
        return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, "--output", "add --latex", "what is written is CSV, not .tex");
}

static int export(struct cli *cli, const struct cli_call *call)
{
    const struct export_options *options = call->options;
    struct arena arena;
    struct database database;
    const char *path;
    int64_t run_id;
    if (check_usage(cli, options, call->n_arguments) != 0) return SIM_E_USAGE;
    arena_init(&arena);
    int code = results_split_name(call->arguments[0], &arena, &path, &run_id);
    struct outputs outputs = {.diag = &cli->diag};
    const bool is_latex = options->form == ANSWER_LATEX;
    const char *form = is_latex ? "LaTeX" : options->openmetrics ? "OpenMetrics text" : "CSV";
    const char *endings = is_latex                       ? "tex"
                          : options->openmetrics         ? "prom txt"
                          : options->form == ANSWER_JSON ? "json"
                                                         : "csv txt";
    if (code == 0) code = check_latex(cli, options);
    if (code == 0) code = outputs_add_form(&outputs, "--output", options->output, form, endings);
    if (code == 0) code = outputs_check(&outputs, path);
    if (code == 0) code = find_run(cli, options, path, &run_id, &arena);
    if (code == 0) code = database_open_read(&database, path, &cli->diag);
    if (code == 0) {
        code = export_from(cli, call, &database, run_id, &arena);
        database_close(&database, false);
    }
    arena_fini(&arena);
    return code;
}

const struct verb verb_export = {
    .name = "export",
    .summary = "write a table or view of a results database as CSV or LaTeX",
    .usage = "RESULTS[:RUN] TABLE|VIEW [--latex] [-o FILE]\nRESULTS[:RUN] --openmetrics [-o FILE]\nRESULTS --list",
    .notes = "Views answer common questions; their SQL is in analysis/sql, also for sqlite3.\n",
    .options = export_options,
    .options_bytes = sizeof(struct export_options),
    .min_arguments = 1,
    .max_arguments = 2,
    .results_arguments = 1,
    .run = export,
};
