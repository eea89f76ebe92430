#include "sim/cli/calibrate/calibrate_print.h"

#include "analysis/calibrate/write.h"
#include "models/operators/kernel_shape.h"
#include "sim/cli/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INIT(table, columns) table_init(table, columns, sizeof columns / sizeof *columns)

enum { SHOWN_CHARS = 64 };

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* A share as a percentage with two decimals; nothing where there are no rows. */
static void add_percent(struct table *table, const struct fit_error *error, double share)
{
    if (error->rows == 0)
        table_undefined(table);
    else
        table_number(table, rint(share * 1e4) / 1e2 + 0.0);
}

static void add_median_p90(struct table *table, const struct fit_error *error)
{
    add_percent(table, error, error->median);
    add_percent(table, error, error->p90);
}

static int print_table(struct table *table, const char *heading, FILE *out)
{
    fprintf(out, "\n%s\n", heading);
    const int code = table_write(table, false, out);
    table_fini(table);
    return code;
}

/* --- Kernels --- */

/* The members of a shape, in lines of at most 100 columns. */
static void print_members(const struct kernel_member *member, FILE *out)
{
    enum { INDENT = 5, WIDTH = 100 };
    int column = WIDTH;
    for (; member->name != NULL; member++) {
        const int width = (int)strlen(member->name) + (member->required ? 1 : 3);
        if (column + width > WIDTH) column = fprintf(out, "\n%*s", INDENT, "") - 1;
        column += fprintf(out, member->required ? " %s" : " [%s]", member->name);
    }
}

/* Classes of the same shape share their members. */
void calibrate_print_kernels(FILE *out)
{
    fputs("\nKernels and their columns, in brackets those with a default:\n", out);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        const struct kernel_member *members = kernel_members((enum kernel_class)c);
        const bool is_first = c == 0 || kernel_members((enum kernel_class)(c - 1)) != members;
        fprintf(out, "%s%s", is_first ? "\n  " : ", ", kernel_class_info((enum kernel_class)c)->name);
        if (c + 1 < KERNEL_CLASS_COUNT && kernel_members((enum kernel_class)(c + 1)) == members) continue;
        print_members(members, out);
    }
    fputc('\n', out);
}

/* --- Profiles --- */

static const struct table_column profile_columns[] = {
    {"profile", COLUMN_LEFT, false}, {"format", COLUMN_LEFT, false},  {"set", COLUMN_LEFT, false},
    {"rows", COLUMN_RIGHT, false},   {"groups", COLUMN_RIGHT, false}, {"grouped_by", COLUMN_LEFT, false}};

static const struct table_column dropped_columns[] = {{"profile", COLUMN_LEFT, false},
                                                      {"rows_left_out", COLUMN_RIGHT, false},
                                                      {"reason", COLUMN_LEFT, false}};

static void add_profiles(const struct calibrated_set *set, struct table *profiles, struct table *dropped)
{
    for (size_t i = 0; i < set->n_profiles; i++) {
        const struct profile *profile = &set->profiles[i];
        table_text(profiles, file_name(profile->path));
        table_text(profiles, profile->format);
        table_text(profiles, set->name);
        table_number(profiles, (double)profile->n);
        table_number(profiles, (double)profile->n_groups);
        table_text(profiles, profile->grouped_by);
        for (size_t j = 0; j < profile->n_dropped; j++) {
            table_text(dropped, file_name(profile->path));
            table_number(dropped, (double)profile->dropped[j].rows);
            table_text(dropped, profile->dropped[j].reason);
        }
    }
}

static int print_profiles(const struct calibrated_set *sets, size_t n_sets, FILE *out)
{
    struct table profiles, dropped;
    INIT(&profiles, profile_columns);
    INIT(&dropped, dropped_columns);
    for (size_t i = 0; i < n_sets; i++) add_profiles(&sets[i], &profiles, &dropped);
    int code = table_write(&profiles, false, out);
    if (code == 0 && dropped.n_cells > 0) {
        fputc('\n', out);
        code = table_write(&dropped, false, out);
    }
    table_fini(&profiles);
    table_fini(&dropped);
    return code;
}

/* --- The classes of a set --- */

