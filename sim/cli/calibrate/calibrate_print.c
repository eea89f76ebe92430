#include "sim/cli/calibrate/calibrate_print.h"

#include "analysis/calibrate/report.h"
#include "analysis/calibrate/write.h"
#include "models/kernel.h"
#include "sim/cli/answer.h"
#include "sim/cli/calibrate/calibrate_csv.h"
#include "sim/cli/paths.h"
#include "sim/core/output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { SHOWN_CHARS = 64 };

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Adds a fraction as a percentage with two decimals; "-" if there are no rows. */
static void add_percent(struct answer_table *table, const struct fit_error *error, double share)
{
    if (error->rows == 0)
        table_undefined(table);
    else
        table_number(table, rint(share * 1e4) / 1e2 + 0.0);
}

void calibrate_add_error(struct answer_table *table, const struct fit_error *error)
{
    table_number(table, (double)error->rows);
    add_percent(table, error, error->median);
    add_percent(table, error, error->p90);
    add_percent(table, error, error->worst);
    add_percent(table, error, error->bias);
}

static void add_median_p90(struct answer_table *table, const struct fit_error *error)
{
    add_percent(table, error, error->median);
    add_percent(table, error, error->p90);
}

/* --- Kernels --- */

/* Prints the members of a shape in lines of at most 100 columns. */
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

static const struct table_column profile_columns[] = {LEFT("profile"), LEFT("format"),  LEFT("set"),
                                                      RIGHT("rows"),   RIGHT("groups"), LEFT("grouped_by")};

static const struct table_column dropped_columns[] = {LEFT("profile"), RIGHT("rows_left_out"), LEFT("reason")};

static void add_profiles(const struct calibrated_set *set, struct answer_table *profiles, struct answer_table *dropped)
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

static void show_profiles(const struct calibrated_set *sets, size_t n_sets, struct answer *answer)
{
    struct answer_table profiles, dropped;
    TABLE_INIT(&profiles, profile_columns);
    TABLE_INIT(&dropped, dropped_columns);
    for (size_t i = 0; i < n_sets; i++) add_profiles(&sets[i], &profiles, &dropped);
    answer_add(answer, NULL, NULL, &profiles);
    answer_add(answer, NULL, NULL, &dropped);
}

/* --- The classes of a set --- */

static void show_classes(const struct calibrated_set *set, const char *heading, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("class"),           RIGHT("rows"),
                                                  RIGHT("parameters"),     RIGHT("fit_median_%"),
                                                  RIGHT("fit_p90_%"),      RIGHT("fit_worst_%"),
                                                  LEFT("held_out_by"),     RIGHT("held_out_median_%"),
                                                  RIGHT("held_out_p90_%"), RIGHT("roofline_median_%"),
                                                  RIGHT("roofline_p90_%")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
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
    answer_add(answer, NULL, heading, &table);
}

static void show_parameters(const struct calibrated_set *set, const char *heading, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("class"), LEFT("parameter"), RIGHT("value"), LEFT("bound"),
                                                  LEFT("meaning")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
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
    answer_add(answer, NULL, heading, &table);
}

/* One part of a class's rows: errors of the fit, of held-out rows and of the roofline. */
static void add_part(struct answer_table *table, const char *class, const char *part, const struct fit_error *fit,
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

static void add_parts(struct answer_table *table, const char *class, const struct fold_report *report)
{
    for (int cut = CUT_1_16; cut < FIT_CUT_COUNT; cut++)
        add_part(table, class, fit_cut_name((enum fit_cut)cut), &report->fit.cuts[cut], &report->held_out.cuts[cut],
                 &report->roofline.cuts[cut]);
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++)
        add_part(table, class, llm_operator_name((enum llm_operator)op), &report->fit.ops[op],
                 &report->held_out.ops[op], &report->roofline.ops[op]);
}

static void show_parts(const struct calibrated_set *set, const char *heading, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("class"),           LEFT("part"),
                                                  RIGHT("rows"),           RIGHT("fit_median_%"),
                                                  RIGHT("fit_p90_%"),      RIGHT("held_out_median_%"),
                                                  RIGHT("held_out_p90_%"), RIGHT("roofline_median_%"),
                                                  RIGHT("roofline_p90_%")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (set->classes[c] != NULL)
            add_parts(&table, kernel_class_info((enum kernel_class)c)->name, &set->classes[c]->report);
    answer_add(answer, NULL, heading, &table);
}

static void add_held_out(struct answer_table *table, const char *class, const char *part, const struct fit_error *error)
{
    if (error->rows == 0) return;
    table_text(table, class);
    table_text(table, part);
    calibrate_add_error(table, error);
}

