#include "analysis/calibrate/write.h"

#include "models/operators/kernel_table.h"
#include "sim/core/json_doc.h"
#include "sim/core/path.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_CHARS = 100, QUANTITY_CHARS = 64, KEY_CHARS = 100, NUMBER_CHARS = 24 };
enum { PARAM_DIGITS = 6, TIME_DIGITS = 9 };

/* Errors are rounded to a thousandth and to a hundredth of a percent. */
static const double fine_steps = 1e5, steps = 1e4;

/* --- What all calibration files share --- */

double calibration_round(double value, int digits)
{
    char shown[QUANTITY_CHARS];
    snprintf(shown, sizeof shown, "%.*g", digits, value);
    return strtod(shown, NULL);
}

void calibration_write_value(struct json_writer *json, const char *key, double value, int digits, enum unit_dim dim)
{
    const double rounded = calibration_round(value, digits);
    char quantity[QUANTITY_CHARS];
    if (dim == UNIT_NONE) {
        json_write_number(json, key, rounded);
        return;
    }
    unit_format(rounded, dim, quantity, sizeof quantity);
    json_write_string(json, key, quantity);
}

static void write_share(struct json_writer *json, const char *key, double share, double per_unit)
{
    json_write_number(json, key, rint(share * per_unit) / per_unit + 0.0);
}

static void write_members(struct json_writer *json, const struct fit_error *error, double per_unit)
{
    json_write_number(json, "rows", (double)error->rows);
    write_share(json, "median", error->median, per_unit);
    write_share(json, "p90", error->p90, per_unit);
    write_share(json, "worst", error->worst, per_unit);
    write_share(json, "bias", error->bias, per_unit);
}

void calibration_write_error(struct json_writer *json, const char *key, const struct fit_error *error)
{
    json_write_open_row(json, key, '{');
    write_members(json, error, steps);
    json_write_close(json, '}');
}

void calibration_write_at_bound(struct json_writer *json, const struct kernel_param *params, size_t n,
                                const double *values)
{
    size_t n_at_bound = 0;
    for (size_t i = 0; i < n; i++) {
        if (!fit_is_at_bound(&params[i], values[i])) continue;
        if (n_at_bound++ == 0) json_write_open_row(json, "at_bound", '[');
        json_write_string(json, NULL, params[i].name);
    }
    if (n_at_bound > 0) json_write_close(json, ']');
}

/* --- Measured points of a class --- */

/* Number of leading points, which are sorted, with the shape of the first. */
static size_t count_alike(const struct kernel_point *points, size_t n)
{
    struct kernel_place first, next;
    size_t alike = 1;
    kernel_call_place(&points[0].call, &first);
    for (; alike < n; alike++) {
        kernel_call_place(&points[alike].call, &next);
        if (memcmp(first.fixed, next.fixed, sizeof first.fixed) != 0) break;
    }
    return alike;
}

static void write_fixed(struct json_writer *json, const struct kernel_call *call, const struct kernel_member *member)
{
#define FORMAT_NAME(id, name, bytes) name,
    static const char *const names[] = {NUMBER_FORMATS(FORMAT_NAME)};
#undef FORMAT_NAME
    const double value = kernel_member_value(call, member);
    if (member->kind == MEMBER_NUMBER) json_write_number(json, member->name, value);
    if (member->kind == MEMBER_FORMAT) json_write_string(json, member->name, names[(size_t)value]);
    if (member->kind == MEMBER_FLAG && value > 0.0) json_write_bool(json, member->name, true);
}

/* Members that a call does not use may be NAN; they are written as 0. */
static void write_column(struct json_writer *json, const struct kernel_member *member,
                         const struct kernel_point *points, size_t n)
{
    json_write_open_row(json, member->name, '[');
    for (size_t i = 0; i < n; i++) {
        const double value = kernel_member_value(&points[i].call, member);
        json_write_number(json, NULL, isfinite(value) ? value : 0.0);
    }
    json_write_close(json, ']');
}