static int print_classes(const struct calibrated_set *set, const char *heading, FILE *out)
{
    static const struct table_column columns[] = {
        {"class", COLUMN_LEFT, false},          {"rows", COLUMN_RIGHT, false},
        {"parameters", COLUMN_RIGHT, false},    {"fit_median_%", COLUMN_RIGHT, false},
        {"fit_p90_%", COLUMN_RIGHT, false},     {"fit_worst_%", COLUMN_RIGHT, false},
        {"held_out_by", COLUMN_LEFT, false},    {"held_out_median_%", COLUMN_RIGHT, false},
        {"held_out_p90_%", COLUMN_RIGHT, false}, {"roofline_median_%", COLUMN_RIGHT, false},
        {"roofline_p90_%", COLUMN_RIGHT, false}};
    struct table table;
    INIT(&table, columns);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        if (set->classes[c] == NULL) continue;
        const struct fold_report *report = &set->classes[c]->report;
        const struct fit_error *fit = &report->fit.cuts[CUT_ALL];
        table_text(&table, kernel_class_info((enum kernel_class)c)->name);
        table_number(&table, (double)report->n_rows);
        table_number(&table, (double)kernel_class_info((enum kernel_class)c)->n_params);
        add_median_p90(&table, fit);
        add_percent(&table, fit, fit->worst);
        table_text(&table, report->n_folds > 0 ? set->classes[c]->held_out_by : "-");
        add_median_p90(&table, &report->held_out.cuts[CUT_ALL]);
        add_median_p90(&table, &report->roofline.cuts[CUT_ALL]);
    }
    return print_table(&table, heading, out);
}

static int print_parameters(const struct calibrated_set *set, const char *heading, FILE *out)
{
    static const struct table_column columns[] = {{"class", COLUMN_LEFT, false},
                                                  {"parameter", COLUMN_LEFT, false},
                                                  {"value", COLUMN_RIGHT, false},
                                                  {"bound", COLUMN_LEFT, false},
                                                  {"meaning", COLUMN_LEFT, false}};
    struct table table;
    INIT(&table, columns);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        if (set->classes[c] == NULL) continue;
        const struct kernel_class_info *info = kernel_class_info((enum kernel_class)c);
        for (size_t i = 0; i < info->n_params; i++) {
            const double value = set->classes[c]->report.params.values[i];
            const bool is_time = info->params[i].unit == PARAM_SECONDS;
            char shown[SHOWN_CHARS];
            snprintf(shown, sizeof shown, is_time ? "%.4g us" : "%.4g", is_time ? 1e6 * value : value);
            table_text(&table, info->name);
            table_text(&table, info->params[i].name);
            table_text(&table, shown);
            table_text(&table, fit_is_at_bound(&info->params[i], value) ? "at its bound" : "");
            table_text(&table, info->params[i].help);
        }
    }
    return print_table(&table, heading, out);
}

/* One part of a class's rows, under several predictions. */
static void add_part(struct table *table, const char *class, const char *part, const struct fit_error *fit,
                     const struct fit_error *held_out, const struct fit_error *roofline)
{
    if (fit->rows == 0) return;
    table_text(table, class);
    table_text(table, part);
    table_number(table, (double)fit->rows);
    add_median_p90(table, fit);
    add_median_p90(table, held_out);
    add_median_p90(table, roofline);
}

static void add_parts(struct table *table, const char *class, const struct fold_report *report)
{
    for (int cut = CUT_1_16; cut < FIT_CUT_COUNT; cut++)
        add_part(table, class, fit_cut_name((enum fit_cut)cut), &report->fit.cuts[cut], &report->held_out.cuts[cut],
                 &report->roofline.cuts[cut]);
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++)
        add_part(table, class, llm_operator_name((enum llm_operator)op), &report->fit.ops[op],
                 &report->held_out.ops[op], &report->roofline.ops[op]);
}

static int print_parts(const struct calibrated_set *set, const char *heading, FILE *out)
{
    static const struct table_column columns[] = {
        {"class", COLUMN_LEFT, false},           {"part", COLUMN_LEFT, false},
        {"rows", COLUMN_RIGHT, false},           {"fit_median_%", COLUMN_RIGHT, false},
        {"fit_p90_%", COLUMN_RIGHT, false},      {"held_out_median_%", COLUMN_RIGHT, false},
        {"held_out_p90_%", COLUMN_RIGHT, false}, {"roofline_median_%", COLUMN_RIGHT, false},
        {"roofline_p90_%", COLUMN_RIGHT, false}};
    struct table table;
    INIT(&table, columns);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (set->classes[c] != NULL)
            add_parts(&table, kernel_class_info((enum kernel_class)c)->name, &set->classes[c]->report);
    return print_table(&table, heading, out);
}

