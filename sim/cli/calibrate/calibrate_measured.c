#include "sim/cli/calibrate/calibrate_measured.h"

#include "analysis/calibrate/engine/engine_calibrate.h"
#include "analysis/calibrate/power/power_fit.h"
#include "sim/catalog/power.h"
#include "sim/cli/calibrate/calibrate_csv.h"
#include "sim/cli/calibrate/calibrate_print.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const struct table_column file_columns[] = {LEFT("file"), RIGHT("rows"), RIGHT("left_out"), LEFT("reason")};

/* Adds a file, and below it its rows left out, by reason. */
static void add_file(struct answer_table *files, const char *name, size_t rows, const struct dropped_rows *dropped,
                     size_t n_dropped)
{
    table_text(files, name);
    table_number(files, (double)rows);
    table_text(files, NULL);
    table_text(files, NULL);
    for (size_t i = 0; i < n_dropped; i++) {
        table_text(files, NULL);
        table_text(files, NULL);
        table_number(files, (double)dropped[i].rows);
        table_text(files, dropped[i].reason);
    }
}

/* How a fit is printed: as tables for people, and its errors as rows of CSV. */
struct fit_printer {
    void (*show)(const void *fitted, struct answer *answer);
    void (*add_errors)(const void *fitted, struct answer_table *table);
};

/* Writes the fit `json` to `output` (NULL: nowhere), and prints it in its form. */
static int report(struct cli *cli, int code, const struct text *json, const struct calibrate_output *output,
                  const struct fit_printer *printer, const void *fitted)
{
    if (code == 0 && output->path != NULL) code = calibrate_write(cli, output->path, json);
    if (code == 0 && output->form == ANSWER_JSON) fputs(json->chars, cli->out);
    if (code != 0 || output->form == ANSWER_JSON) return code;
    struct answer_table errors;
    calibrate_csv_init(&errors);
    printer->add_errors(fitted, &errors);
    if (output->form == ANSWER_CSV) return calibrate_csv_print(&errors, cli->out);
    table_fini(&errors);
    struct answer answer;
    answer_init(&answer, ANSWER_TEXT, NULL);
    printer->show(fitted, &answer);
    return answer_end(&answer, 0, cli->out, &cli->diag);
}

/* --- Engines --- */

static const struct engine_recipe *find_recipe(struct cli *cli, const char *name)
{
    const char *names[16];
    size_t n = 0;
    for (const struct engine_recipe *recipe; (recipe = engine_recipe_at(n)) != NULL; n++) {
        if (strcmp(recipe->name, name) == 0) return recipe;
        names[n] = recipe->name;
    }
    const char *nearest = text_nearest(name, names, n);
    char hint[DIAG_TEXT_CHARS] = "see configs/engines for those that can";
    if (nearest != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    diag_error(&cli->diag, SIM_E_USAGE, "--engine", hint, "no engine '%s' can be fitted", name);
    return NULL;
}

static void show_files(const struct engine_calibration *calibration, struct answer *answer)
{
    const struct calibration_profile *profiles = calibration->preset.profiles.items;
    struct answer_table table;
    TABLE_INIT(&table, file_columns);
    for (size_t i = 0; i < calibration->n_files; i++) {
        const struct measured *file = &calibration->files[i];
        add_file(&table, profiles[i].file, file->n, file->dropped, file->n_dropped);
    }
    answer_add(answer, NULL, NULL, &table);
}

static double rounded(double value)
{
    return rint(value * 1e3) / 1e3 + 0.0;
}

static void show_launches(const struct engine_preset *preset, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("gpu"), RIGHT("layer_launch_us")};
    const struct engine_launch *launches = preset->launches.items;
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < preset->launches.n; i++) {
        table_text(&table, launches[i].gpu);
        table_number(&table, rounded(1e6 * launches[i].layer_s));
    }
    answer_add(answer, NULL, NULL, &table);
}

static void show_overheads(const struct engine_preset *preset, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("host_of"), RIGHT("tensor_parallel"), RIGHT("iteration_ms"),
                                                  RIGHT("sequence_us"), RIGHT("prompt_ms")};
    const struct engine_overhead *overheads = preset->overheads.items;
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < preset->overheads.n; i++) {
        table_text(&table, overheads[i].gpu != NULL ? overheads[i].gpu : "all");
        table_number(&table, (double)overheads[i].tensor_parallel);
        table_number(&table, rounded(1e3 * overheads[i].iteration_s));
        table_number(&table, rounded(1e6 * overheads[i].sequence_s));
        table_number(&table, rounded(1e3 * overheads[i].prompt_s));
    }
    answer_add(answer, NULL, NULL, &table);
}

