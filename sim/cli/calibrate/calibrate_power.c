#include "sim/cli/calibrate/calibrate_power.h"

#include "analysis/calibrate/power/power_write.h"
#include "sim/catalog/power.h"
#include "sim/cli/calibrate/calibrate_files.h"
#include "sim/cli/table.h"

#include <math.h>
#include <unistd.h>

#define INIT(table, columns) table_init(table, columns, sizeof columns / sizeof *columns)

static const struct table_column file_columns[] = {{"file", COLUMN_LEFT, false},
                                                   {"rows", COLUMN_RIGHT, false},
                                                   {"left_out", COLUMN_RIGHT, false},
                                                   {"reason", COLUMN_LEFT, false}};
static const struct table_column parameter_columns[] = {{"part", COLUMN_LEFT, false},
                                                        {"parameter", COLUMN_LEFT, false},
                                                        {"value", COLUMN_RIGHT, false},
                                                        {"at_bound", COLUMN_LEFT, false},
                                                        {"what", COLUMN_LEFT, false}};
static const struct table_column error_columns[] = {{"part", COLUMN_LEFT, false},
                                                    {"rows_that_were", COLUMN_LEFT, false},
                                                    {"of", COLUMN_LEFT, false},
                                                    {"rows", COLUMN_RIGHT, false},
                                                    {"median_%", COLUMN_RIGHT, false},
                                                    {"p90_%", COLUMN_RIGHT, false},
                                                    {"worst_%", COLUMN_RIGHT, false},
                                                    {"bias_%", COLUMN_RIGHT, false}};

struct power_session {
    struct cli *cli;
    struct arena *arena;
    struct gpu_spec gpu;
    struct power_data *files;
    size_t n_files;
    struct power_fitted fitted[POWER_CLASS_COUNT];
};

static int finish(struct table *table, FILE *out)
{
    const int code = table_write(table, false, out);
    table_fini(table);
    return code;
}

static int print_files(const struct power_session *session, FILE *out)
{
    struct table table;
    INIT(&table, file_columns);
    for (size_t i = 0; i < session->n_files; i++) {
        const struct power_data *file = &session->files[i];
        table_text(&table, file->path);
        table_number(&table, (double)(file->n_rows + file->n_caps));
        table_text(&table, NULL);
        table_text(&table, NULL);
        for (size_t j = 0; j < file->n_dropped; j++) {
            table_text(&table, NULL);
            table_text(&table, NULL);
            table_number(&table, (double)file->dropped[j].rows);
            table_text(&table, file->dropped[j].reason);
        }
    }
    return finish(&table, out);
}

static int print_parameters(const struct power_session *session, FILE *out)
{
    struct table table;
    INIT(&table, parameter_columns);
    for (int class = 0; class < POWER_CLASS_COUNT; class ++) {
        const struct power_class_info *info = power_class_info((enum power_class) class);
        const struct power_fitted *fitted = &session->fitted[class];
        for (size_t i = 0; fitted->rows > 0 && i < info->n_params; i++) {
            table_text(&table, info->name);
            table_text(&table, info->params[i].name);
            table_number(&table, rint(fitted->values[i] * 1e3) / 1e3);
            table_text(&table, fit_is_at_bound(&info->params[i], fitted->values[i]) ? "yes" : NULL);
            table_text(&table, info->params[i].help);
        }
    }
    return finish(&table, out);
}

static void add_errors(struct table *table, const char *part, const char *what, const struct power_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++) {
        const struct fit_error *error = &errors->items[i].error;
        table_text(table, part);
        table_text(table, what);
        table_text(table, errors->items[i].name);
        table_number(table, (double)error->rows);
        table_number(table, rint(error->median * 1e4) / 1e2 + 0.0);
        table_number(table, rint(error->p90 * 1e4) / 1e2 + 0.0);
        table_number(table, rint(error->worst * 1e4) / 1e2 + 0.0);
        table_number(table, rint(error->bias * 1e4) / 1e2 + 0.0);
    }
}