static void write_shape(struct json_writer *json, const struct kernel_point *points, size_t n)
{
    const struct kernel_member *members = kernel_members(points[0].call.class);
    json_write_open(json, NULL, '{');
    for (const struct kernel_member *member = members; member->name != NULL; member++)
        if (member->role == MEMBER_FIXED) write_fixed(json, &points[0].call, member);
    for (const struct kernel_member *member = members; member->name != NULL; member++)
        if (member->role != MEMBER_FIXED) write_column(json, member, points, n);
    json_write_open_row(json, "seconds", '[');
    for (size_t i = 0; i < n; i++) json_write_number(json, NULL, calibration_round(points[i].seconds, TIME_DIGITS));
    json_write_close(json, ']');
    json_write_close(json, '}');
}

/* Adds the member "table" to an open object: n >= 1 rows of one class, sorted, equal calls once with the median of
 * their times. */
static void write_table(struct json_writer *json, const struct profile_row *rows, size_t n)
{
    struct kernel_point *points = mem_zalloc(n, sizeof *points);
    if (points == NULL) {
        json->text->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) points[i] = (struct kernel_point){rows[i].call, rows[i].measured_s};
    const size_t kept = kernel_points_reduce(points, n);
    json_write_open(json, "table", '[');
    for (size_t first = 0, alike; first < kept; first += alike) {
        alike = count_alike(&points[first], kept - first);
        write_shape(json, &points[first], alike);
    }
    json_write_close(json, ']');
    mem_free(points);
}

/* --- A class as JSON --- */

static void write_error(struct json_writer *json, const char *key, const struct fit_error *error)
{
    if (error->rows == 0) return;
    json_write_open(json, key, '{');
    write_members(json, error, fine_steps);
    json_write_close(json, '}');
}

static void write_cuts(struct json_writer *json, const char *key, const struct fit_cuts *cuts)
{
    json_write_open(json, key, '{');
    for (int cut = 0; cut < FIT_CUT_COUNT; cut++) write_error(json, fit_cut_name((enum fit_cut)cut), &cuts->cuts[cut]);
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++)
        write_error(json, llm_operator_name((enum llm_operator)op), &cuts->ops[op]);
    json_write_close(json, '}');
}

static void write_params(struct json_writer *json, const struct kernel_class_info *info,
                         const union kernel_params *params)
{
    json_write_open(json, "parameters", '{');
    for (size_t i = 0; i < info->n_params; i++) {
        const bool is_time = info->params[i].unit == PARAM_SECONDS;
        if (info->params[i].stage == PARAM_OF_ENGINE && params->values[i] == 0.0) continue;
        calibration_write_value(json, info->params[i].name, params->values[i], PARAM_DIGITS,
                                is_time ? UNIT_TIME : UNIT_NONE);
    }
    json_write_close(json, '}');
}

static void write_range(struct json_writer *json, const struct kernel_class_info *info,
                        const struct kernel_range *range)
{
    json_write_open(json, "range", '{');
    for (size_t i = 0; i < info->n_axes; i++) {
        json_write_open(json, info->axes[i], '[');
        json_write_number(json, NULL, range->low[i]);
        json_write_number(json, NULL, range->high[i]);
        json_write_close(json, ']');
    }
    json_write_close(json, '}');
}