static void add_held_out(struct table *table, const char *class, const char *part, const struct fit_error *error)
{
    if (error->rows == 0) return;
    table_text(table, class);
    table_text(table, part);
    table_number(table, (double)error->rows);
    add_median_p90(table, error);
    add_percent(table, error, error->worst);
    add_percent(table, error, error->bias);
}

/* Each fold, and the sum of a layer's products. */
static int print_folds(const struct calibrated_set *set, const char *heading, FILE *out)
{
    static const struct table_column columns[] = {
        {"class", COLUMN_LEFT, false},     {"held_out", COLUMN_LEFT, false}, {"rows", COLUMN_RIGHT, false},
        {"median_%", COLUMN_RIGHT, false}, {"p90_%", COLUMN_RIGHT, false},   {"worst_%", COLUMN_RIGHT, false},
        {"bias_%", COLUMN_RIGHT, false}};
    struct table table;
    INIT(&table, columns);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        if (set->classes[c] == NULL) continue;
        const char *name = kernel_class_info((enum kernel_class)c)->name;
        const struct fold_report *report = &set->classes[c]->report;
        for (size_t i = 0; i < report->n_folds; i++)
            add_held_out(&table, name, report->folds[i].name, &report->folds[i].errors.cuts[CUT_ALL]);
        add_held_out(&table, name, "sum of a layer's products", &report->layer_sum.cuts[CUT_ALL]);
        add_held_out(&table, name, "the same, 17-256 tokens", &report->layer_sum.cuts[CUT_17_256]);
    }
    if (table.n_cells > 0) return print_table(&table, heading, out);
    table_fini(&table);
    return 0;
}

static int print_set(const char *gpu, const struct calibrated_set *set, FILE *out)
{
    char heading[4][DIAG_TEXT_CHARS];
    static const char *const what[] = {"error by class", "error by part", "held-out error by fold", "parameters"};
    for (int i = 0; i < 4; i++) snprintf(heading[i], sizeof heading[i], "%s, %s: %s", gpu, set->name, what[i]);
    int code = print_classes(set, heading[0], out);
    if (code == 0) code = print_parts(set, heading[1], out);
    if (code == 0) code = print_folds(set, heading[2], out);
    return code == 0 ? print_parameters(set, heading[3], out) : code;
}

/* --- JSON --- */

static void write_dropped(struct json_writer *json, const struct profile *profile)
{
    json_write_open(json, "dropped", '{');
    for (size_t i = 0; i < profile->n_dropped; i++)
        json_write_number(json, profile->dropped[i].reason, (double)profile->dropped[i].rows);
    json_write_close(json, '}');
}

static void write_profile(struct json_writer *json, const struct calibrated_set *set, const struct profile *profile)
{
    json_write_open(json, NULL, '{');
    json_write_string(json, "file", file_name(profile->path));
    json_write_string(json, "format", profile->format);
    json_write_string(json, "set", set->name);
    json_write_number(json, "rows", (double)profile->n);
    write_dropped(json, profile);
    json_write_close(json, '}');
}

/* Prints a finished document. */
static int print_text(struct text *text, FILE *out)
{
    const int code = text->failed ? SIM_E_NOMEM : 0;
    if (code == 0) fprintf(out, "%s\n", text->chars);
    text_fini(text);
    return code;
}

static int print_fit_json(const char *gpu, const struct calibrated_set *sets, size_t n_sets, FILE *out)
{
    struct text text;
    struct json_writer json;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open(&json, NULL, '{');
    json_write_string(&json, "gpu", gpu);
    json_write_open(&json, "profiles", '[');
    for (size_t i = 0; i < n_sets; i++)
        for (size_t j = 0; j < sets[i].n_profiles; j++) write_profile(&json, &sets[i], &sets[i].profiles[j]);
    json_write_close(&json, ']');
    calibration_write_sets(&json, sets, n_sets);
    json_write_close(&json, '}');
    return print_text(&text, out);
}

int calibrate_print_fit(const char *gpu, const struct calibrated_set *sets, size_t n_sets, bool as_json, FILE *out)
{
    if (as_json) return print_fit_json(gpu, sets, n_sets, out);
    int code = print_profiles(sets, n_sets, out);
    for (size_t i = 0; code == 0 && i < n_sets; i++) code = print_set(gpu, &sets[i], out);
    return code;
}

/* --- Prediction --- */

static void write_abs_error(struct json_writer *json, const struct fit_error *error)
{
    json_write_number(json, "median_abs_error", error->median);
    json_write_number(json, "p90_abs_error", error->p90);
    json_write_number(json, "rows", (double)error->rows);
}