/* The error on each fold, and on the sum of a layer's matrix products. */
static void show_folds(const struct calibrated_set *set, const char *heading, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("class"), LEFT("held_out"), CALIBRATE_ERROR_COLUMNS};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        if (set->classes[c] == NULL) continue;
        const char *name = kernel_class_info((enum kernel_class)c)->name;
        const struct fold_report *report = &set->classes[c]->report;
        for (size_t i = 0; i < report->n_folds; i++)
            add_held_out(&table, name, report->folds[i].name, &report->folds[i].errors.cuts[CUT_ALL]);
        add_held_out(&table, name, "sum of a layer's products", &report->layer_sum.cuts[CUT_ALL]);
        add_held_out(&table, name, "the same, 17-256 tokens", &report->layer_sum.cuts[CUT_17_256]);
    }
    answer_add(answer, NULL, heading, &table);
}

static void show_set(const char *gpu, const struct calibrated_set *set, struct answer *answer)
{
    static const struct {
        const char *title;
        void (*show)(const struct calibrated_set *set, const char *heading, struct answer *answer);
    } parts[] = {{"error by class", show_classes},
                 {"error by part", show_parts},
                 {"held-out error by fold", show_folds},
                 {"parameters", show_parameters}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char heading[DIAG_TEXT_CHARS];
        snprintf(heading, sizeof heading, "%s, %s: %s", gpu, set->name, parts[i].title);
        parts[i].show(set, heading, answer);
    }
}

/* --- JSON --- */

static void write_dropped(const struct profile *profile, struct answer *answer)
{
    answer_open(answer, "dropped", '{');
    for (size_t i = 0; i < profile->n_dropped; i++)
        answer_number(answer, profile->dropped[i].reason, (double)profile->dropped[i].rows);
    answer_close(answer, '}');
}

static void write_profile(const struct calibrated_set *set, const struct profile *profile, struct answer *answer)
{
    answer_open(answer, NULL, '{');
    answer_text(answer, "file", file_name(profile->path));
    answer_text(answer, "format", profile->format);
    answer_text(answer, "set", set->name);
    answer_number(answer, "rows", (double)profile->n);
    write_dropped(profile, answer);
    answer_close(answer, '}');
}

static int print_csv(const struct calibrated_set *sets, size_t n_sets, FILE *out)
{
    struct answer_table table;
    calibrate_csv_init(&table);
    for (size_t i = 0; i < n_sets; i++) calibrate_csv_add_set(&table, &sets[i]);
    return calibrate_csv_print(&table, out);
}

int calibrate_print_fit(const char *gpu, const struct calibrated_set *sets, size_t n_sets, enum answer_form form,
                        FILE *out)
{
    if (form == ANSWER_CSV) return print_csv(sets, n_sets, out);
    const bool as_json = form == ANSWER_JSON;
    struct answer answer;
    answer_init(&answer, as_json ? ANSWER_JSON : ANSWER_TEXT, NULL);
    if (as_json) {
        answer_text(&answer, "gpu", gpu);
        answer_open(&answer, "profiles", '[');
        for (size_t i = 0; i < n_sets; i++)
            for (size_t j = 0; j < sets[i].n_profiles; j++) write_profile(&sets[i], &sets[i].profiles[j], &answer);
        answer_close(&answer, ']');
        calibration_write_sets(&answer.json, sets, n_sets);
    } else {
        show_profiles(sets, n_sets, &answer);
        for (size_t i = 0; i < n_sets; i++) show_set(gpu, &sets[i], &answer);
    }
    return answer_end(&answer, 0, out, NULL);
}

/* --- Prediction --- */

static void write_abs_error(const struct fit_error *error, struct answer *answer)
{
    answer_number(answer, "median_abs_error", error->median);
    answer_number(answer, "p90_abs_error", error->p90);
    answer_number(answer, "rows", (double)error->rows);
}

static void write_part(const char *key, const struct fit_error *error, struct answer *answer)
{
    if (error->rows == 0) return;
    answer_open(answer, key, '{');
    write_abs_error(error, answer);
    answer_close(answer, '}');
}

/* By class: the set its parameters come from, or the GPU, or "default". */
static void write_origins(const struct prediction *prediction, struct answer *answer)
{
    answer_open(answer, "sets", '{');
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (prediction->origins[c] != NULL)
            answer_text(answer, kernel_class_info((enum kernel_class)c)->name, prediction->origins[c]);
    answer_close(answer, '}');
}

static void write_prediction(const char *gpu, const struct prediction *prediction, const struct profile *profile,
                             struct answer *answer)
{
    const struct fit_cuts *errors = &prediction->errors;
    answer_text(answer, "gpu", gpu);
    answer_text(answer, "set", prediction->set);
    write_origins(prediction, answer);
    answer_bool(answer, "default", prediction->is_default);
    write_abs_error(&errors->cuts[CUT_ALL], answer);
    answer_number(answer, "in_range_frac", prediction->in_range_frac);
    answer_number(answer, "table_frac", prediction->table_frac);
    answer_open(answer, "by_operator", '{');
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++)
        write_part(llm_operator_name((enum llm_operator)op), &errors->ops[op], answer);
    answer_close(answer, '}');
    answer_open(answer, "by_band", '{');
    for (int cut = CUT_1_16; cut < CUT_LARGE; cut++)
        write_part(fit_cut_name((enum fit_cut)cut), &errors->cuts[cut], answer);
    answer_close(answer, '}');
    answer_open(answer, "by_size", '{');
    write_part(fit_cut_name(CUT_LARGE), &errors->cuts[CUT_LARGE], answer);
    answer_close(answer, '}');
    write_dropped(profile, answer);
}

