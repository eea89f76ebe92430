#include "analysis/calibrate/profile/profile_format.h"

#include "analysis/calibrate/file_hash.h"
#include "models/operators/kernel_shape.h"
#include "sim/core/number.h"
#include "sim/core/text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) mem_alloc(bytes)
#define uthash_free(block, bytes) mem_free(block)
#include <uthash.h>

enum { FIRST_ROWS = 256, FIRST_GROUPS = 16, MAX_QUOTE_CHARS = 60, MAX_SET_CHARS = 64 };

const char profile_faster_than_peak[] = "faster than the peak";

/* Data sheets state the peak at a clock that boards exceed in short kernels. */
static const double peak_slack = 1.1;

/* No kernel is faster, and no size beyond the second is one. */
static const double least_s = 1e-9, max_number = 1e18;

struct profile_group {
    const char *name;
    uint32_t index;
    UT_hash_handle hh;
};

static int no_memory(const struct profile_reader *reader)
{
    return diag_error(reader->diag, SIM_E_NOMEM, reader->profile->path, NULL, "out of memory");
}

/* --- columns and fields --- */

int profile_column(const struct profile_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->n_columns; i++)
        if (strcmp(reader->columns[i], name) == 0) return (int)i;
    return -1;
}

bool profile_has_columns(const struct profile_reader *reader, const char *const *names)
{
    for (; *names != NULL; names++)
        if (profile_column(reader, *names) < 0) return false;
    return true;
}

int profile_next(struct profile_reader *reader)
{
    const int status = csv_next(reader->csv, reader->diag);
    const size_t n = status > 0 ? csv_n_fields(reader->csv) : reader->n_columns;
    if (n >= reader->n_columns) return status;
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->csv, n, 0, where);
    return diag_error(reader->diag, SIM_E_DATA, where, "was the file cut off?",
                      "the row has %zu fields, the header %zu", n, reader->n_columns);
}

struct csv_field profile_text(const struct profile_reader *reader, int column)
{
    if (column < 0 || (size_t)column >= csv_n_fields(reader->csv)) return (struct csv_field){"", 0};
    return csv_fields(reader->csv)[column];
}

bool profile_text_is(const struct profile_reader *reader, int column, const char *text)
{
    const struct csv_field field = profile_text(reader, column);
    return field.n_chars == strlen(text) && memcmp(field.chars, text, field.n_chars) == 0;
}

int profile_number(struct profile_reader *reader, int column, double min, double *value)
{
    const struct csv_field field = profile_text(reader, column);
    *value = (double)NAN;
    if (field.n_chars == 0) return 0;
    const bool is_number = number_f64(field.chars, field.n_chars, value) == NUMBER_OK;
    if (is_number && *value >= min && *value <= max_number) return 0;
    const bool is_large = is_number && *value > max_number;
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->csv, (size_t)column, 0, where);
    const int n_shown = field.n_chars < MAX_QUOTE_CHARS ? (int)field.n_chars : MAX_QUOTE_CHARS;
    return diag_error(reader->diag, SIM_E_DATA, where, NULL, "'%s' must be a number of at %s %g, got '%.*s'",
                      reader->columns[column], is_large ? "most" : "least", is_large ? max_number : min, n_shown,
                      field.chars);
}

/* --- the profile that grows --- */

/* A copy of an array in the arena with twice the room. */
static void *doubled(struct arena *arena, const void *items, size_t bytes_each, size_t n, size_t first,
                     size_t *capacity)
{
    const size_t wider = *capacity ? *capacity * 2 : first;
    void *copy = arena_alloc(arena, wider * bytes_each);
    if (copy == NULL) return NULL;
    if (n > 0) memcpy(copy, items, n * bytes_each);
    *capacity = wider;
    return copy;
}

