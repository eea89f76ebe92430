/* orrery export: a table or view of a results database as CSV. */
#include "analysis/export/export.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/paths.h"
#include "sim/core/number.h"
#include "sim/core/output.h"
#include "sim/core/path.h"
#include "sim/store/readback.h"

#include <string.h>

struct export_options {
    const char *run, *output;
    bool list;
    int form; /* enum answer_form, of the list */
};

#define AT(name) offsetof(struct export_options, name)
static const struct option export_options[] = {
    {"What comes out", "run", 0, OPTION_TEXT, AT(run), "N", NULL, "only the rows of this run (as results.db:N)"},
    {NULL, "output", 'o', OPTION_TEXT, AT(output), "FILE.csv[.gz]", NULL, "write to a file"},
    {NULL, "list", 0, OPTION_FLAG, AT(list), NULL, NULL, "list the tables and views instead"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "with --list: as JSON"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "with --list: as CSV"},
    {0}};
#undef AT

static int write_out(void *context, struct text *csv)
{
    struct cli *cli = context;
    int code = csv->length > 0 ? answer_write(csv, cli->out) : 0; /* cli_main looks for errors */
    csv->length = 0;
    return code;
}

struct file_target {
    struct output *output;
    struct diag *diag;
};

static int write_file(void *context, struct text *csv)
{
    struct file_target *target = context;
    text_add_bytes(output_text(target->output), csv->chars, csv->length);
    csv->length = 0;
    return output_flush(target->output, target->diag);
}

static int export_source(struct cli *cli, const struct export_options *options, const struct database *database,
                         const struct export_source *source, int64_t run_id)
{
    struct export_target target = {.context = cli, .write = write_out};
    struct file_target file = {.diag = &cli->diag};
    if (run_id != 0 && !source->has_run)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "leave out the run", "'%s' is not stored by run",
                          source->name);
    if (options->output == NULL) return export_csv(database, source, run_id, &target, &cli->diag);
    int code = output_open(options->output, &file.output, &cli->diag);
    if (code != 0) return code;
    target = (struct export_target){.context = &file, .write = write_file};
    code = export_csv(database, source, run_id, &target, &cli->diag);
    int closed = output_close(file.output, code != 0, &cli->diag);
    return code != 0 ? code : closed;
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
    struct export_sources sources;
    const char *data = paths_data(arena);
    const char *views = data != NULL ? path_join(arena, data, "analysis/sql") : NULL;
    if (views == NULL) return SIM_E_NOMEM;
    int code = export_sources_read(database, views, arena, &sources, &cli->diag);
    if (code != 0) return code;
    if (options->list) return list_sources(cli, options, &sources);
    const struct export_source *source = find_source(cli, &sources, call->arguments[1], arena);
    return source != NULL ? export_source(cli, options, database, source, run_id) : SIM_E_USAGE;
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

static int export(struct cli *cli, const struct cli_call *call)
{
    const struct export_options *options = call->options;
    struct arena arena;
    struct database database;
    const char *path;
    int64_t run_id;
    if (!options->list && call->n_arguments < 2)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "'--list' shows them", "name a table or view to export");
    arena_init(&arena);
    int code = results_split_name(call->arguments[0], &arena, &path, &run_id);
    struct outputs outputs = {.diag = &cli->diag};
    if (code == 0) code = outputs_add(&outputs, "--output", options->output);
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
    .summary = "write a table or view of a results database as CSV",
    .usage = "RESULTS[:RUN] TABLE|VIEW [-o FILE.csv]\nRESULTS --list",
    .notes = "Views answer common questions; their SQL is in analysis/sql, also for sqlite3.\n",
    .options = export_options,
    .options_bytes = sizeof(struct export_options),
    .min_arguments = 1,
    .max_arguments = 2,
    .run = export,
};