static void add_prediction(struct answer_table *table, const char *part, const struct fit_error *error)
{
    if (error->rows == 0) return;
    table_text(table, part);
    calibrate_add_error(table, error);
}

static void show_prediction(const char *gpu, const struct prediction *prediction, const struct profile *profile,
                            struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("part"), CALIBRATE_ERROR_COLUMNS};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (int cut = 0; cut < FIT_CUT_COUNT; cut++)
        add_prediction(&table, fit_cut_name((enum fit_cut)cut), &prediction->errors.cuts[cut]);
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++)
        add_prediction(&table, llm_operator_name((enum llm_operator)op), &prediction->errors.ops[op]);
    answer_say(answer, "%s, %s%s: |predicted / measured - 1|, %.1f %% of the rows inside the fitted range", gpu,
               prediction->set, prediction->is_default ? " (defaults)" : "", 100.0 * prediction->in_range_frac);
    if (prediction->table_frac > 0.0) answer_say(answer, ", %.1f %% in a table", 100.0 * prediction->table_frac);
    answer_say(answer, "\n");
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (prediction->origins[c] != NULL && strcmp(prediction->origins[c], prediction->set) != 0)
            answer_say(answer, "%s: by the parameters of %s\n", kernel_class_info((enum kernel_class)c)->name,
                       prediction->origins[c]);
    answer_add(answer, NULL, NULL, &table);
    for (size_t i = 0; i < profile->n_dropped; i++)
        answer_say(answer, "%s%" PRId64 " rows left out: %s\n", i == 0 ? "\n" : "", profile->dropped[i].rows,
                   profile->dropped[i].reason);
}

int calibrate_print_prediction(const char *gpu, const struct prediction *prediction, const struct profile *profile,
                               enum answer_form form, FILE *out)
{
    const bool as_json = form == ANSWER_JSON;
    struct answer answer;
    struct answer_table table;
    calibrate_csv_init(&table);
    calibrate_csv_add_prediction(&table, prediction);
    if (form == ANSWER_CSV) return calibrate_csv_print(&table, out);
    table_fini(&table);
    answer_init(&answer, as_json ? ANSWER_JSON : ANSWER_TEXT, NULL);
    (as_json ? write_prediction : show_prediction)(gpu, prediction, profile, &answer);
    return answer_end(&answer, 0, out, NULL);
}

/* --- Files --- */

int calibrate_write(struct cli *cli, const char *path, const struct text *text)
{
    struct output *output = NULL;
    if (text->failed) return SIM_E_NOMEM;
    int code = output_open(path, &output, &cli->diag);
    if (code != 0) return code;
    text_add_bytes(output_text(output), text->chars, text->length);
    code = output_close(output, false, &cli->diag);
    if (code == 0) answer_print(cli->err, "%s\n", path);
    return code;
}

int calibrate_save(struct cli *cli, const char *path, const char *gpu, const struct calibrated_set *sets, size_t n_sets)
{
    struct text json;
    text_init(&json);
    int code = calibration_write(gpu, sets, n_sets, path, &json, &cli->diag);
    if (code == 0) code = calibrate_write(cli, path, &json);
    text_fini(&json);
    return code;
}

static int draw_class(struct cli *cli, const char *directory, const char *gpu, const struct calibrated_set *set,
                      enum kernel_class class)
{
    char path[PATH_MAX];
    struct text svg;
    text_init(&svg);
    snprintf(path, sizeof path, "%s/%s-%s.svg", directory, set->name, kernel_class_info(class)->name);
    report_scatter(gpu, set, class, &svg);
    const int code = calibrate_write(cli, path, &svg);
    text_fini(&svg);
    return code;
}

static int draw_bands(struct cli *cli, const char *directory, const char *gpu, const struct calibrated_set *set)
{
    char path[PATH_MAX];
    struct text svg;
    text_init(&svg);
    snprintf(path, sizeof path, "%s/%s-error-by-band.svg", directory, set->name);
    report_bands(gpu, set, &svg);
    const int code = calibrate_write(cli, path, &svg);
    text_fini(&svg);
    return code;
}

int calibrate_make_directory(struct cli *cli, const char *directory)
{
    if (paths_is_directory(directory) || mkdir(directory, 0777) == 0) return 0;
    return diag_system_error(&cli->diag, directory, "cannot make the directory", errno);
}

int calibrate_draw(struct cli *cli, const char *directory, const char *gpu, const struct calibrated_set *sets,
                   size_t n_sets)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < n_sets; i++) {
        for (int c = 0; code == 0 && c < KERNEL_CLASS_COUNT; c++)
            if (sets[i].classes[c] != NULL) code = draw_class(cli, directory, gpu, &sets[i], (enum kernel_class)c);
        if (code == 0) code = draw_bands(cli, directory, gpu, &sets[i]);
    }
    return code;
}