static void add_group_errors(struct answer_table *table, const char *what, const struct config_list *list)
{
    const struct calibration_error *errors = list->items;
    for (size_t i = 0; i < list->n; i++) {
        const struct calibration_error *error = &errors[i];
        table_text(table, what);
        table_text(table, error->name);
        calibrate_add_error(table,
                            &(struct fit_error){error->rows, error->median, error->p90, error->worst, error->bias});
    }
}

static void show_engine(const void *fitted, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("rows_that_were"), LEFT("group"), CALIBRATE_ERROR_COLUMNS};
    const struct engine_calibration *calibration = fitted;
    const struct engine_preset *preset = &calibration->preset;
    char heading[DIAG_TEXT_CHARS];
    struct answer_table table;
    answer_say(answer, "%s: %s\n", preset->name, preset->summary);
    show_files(calibration, answer);
    show_launches(preset, answer);
    show_overheads(preset, answer);
    TABLE_INIT(&table, columns);
    add_group_errors(&table, "fitted", &preset->fit);
    add_group_errors(&table, "kernels fitted", &preset->kernels_fit);
    add_group_errors(&table, "held out", &preset->held_out);
    add_group_errors(&table, "of an LLM left out", &preset->left_out);
    if (preset->fitted_on != NULL) snprintf(heading, sizeof heading, "fitted on: %s", preset->fitted_on);
    answer_add(answer, NULL, preset->fitted_on != NULL ? heading : NULL, &table);
}

static void add_engine_rows(struct answer_table *table, const char *engine, const char *what,
                            const struct config_list *list)
{
    const struct calibration_error *errors = list->items;
    for (size_t i = 0; i < list->n; i++) {
        const struct calibration_error *error = &errors[i];
        calibrate_csv_add(table, engine, NULL, error->name, what,
                          &(struct fit_error){error->rows, error->median, error->p90, error->worst, error->bias});
    }
}

static void add_engine_errors(const void *fitted, struct answer_table *table)
{
    const struct engine_preset *preset = &((const struct engine_calibration *)fitted)->preset;
    add_engine_rows(table, preset->name, "fitted", &preset->fit);
    add_engine_rows(table, preset->name, "kernels fitted", &preset->kernels_fit);
    add_engine_rows(table, preset->name, "held out", &preset->held_out);
    add_engine_rows(table, preset->name, "of an LLM left out", &preset->left_out);
}

static const struct fit_printer engine_printer = {show_engine, add_engine_errors};

int calibrate_engine(struct cli *cli, const struct catalog *catalog, const char *name,
                     const struct calibrate_inputs *inputs, const struct calibrate_output *output)
{
    const struct engine_recipe *recipe = find_recipe(cli, name);
    if (recipe == NULL) return SIM_E_USAGE;
    struct engine_calibration calibration;
    struct arena arena;
    struct text json;
    arena_init(&arena);
    text_init(&json);
    int code = engine_calibrate(recipe, catalog, inputs->paths, inputs->n, 1, &arena, &calibration, &cli->diag);
    if (code == 0) code = engine_preset_write(&calibration.preset, &json);
    code = report(cli, code, &json, output, &engine_printer, &calibration);
    text_fini(&json);
    arena_fini(&arena);
    return code;
}

/* --- Power --- */

struct power_session {
    struct cli *cli;
    struct arena *arena;
    struct gpu_spec gpu;
    struct power_data *files;
    size_t n_files;
    struct power_fitted fitted[POWER_CLASS_COUNT];
};

static void show_power_files(const struct power_session *session, struct answer *answer)
{
    struct answer_table table;
    TABLE_INIT(&table, file_columns);
    for (size_t i = 0; i < session->n_files; i++) {
        const struct power_data *file = &session->files[i];
        add_file(&table, file->path, file->n_rows + file->n_caps, file->dropped, file->n_dropped);
    }
    answer_add(answer, NULL, NULL, &table);
}

