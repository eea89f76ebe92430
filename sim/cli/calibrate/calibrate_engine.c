#include "sim/cli/calibrate/calibrate_engine.h"

#include "analysis/calibrate/engine/engine_calibrate.h"
#include "sim/cli/calibrate/calibrate_files.h"
#include "sim/cli/table.h"

#include <math.h>
#include <string.h>

#define INIT(table, columns) table_init(table, columns, sizeof columns / sizeof *columns)

static const struct table_column file_columns[] = {{"file", COLUMN_LEFT, false},
                                                   {"rows", COLUMN_RIGHT, false},
                                                   {"left_out", COLUMN_RIGHT, false},
                                                   {"reason", COLUMN_LEFT, false}};
static const struct table_column launch_columns[] = {{"gpu", COLUMN_LEFT, false},
                                                     {"layer_launch_us", COLUMN_RIGHT, false}};
static const struct table_column overhead_columns[] = {{"tensor_parallel", COLUMN_RIGHT, false},
                                                       {"iteration_ms", COLUMN_RIGHT, false},
                                                       {"sequence_us", COLUMN_RIGHT, false},
                                                       {"prompt_ms", COLUMN_RIGHT, false}};
static const struct table_column error_columns[] = {{"rows_that_were", COLUMN_LEFT, false},
                                                    {"group", COLUMN_LEFT, false},
                                                    {"rows", COLUMN_RIGHT, false},
                                                    {"median_%", COLUMN_RIGHT, false},
                                                    {"p90_%", COLUMN_RIGHT, false},
                                                    {"worst_%", COLUMN_RIGHT, false},
                                                    {"bias_%", COLUMN_RIGHT, false}};

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

static int finish(struct table *table, FILE *out)
{
    const int code = table->n_cells > 0 ? table_write(table, false, out) : 0;
    if (table->n_cells > 0) fputc('\n', out);
    table_fini(table);
    return code;
}

static int print_files(const struct engine_calibration *calibration, FILE *out)
{
    struct table table;
    INIT(&table, file_columns);
    for (size_t i = 0; i < calibration->n_files; i++) {
        const struct measured *file = &calibration->files[i];
        const struct calibration_profile *profiles = calibration->preset.profiles.items;
        table_text(&table, profiles[i].file);
        table_number(&table, (double)file->n);
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

static double rounded(double value)
{
    return rint(value * 1e3) / 1e3 + 0.0;
}

static int print_launches(const struct engine_preset *preset, FILE *out)
{
    const struct engine_launch *launches = preset->launches.items;
    struct table table;
    INIT(&table, launch_columns);
    for (size_t i = 0; i < preset->launches.n; i++) {
        table_text(&table, launches[i].gpu);
        table_number(&table, rounded(1e6 * launches[i].layer_s));
    }
    return finish(&table, out);
}

static int print_overheads(const struct engine_preset *preset, FILE *out)
{
    const struct engine_overhead *overheads = preset->overheads.items;
    struct table table;
    INIT(&table, overhead_columns);
    for (size_t i = 0; i < preset->overheads.n; i++) {
        table_number(&table, (double)overheads[i].tensor_parallel);
        table_number(&table, rounded(1e3 * overheads[i].iteration_s));
        table_number(&table, rounded(1e6 * overheads[i].sequence_s));
        table_number(&table, rounded(1e3 * overheads[i].prompt_s));
    }
    return finish(&table, out);
}

static void add_errors(struct table *table, const char *what, const struct config_list *list)
{
    const struct calibration_error *errors = list->items;
    for (size_t i = 0; i < list->n; i++) {
        table_text(table, what);
        table_text(table, errors[i].name);
        table_number(table, (double)errors[i].rows);
        table_number(table, rint(errors[i].median * 1e4) / 1e2 + 0.0);
        table_number(table, rint(errors[i].p90 * 1e4) / 1e2 + 0.0);
        table_number(table, rint(errors[i].worst * 1e4) / 1e2 + 0.0);
        table_number(table, rint(errors[i].bias * 1e4) / 1e2 + 0.0);
    }
}

static int print_tables(const struct engine_calibration *calibration, FILE *out)
{
    const struct engine_preset *preset = &calibration->preset;
    struct table table;
    fprintf(out, "%s: %s\n\n", preset->name, preset->summary);
    int code = print_files(calibration, out);
    if (code == 0) code = print_launches(preset, out);
    if (code == 0) code = print_overheads(preset, out);
    if (preset->fitted_on != NULL) fprintf(out, "fitted on: %s\n", preset->fitted_on);
    if (code != 0) return code;
    INIT(&table, error_columns);
    add_errors(&table, "fitted", &preset->fit);
    add_errors(&table, "kernels fitted", &preset->kernels_fit);
    add_errors(&table, "held out", &preset->held_out);
    code = table_write(&table, false, out);
    table_fini(&table);
    return code;
}

static int report(struct cli *cli, const struct engine_calibration *calibration, const char *output, bool as_json)
{
    struct text json;
    text_init(&json);
    int code = engine_preset_write(&calibration->preset, &json);
    if (code == 0 && output != NULL) code = calibrate_write(cli, output, &json);
    if (code == 0 && as_json) fputs(json.chars, cli->out);
    if (code == 0 && !as_json) code = print_tables(calibration, cli->out);
    text_fini(&json);
    return code;
}

int calibrate_engine(struct cli *cli, const struct catalog *catalog, const char *name, const char *const *paths,
                     size_t n_paths, const char *output, bool as_json)
{
    const struct engine_recipe *recipe = find_recipe(cli, name);
    if (recipe == NULL) return SIM_E_USAGE;
    struct engine_calibration calibration;
    struct arena arena;
    arena_init(&arena);
    int code = engine_calibrate(recipe, catalog, paths, n_paths, 1, &arena, &calibration, &cli->diag);
    if (code == 0) code = report(cli, &calibration, output, as_json);
    arena_fini(&arena);
    return code;
}