static void write_part(struct json_writer *json, const char *key, const struct fit_error *error)
{
    if (error->rows == 0) return;
    json_write_open(json, key, '{');
    write_abs_error(json, error);
    json_write_close(json, '}');
}

/* By class: the set that its parameters came from, or the GPU, or "default". */
static void write_origins(struct json_writer *json, const struct prediction *prediction)
{
    json_write_open(json, "sets", '{');
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (prediction->origins[c] != NULL)
            json_write_string(json, kernel_class_info((enum kernel_class)c)->name, prediction->origins[c]);
    json_write_close(json, '}');
}

static void print_origins(const struct prediction *prediction, FILE *out)
{
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (prediction->origins[c] != NULL && strcmp(prediction->origins[c], prediction->set) != 0)
            fprintf(out, "%s: by the parameters of %s\n", kernel_class_info((enum kernel_class)c)->name,
                    prediction->origins[c]);
}

static int print_prediction_json(const char *gpu, const struct prediction *prediction, const struct profile *profile,
                                 FILE *out)
{
    const struct fit_cuts *errors = &prediction->errors;
    struct text text;
    struct json_writer json;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open(&json, NULL, '{');
    json_write_string(&json, "gpu", gpu);
    json_write_string(&json, "set", prediction->set);
    write_origins(&json, prediction);
    json_write_bool(&json, "default", prediction->is_default);
    write_abs_error(&json, &errors->cuts[CUT_ALL]);
    json_write_number(&json, "in_range_frac", prediction->in_range_frac);
    json_write_number(&json, "table_frac", prediction->table_frac);
    json_write_open(&json, "by_operator", '{');
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++)
        write_part(&json, llm_operator_name((enum llm_operator)op), &errors->ops[op]);
    json_write_close(&json, '}');
    json_write_open(&json, "by_band", '{');
    for (int cut = CUT_1_16; cut < CUT_LARGE; cut++)
        write_part(&json, fit_cut_name((enum fit_cut)cut), &errors->cuts[cut]);
    json_write_close(&json, '}');
    json_write_open(&json, "by_size", '{');
    write_part(&json, fit_cut_name(CUT_LARGE), &errors->cuts[CUT_LARGE]);
    json_write_close(&json, '}');
    write_dropped(&json, profile);
    json_write_close(&json, '}');
    return print_text(&text, out);
}

static void add_prediction(struct table *table, const char *part, const struct fit_error *error)
{
    if (error->rows == 0) return;
    table_text(table, part);
    table_number(table, (double)error->rows);
    add_median_p90(table, error);
    add_percent(table, error, error->worst);
    add_percent(table, error, error->bias);
}

int calibrate_print_prediction(const char *gpu, const struct prediction *prediction, const struct profile *profile,
                               bool as_json, FILE *out)
{
    static const struct table_column columns[] = {
        {"part", COLUMN_LEFT, false},  {"rows", COLUMN_RIGHT, false},    {"median_%", COLUMN_RIGHT, false},
        {"p90_%", COLUMN_RIGHT, false}, {"worst_%", COLUMN_RIGHT, false}, {"bias_%", COLUMN_RIGHT, false}};
    if (as_json) return print_prediction_json(gpu, prediction, profile, out);
    struct table table;
    INIT(&table, columns);
    for (int cut = 0; cut < FIT_CUT_COUNT; cut++)
        add_prediction(&table, fit_cut_name((enum fit_cut)cut), &prediction->errors.cuts[cut]);
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++)
        add_prediction(&table, llm_operator_name((enum llm_operator)op), &prediction->errors.ops[op]);
    fprintf(out, "%s, %s%s: |predicted / measured - 1|, %.1f %% of the rows inside the fitted range", gpu,
            prediction->set, prediction->is_default ? " (defaults)" : "", 100.0 * prediction->in_range_frac);
    if (prediction->table_frac > 0.0) fprintf(out, ", %.1f %% in a table", 100.0 * prediction->table_frac);
    fputc('\n', out);
    print_origins(prediction, out);
    fputc('\n', out);
    int code = table_write(&table, false, out);
    table_fini(&table);
    for (size_t i = 0; i < profile->n_dropped; i++)
        fprintf(out, "%s%" PRId64 " rows left out: %s\n", i == 0 ? "\n" : "", profile->dropped[i].rows,
                profile->dropped[i].reason);
    return code;
}