static int print_errors(const struct power_session *session, FILE *out)
{
    struct table table;
    INIT(&table, error_columns);
    for (int class = 0; class < POWER_CLASS_COUNT; class ++) {
        const char *part = power_class_info((enum power_class) class)->name;
        add_errors(&table, part, "fitted", &session->fitted[class].fit);
        add_errors(&table, part, "held out", &session->fitted[class].held_out);
    }
    return finish(&table, out);
}

static int print_tables(const struct power_session *session, FILE *out)
{
    int code = print_files(session, out);
    fputc('\n', out);
    if (code == 0) code = print_parameters(session, out);
    fputc('\n', out);
    return code == 0 ? print_errors(session, out) : code;
}

/* The `like` of the file that is to be replaced. */
static int old_like(const struct power_session *session, const struct catalog *catalog, const char *output,
                    const char **like)
{
    struct power_file old;
    *like = NULL;
    if (output == NULL || access(output, R_OK) != 0) return 0;
    const int code = power_file_read(catalog, output, session->arena, &old, &session->cli->diag);
    *like = old.like;
    return code;
}

static int report(const struct power_session *session, const struct catalog *catalog, const char *output, bool as_json)
{
    struct cli *cli = session->cli;
    const char *like;
    struct text json;
    text_init(&json);
    int code = old_like(session, catalog, output, &like);
    if (code == 0)
        code = power_write(session->gpu.name, like, session->files, session->n_files, session->fitted, &json);
    if (code == 0 && output != NULL) code = calibrate_write(cli, output, &json);
    if (code == 0 && as_json) fputs(json.chars, cli->out);
    if (code == 0 && !as_json) code = print_tables(session, cli->out);
    text_fini(&json);
    return code;
}

/* The rows must be there, and to fit a law of activity the idle power. */
static int check(const struct power_session *session)
{
    struct diag *diag = &session->cli->diag;
    size_t n_rows = 0, n_caps = 0;
    for (size_t i = 0; i < session->n_files; i++) {
        n_rows += session->files[i].n_rows;
        n_caps += session->files[i].n_caps;
    }
    if (n_rows + n_caps == 0)
        return diag_error(diag, SIM_E_DATA, session->files[0].path, NULL,
                          "the files have no rows of power for GPU '%s'", session->gpu.name);
    if (n_rows == 0 || !isnan(session->gpu.context_w)) return 0;
    return diag_error(diag, SIM_E_CONFIG, session->gpu.name, "write 'context_power' into its file in configs/hardware",
                      "power by activity needs the idle power of the GPU with a process");
}

static int fit(struct power_session *session)
{
    int code = check(session);
    for (int class = 0; class < POWER_CLASS_COUNT && code == 0; class ++)
        code = power_fit((enum power_class) class, session->files, session->n_files, &session->gpu, session->arena,
                         &session->fitted[class]);
    return code;
}

static int run(struct power_session *session, const struct catalog *catalog, const char *gpu, const char *const *paths)
{
    struct diag *diag = &session->cli->diag;
    session->files = arena_alloc(session->arena, session->n_files * sizeof *session->files);
    if (session->files == NULL) return SIM_E_NOMEM;
    int code = catalog_gpu(catalog, gpu, "--gpu", session->arena, &session->gpu, diag);
    for (size_t i = 0; i < session->n_files && code == 0; i++)
        code = power_data_read(paths[i], catalog, &session->gpu, session->arena, &session->files[i], diag);
    return code == 0 ? fit(session) : code;
}

int calibrate_power(struct cli *cli, const struct catalog *catalog, const char *gpu, const char *const *paths,
                    size_t n_paths, const char *output, bool as_json)
{
    struct arena arena;
    arena_init(&arena);
    struct power_session session = {.cli = cli, .arena = &arena, .n_files = n_paths};
    int code = run(&session, catalog, gpu, paths);
    if (code == 0) code = report(&session, catalog, output, as_json);
    arena_fini(&arena);
    return code;
}