static int append_group(struct profile_reader *reader, const char *name, uint32_t *index)
{
    struct profile *profile = reader->profile;
    if (profile->n_groups == reader->group_capacity) {
        const char **groups = doubled(reader->arena, profile->groups, sizeof *groups, profile->n_groups, FIRST_GROUPS,
                                      &reader->group_capacity);
        if (groups == NULL) return no_memory(reader);
        profile->groups = groups;
    }
    struct profile_group *entry = arena_alloc(reader->arena, sizeof *entry);
    char *text = arena_strdup(reader->arena, name);
    if (entry == NULL || text == NULL) return no_memory(reader);
    *entry = (struct profile_group){.name = text, .index = (uint32_t)profile->n_groups};
    HASH_ADD_KEYPTR(hh, reader->group_index, entry->name, strlen(entry->name), entry);
    if (entry->hh.tbl == NULL) return no_memory(reader);
    profile->groups[profile->n_groups++] = text;
    *index = entry->index;
    return 0;
}

static int find_group(struct profile_reader *reader, const char *name, uint32_t *index)
{
    struct profile_group *entry = NULL;
    HASH_FIND_STR(reader->group_index, name, entry);
    if (entry == NULL) return append_group(reader, name, index);
    *index = entry->index;
    return 0;
}

int profile_group(struct profile_reader *reader, uint32_t *group, const char *format, ...)
{
    char name[DIAG_WHERE_CHARS];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return find_group(reader, name, group);
}

static int append_row(struct profile_reader *reader, const struct profile_row *row)
{
    struct profile *profile = reader->profile;
    if (profile->n == reader->row_capacity) {
        struct profile_row *rows = doubled(reader->arena, profile->rows, sizeof *rows, profile->n, FIRST_ROWS,
                                           &reader->row_capacity);
        if (rows == NULL) return no_memory(reader);
        profile->rows = rows;
    }
    profile->rows[profile->n++] = *row;
    return 0;
}

/* Whether nothing of the shape is unknown: its members, and the axes that follow from them. */
static bool has_shape(const struct kernel_call *call)
{
    double axes[KERNEL_MAX_AXES] = {0.0};
    kernel_call_axes(call, axes);
    for (size_t i = 0; i < kernel_class_info(call->class)->n_axes; i++)
        if (!isfinite(axes[i])) return false;
    for (const struct kernel_member *member = kernel_members(call->class); member->name != NULL; member++)
        if (!isfinite(kernel_member_value(call, member))) return false;
    return true;
}

/* The law of a call before anything was fitted. */
static struct kernel_time initial_time(const struct gpu_spec *gpu, const struct kernel_call *call)
{
    const struct kernel_class_info *info = kernel_class_info(call->class);
    union kernel_params params = {{0.0}};
    for (size_t i = 0; i < info->n_params; i++) params.values[i] = kernel_param_default(&info->params[i]);
    return kernel_call_time(&params, gpu, call);
}

/* Why a row is left out, NULL when it is not. */
static const char *reason_to_drop(const struct profile_row *row)
{
    if (!(row->measured_s >= least_s)) return "no time";
    if (!has_shape(&row->call)) return "no shape";
    const struct kernel_time law = initial_time(row->gpu, &row->call);
    if (!isfinite(law.seconds)) return "no finite time by the law of its class";
    const double peak_s = law.flop / gpu_peak_flop_per_s(row->gpu, kernel_call_compute(&row->call));
    return row->measured_s * peak_slack < peak_s ? profile_faster_than_peak : NULL;
}

int profile_add(struct profile_reader *reader, const struct profile_row *row)
{
    struct profile_row kept = *row;
    kept.gpu = reader->options->gpu;
    kept.line = (uint32_t)csv_line(reader->csv);
    const char *reason = reason_to_drop(&kept);
    if (reason == NULL) return append_row(reader, &kept);
    profile_drop(reader->profile, reason, 1);
    return 0;
}

void profile_drop(struct profile *profile, const char *reason, int64_t rows)
{
    size_t i = 0;
    while (i < profile->n_dropped && strcmp(profile->dropped[i].reason, reason) != 0) i++;
    if (i == PROFILE_MAX_REASONS) i--;
    if (i == profile->n_dropped) profile->dropped[profile->n_dropped++] = (struct profile_dropped){.reason = reason};
    profile->dropped[i].rows += rows;
}

/* --- files --- */