static void show_parameters(const struct power_session *session, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("part"), LEFT("parameter"), RIGHT("value"), LEFT("at_bound"),
                                                  LEFT("what")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (int class = 0; class < POWER_CLASS_COUNT; class ++) {
        const struct power_class_info *info = power_class_info((enum power_class) class);
        const struct power_fitted *fitted = &session->fitted[class];
        for (size_t i = 0; fitted->rows > 0 && i < fitted->n_params; i++) {
            table_text(&table, info->name);
            table_text(&table, info->params[i].name);
            table_number(&table, rint(fitted->values[i] * 1e3) / 1e3);
            struct kernel_param param = info->params[i];
            if (class == POWER_ACTIVITY) param.high = fitted->high_w[i];
            table_text(&table, fit_is_at_bound(&param, fitted->values[i]) ? "yes" : NULL);
            table_text(&table, info->params[i].help);
        }
    }
    answer_add(answer, NULL, NULL, &table);
}

static void add_power_errors(struct answer_table *table, const char *part, const char *what,
                             const struct power_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++) {
        table_text(table, part);
        table_text(table, what);
        table_text(table, errors->items[i].name);
        calibrate_add_error(table, &errors->items[i].error);
    }
}

static void show_power(const void *fitted, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("part"), LEFT("rows_that_were"), LEFT("of"),
                                                  CALIBRATE_ERROR_COLUMNS};
    const struct power_session *session = fitted;
    struct answer_table table;
    show_power_files(session, answer);
    show_parameters(session, answer);
    TABLE_INIT(&table, columns);
    for (int class = 0; class < POWER_CLASS_COUNT; class ++) {
        const char *part = power_class_info((enum power_class) class)->name;
        add_power_errors(&table, part, "fitted", &session->fitted[class].fit);
        add_power_errors(&table, part, "held out", &session->fitted[class].held_out);
    }
    answer_add(answer, NULL, NULL, &table);
}

static void add_power_rows(struct answer_table *table, const char *gpu, const char *part, const char *what,
                           const struct power_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++)
        calibrate_csv_add(table, gpu, part, errors->items[i].name, what, &errors->items[i].error);
}

static void add_power_table(const void *fitted, struct answer_table *table)
{
    const struct power_session *session = fitted;
    for (int class = 0; class < POWER_CLASS_COUNT; class ++) {
        const char *part = power_class_info((enum power_class) class)->name;
        add_power_rows(table, session->gpu.name, part, "fitted", &session->fitted[class].fit);
        add_power_rows(table, session->gpu.name, part, "held out", &session->fitted[class].held_out);
    }
}

static const struct fit_printer power_printer = {show_power, add_power_table};

/* Reads the `like` of the file that the output replaces. */
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

/* There must be rows; a fit of activity also needs the idle power. */
static int check_power(const struct power_session *session)
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

static int fit_power(struct power_session *session)
{
    int code = check_power(session);
    for (int class = 0; class < POWER_CLASS_COUNT && code == 0; class ++)
        code = power_fit((enum power_class) class, session->files, session->n_files, &session->gpu, session->arena,
                         &session->fitted[class]);
    return code;
}

static int fit_power_files(struct power_session *session, const struct catalog *catalog, const char *gpu,
                           const char *const *paths)
{
    struct diag *diag = &session->cli->diag;
    session->files = arena_alloc(session->arena, session->n_files * sizeof *session->files);
    if (session->files == NULL) return SIM_E_NOMEM;
    int code = catalog_gpu(catalog, gpu, "--gpu", session->arena, &session->gpu, diag);
    for (size_t i = 0; i < session->n_files && code == 0; i++)
        code = power_data_read(paths[i], catalog, &session->gpu, session->arena, &session->files[i], diag);
    return code == 0 ? fit_power(session) : code;
}

int calibrate_power(struct cli *cli, const struct catalog *catalog, const char *gpu,
                    const struct calibrate_inputs *inputs, const struct calibrate_output *output)
{
    struct arena arena;
    struct text json;
    const char *like;
    arena_init(&arena);
    text_init(&json);
    struct power_session session = {.cli = cli, .arena = &arena, .n_files = inputs->n};
    int code = fit_power_files(&session, catalog, gpu, inputs->paths);
    if (code == 0) code = old_like(&session, catalog, output->path, &like);
    if (code == 0) code = power_write(session.gpu.name, like, session.files, session.n_files, session.fitted, &json);
    code = report(cli, code, &json, output, &power_printer, &session);
    text_fini(&json);
    arena_fini(&arena);
    return code;
}