/* The pairs of formats of the rows, for a class with formats. */
static void write_formats(struct json_writer *json, const struct kernel_class_info *info,
                          const struct kernel_range *range)
{
#define FORMAT_NAME(id, name, bytes) name,
    static const char *const names[] = {NUMBER_FORMATS(FORMAT_NAME)};
#undef FORMAT_NAME
    if (info->stored == NULL) return;
    json_write_open(json, "formats", '[');
    for (size_t i = 0; i < (size_t)FORMAT_COUNT * FORMAT_COUNT; i++) {
        if (!range->formats[i / FORMAT_COUNT][i % FORMAT_COUNT]) continue;
        json_write_open(json, NULL, '{');
        json_write_string(json, info->stored, names[i / FORMAT_COUNT]);
        json_write_string(json, "compute", names[i % FORMAT_COUNT]);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

/* Whether an earlier profile of the class has the library, too. */
static bool is_library_told(const struct calibrated_set *set, enum kernel_class class, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (profile_has_class(&set->profiles[i], class) &&
            library_is_same(&set->profiles[i].library, &set->profiles[index].library))
            return true;
    return false;
}

/* The libraries of the class's profiles, each once; nothing if none is stated. */
static void write_libraries(struct json_writer *json, const struct calibrated_set *set, enum kernel_class class)
{
    bool is_open = false;
    for (size_t i = 0; i < set->n_profiles; i++) {
        const struct library_release *release = &set->profiles[i].library;
        if (release->library == NULL || !profile_has_class(&set->profiles[i], class) || is_library_told(set, class, i))
            continue;
        if (!is_open) json_write_open(json, "measured_with", '[');
        is_open = true;
        json_write_open(json, NULL, '{');
        json_write_string(json, "library", release->library);
        if (release->version != NULL) json_write_string(json, "version", release->version);
        json_write_number(json, "year", (double)release->year);
        json_write_close(json, '}');
    }
    if (is_open) json_write_close(json, ']');
}

static void write_profiles(struct json_writer *json, const struct calibrated_set *set, enum kernel_class class)
{
    json_write_open(json, "profiles", '[');
    for (size_t i = 0; i < set->n_profiles; i++) {
        if (!profile_has_class(&set->profiles[i], class)) continue;
        json_write_open(json, NULL, '{');
        json_write_string(json, "file", path_name(set->profiles[i].path));
        json_write_string(json, "hash", set->profiles[i].hash);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

/* The name of a fold as a key of letters, digits, '_', '.' and '-'. The index of the fold is appended when other
 * characters were replaced, so that keys differ. */
static void make_key(const char *name, size_t fold, char key[KEY_CHARS])
{
    const int n = snprintf(key, KEY_CHARS - NUMBER_CHARS, "%s", name);
    bool is_changed = n >= KEY_CHARS - NUMBER_CHARS;
    for (char *c = key; *c != 0; c++) {
        if (isalnum((unsigned char)*c) || strchr("_.-", *c) != NULL) continue;
        *c = '-';
        is_changed = true;
    }
    if (is_changed) snprintf(key + strlen(key), NUMBER_CHARS, ".%zu", fold);
}

static void write_folds(struct json_writer *json, const struct fold_report *report)
{
    json_write_open(json, "folds", '{');
    for (size_t i = 0; i < report->n_folds; i++) {
        char key[KEY_CHARS];
        make_key(report->folds[i].name, i, key);
        write_error(json, key, &report->folds[i].errors.cuts[CUT_ALL]);
    }
    json_write_close(json, '}');
}

static void write_held_out(struct json_writer *json, const struct calibrated_class *class)
{
    const struct fold_report *report = &class->report;
    if (report->n_folds == 0) return;
    json_write_open(json, "held_out", '{');
    json_write_string(json, "by", class->held_out_by);
    write_cuts(json, "error", &report->held_out);
    write_folds(json, report);
    if (report->roofline.cuts[CUT_ALL].rows > 0) write_cuts(json, "roofline", &report->roofline);
    if (report->layer_sum.cuts[CUT_ALL].rows > 0) write_cuts(json, "layer_sum", &report->layer_sum);
    json_write_close(json, '}');
}

/* Whether the class's attention was measured together with writing the cache. */
static bool writes_kv(const struct fold_report *report, enum kernel_class class)
{
    for (size_t i = 0; i < report->n_rows; i++) {
        const struct kernel_call *call = &report->rows[i].call;
        if (class == KERNEL_PREFILL_ATTENTION && call->shape.prefill.writes_kv) return true;
        if (class == KERNEL_DECODE_ATTENTION && call->shape.decode.writes_kv) return true;
    }
    return false;
}

static void write_class(struct json_writer *json, const struct calibrated_set *set, enum kernel_class class)
{
    const struct kernel_class_info *info = kernel_class_info(class);
    const struct fold_report *report = &set->classes[class]->report;
    const char *law = set->classes[class]->law;
    json_write_open(json, info->name, '{');
    write_params(json, info, &report->params);
    calibration_write_at_bound(json, info->params, info->n_params, report->params.values);
    if (law != NULL) json_write_string(json, "law", law);
    if (law != NULL ? set->classes[class]->law_writes_kv : writes_kv(report, class))
        json_write_bool(json, "writes_kv", true);
    if (!set->is_pooled && report->range.fitted) {
        write_range(json, info, &report->range);
        write_formats(json, info, &report->range);
    }
    if (set->has_table) write_table(json, report->rows, report->n_rows);
    json_write_number(json, "rows", (double)report->n_rows);
    write_libraries(json, set, class);
    write_profiles(json, set, class);
    write_cuts(json, "fit", &report->fit);
    write_held_out(json, set->classes[class]);
    json_write_close(json, '}');
}

void calibration_write_sets(struct json_writer *json, const struct calibrated_set *sets, size_t n_sets)
{
    json_write_open(json, "sets", '{');
    for (size_t i = 0; i < n_sets; i++) {
        json_write_open(json, sets[i].name, '{');
        for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
            if (sets[i].classes[c] != NULL) write_class(json, &sets[i], (enum kernel_class)c);
        json_write_close(json, '}');
    }
    json_write_close(json, '}');
}

static void write_fresh(struct text *text, const char *gpu, const struct calibrated_set *sets, size_t n_sets)
{
    struct json_writer json;
    json_writer_init(&json, text);
    json_write_open(&json, NULL, '{');
    json_write_string(&json, "gpu", gpu);
    calibration_write_sets(&json, sets, n_sets);
    json_write_close(&json, '}');
}

/* --- Laying one document over another --- */

/* Puts `node` in the place of the member with its key, else at the end. */
static void put_member(struct json_node *object, struct json_node *node)
{
    struct json_node *before = NULL, *old = object->first;
    while (old != NULL && strcmp(old->key, node->key) != 0) {
        before = old;
        old = old->next;
    }
    node->next = NULL;
    if (old == NULL) {
        json_append(object, node);
        return;
    }
    node->next = old->next;
    *(before != NULL ? &before->next : &object->first) = node;
    if (object->last == old) object->last = node;
}

/* Sorts the classes of a set in the order of the enum; unknown members go last. */
static void sort_classes(struct json_node *set)
{
    struct json_node sorted = {.kind = JSON_OBJECT}, *next;
    for (int c = 0; c <= KERNEL_CLASS_COUNT; c++) {
        struct json_node rest = {.kind = JSON_OBJECT};
        for (struct json_node *node = set->first; node != NULL; node = next) {
            next = node->next;
            node->next = NULL;
            const bool is_due = c == KERNEL_CLASS_COUNT ||
                                strcmp(node->key, kernel_class_info((enum kernel_class)c)->name) == 0;
            json_append(is_due ? &sorted : &rest, node);
        }
        set->first = rest.first;
    }
    set->first = sorted.first;
    set->last = sorted.last;
}

static void merge_sets(struct json_node *old_sets, struct json_node *new_sets)
{
    struct json_node *next;
    for (struct json_node *set = new_sets->first; set != NULL; set = next) {
        next = set->next;
        struct json_node *old = json_member(old_sets, set->key), *next_class;
        if (old == NULL || old->kind != JSON_OBJECT) {
            put_member(old_sets, set);
            continue;
        }
        for (struct json_node *class = set->first; class != NULL; class = next_class) {
            next_class = class->next;
            put_member(old, class);
        }
        sort_classes(old);
    }
}

/* --- Printing --- */

static void print_node(struct json_writer *json, const struct json_node *node);

static void print_children(struct json_writer *json, const struct json_node *node, bool as_row)
{
    const bool is_list = node->kind == JSON_LIST;
    (as_row ? json_write_open_row : json_write_open)(json, node->key, is_list ? '[' : '{');
    for (const struct json_node *child = node->first; child != NULL; child = child->next) print_node(json, child);
    json_write_close(json, is_list ? ']' : '}');
}

/* Whether a list or object is printed in one line: any list of plain values, else one without objects that fits into
 * ROW_CHARS. */
static bool fits_row(struct json_writer *json, const struct json_node *node)
{
    bool is_plain = node->kind == JSON_LIST;
    for (const struct json_node *child = node->first; child != NULL; child = child->next) {
        if (child->kind == JSON_OBJECT) return false;
        is_plain &= child->kind != JSON_LIST;
    }
    if (is_plain) return true;
    struct text row;
    struct json_writer scratch;
    text_init(&row);
    json_writer_init(&scratch, &row);
    print_children(&scratch, node, true);
    json->text->failed |= row.failed;
    const bool is_short = row.length <= ROW_CHARS;
    text_fini(&row);
    return is_short;
}

static void print_node(struct json_writer *json, const struct json_node *node)
{
    if (node->kind == JSON_OBJECT || node->kind == JSON_LIST) {
        print_children(json, node, json->row_depth == 0 && fits_row(json, node));
    } else if (node->kind == JSON_STRING) {
        json_write_string(json, node->key, node->text);
    } else {
        json_write_key(json, node->key);
        text_add(json->text, node->text);
    }
}

/* --- The file --- */

/* Reads the old file; *root stays NULL when it does not exist. */
static int load_old(struct arena *arena, const char *path, const char *gpu, struct json_node **root, struct diag *diag)
{
    char *text = NULL;
    size_t bytes = 0;
    if (path == NULL) return 0;
    int code = json_read_file(path, &text, &bytes);
    mem_free(text);
    if (code == SIM_E_IO && errno == ENOENT) return 0;
    if (code == SIM_E_IO) return diag_system_error(diag, path, "cannot read", errno);
    if (code == 0) code = json_load(arena, path, root, diag);
    if (code != 0) return code;
    char where[DIAG_WHERE_CHARS];
    const struct json_node *name = json_member(*root, "gpu"), *sets = json_member(*root, "sets");
    if (name == NULL || name->kind != JSON_STRING || sets == NULL || sets->kind != JSON_OBJECT)
        return diag_error(diag, SIM_E_CONFIG, json_where(*root, where, sizeof where), "name another file with -o",
                          "this is no calibration file: it lacks 'gpu' or 'sets'");
    if (strcmp(name->text, gpu) == 0) return 0;
    return diag_error(diag, SIM_E_CONFIG, json_where(name, where, sizeof where), "name another file with -o",
                      "this calibration is of '%s', not of '%s'", name->text, gpu);
}

static int write_merged(struct arena *arena, const char *fresh, const char *old_path, const char *gpu,
                        struct text *json, struct diag *diag)
{
    struct json_source *source = arena_alloc(arena, sizeof *source);
    struct json_node *root = NULL, *old = NULL;
    if (source == NULL) return SIM_E_NOMEM;
    *source = (struct json_source){.name = "calibration", .directory = "."};
    int code = json_parse(arena, source, fresh, strlen(fresh), &root, diag);
    if (code == 0) code = load_old(arena, old_path, gpu, &old, diag);
    if (code != 0) return code;
    if (old != NULL) merge_sets(json_member(old, "sets"), json_member(root, "sets"));
    struct json_writer writer;
    json_writer_init(&writer, json);
    print_node(&writer, old != NULL ? old : root);
    text_add(json, "\n");
    return json->failed ? SIM_E_NOMEM : 0;
}

int calibration_write(const char *gpu, const struct calibrated_set *sets, size_t n_sets, const char *old_path,
                      struct text *json, struct diag *diag)
{
    struct arena arena;
    struct text fresh;
    arena_init(&arena);
    text_init(&fresh);
    write_fresh(&fresh, gpu, sets, n_sets);
    const int code = fresh.failed ? SIM_E_NOMEM : write_merged(&arena, fresh.chars, old_path, gpu, json, diag);
    text_fini(&fresh);
    arena_fini(&arena);
    return code;
}