static int read_header(struct profile_reader *reader)
{
    const int status = csv_next(reader->csv, reader->diag);
    if (status < 0) return status;
    if (status == 0) return diag_error(reader->diag, SIM_E_DATA, reader->profile->path, NULL, "file is empty");
    const size_t n = csv_n_fields(reader->csv);
    reader->columns = arena_alloc(reader->arena, n * sizeof *reader->columns);
    if (reader->columns == NULL) return no_memory(reader);
    for (size_t i = 0; i < n; i++) {
        const struct csv_field field = csv_fields(reader->csv)[i];
        reader->columns[i] = arena_printf(reader->arena, "%.*s", (int)field.n_chars, field.chars);
        if (reader->columns[i] == NULL) return no_memory(reader);
    }
    reader->n_columns = n;
    return 0;
}

static int report_unknown(struct profile_reader *reader, const struct profile_format *const *formats, size_t n)
{
    char where[DIAG_WHERE_CHARS];
    struct text known;
    csv_where(reader->csv, 0, 0, where);
    text_init(&known);
    for (size_t i = 0; i < n; i++) text_printf(&known, "%s%s", i == 0 ? "known are " : ", ", formats[i]->name);
    const int status = diag_error(reader->diag, SIM_E_DATA, where, known.chars, "no known profile has these columns");
    text_fini(&known);
    return status;
}

static int read_rows(struct profile_reader *reader)
{
#define FORMAT_ADDRESS(name) &profile_##name,
    static const struct profile_format *const formats[] = {PROFILE_FORMATS(FORMAT_ADDRESS)};
#undef FORMAT_ADDRESS
    int status = read_header(reader);
    if (status < 0) return status;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i]->recognise(reader)) continue;
        reader->profile->format = formats[i]->name;
        return formats[i]->read(reader);
    }
    return report_unknown(reader, formats, sizeof formats / sizeof *formats);
}

int profile_read(const char *path, const struct profile_options *options, struct arena *arena, struct profile *profile,
                 struct diag *diag)
{
    *profile = (struct profile){.path = path};
    struct profile_reader reader = {.options = options, .arena = arena, .diag = diag, .profile = profile};
    struct input *input = NULL;
    int status = file_hash(profile->path, profile->hash, diag);
    if (status == 0) status = input_open(path, &input, diag);
    if (status == 0) status = csv_create(input, &(struct csv_options){0}, &reader.csv, diag);
    if (status == 0) status = read_rows(&reader);
    HASH_CLEAR(hh, reader.group_index);
    csv_destroy(reader.csv);
    return status;
}

bool profile_is_set_name(const char *chars, size_t n_chars)
{
    if (n_chars == 0 || n_chars > MAX_SET_CHARS) return false;
    for (size_t i = 0; i < n_chars; i++)
        if (isalnum((unsigned char)chars[i]) == 0 && (chars[i] == 0 || strchr("_.-", chars[i]) == NULL)) return false;
    return true;
}

/* --- several profiles as one --- */

static int join_rows(struct profile_reader *reader, const struct profile *from)
{
    for (size_t i = 0; i < from->n; i++) {
        struct profile_row row = from->rows[i];
        int status = find_group(reader, from->groups[row.group], &row.group);
        if (status == 0) status = append_row(reader, &row);
        if (status < 0) return status;
    }
    for (size_t i = 0; i < from->n_dropped; i++)
        profile_drop(reader->profile, from->dropped[i].reason, from->dropped[i].rows);
    return 0;
}

int profile_join(const struct profile *profiles, size_t n, struct arena *arena, struct profile *joined,
                 struct diag *diag)
{
    *joined = (struct profile){0};
    if (n == 0) return 0;
    *joined = (struct profile){.format = profiles->format, .set = profiles->set, .grouped_by = profiles->grouped_by};
    struct profile_reader reader = {.arena = arena, .diag = diag, .profile = joined};
    int status = 0;
    for (size_t i = 0; status == 0 && i < n; i++) status = join_rows(&reader, &profiles[i]);
    HASH_CLEAR(hh, reader.group_index);
    return status;
}
