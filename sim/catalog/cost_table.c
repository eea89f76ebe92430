#include "sim/catalog/cost_kind.h"

#include "models/stated.h"
#include "sim/core/csv.h"
#include "sim/core/mem.h"
#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* --- Measured iterations from a CSV file with a header: which rows, which columns, in which unit --- */

struct table_file {
    const char *path;                      /* NULL: none */
    struct config_list where;              /* const char *: "column=value"; all must hold */
    struct config_list tokens;             /* const char *: columns, whose product is the number of tokens */
    struct config_list decode_where;       /* const char *: what must hold beside `where` for the curve of decoding */
    struct config_list decode_tokens;      /* const char *: like tokens, for decoding; empty: the same columns */
    const char *prefill_time, *decode_time; /* columns */
    double unit_s;                         /* what a time of 1 stands for */
};

enum { MAX_WHERE = 8, MAX_FACTORS = 4, MAX_COLUMNS = 2 * MAX_WHERE + 2 * MAX_FACTORS + 2 };

/* As below. */
static const char default_tokens[] = "tokens", default_prefill_time[] = "prefill_time",
                  default_decode_time[] = "decode_time";
static const double default_unit_s = 1e-3;

static const struct config_field text_fields[] = {{.kind = CONFIG_TEXT, .min = 1, .max = 256}, {0}};

#define ROW_OF struct table_file
static const struct config_field table_file_fields[] = {
    ROW_PATH("path", path, OPTIONAL, "a CSV file with a header"),
    ROW_LIST("where", where, OPTIONAL, WITHIN(0, MAX_WHERE), char *, text_fields,
             "rows to take, as \"column=value\"; all must hold"),
    ROW_LIST("tokens", tokens, DEFAULT("[\"tokens\"]"), WITHIN(1, MAX_FACTORS), char *, text_fields,
             "columns whose product is the number of tokens"),
    ROW_LIST("decode_where", decode_where, OPTIONAL, WITHIN(0, MAX_WHERE), char *, text_fields,
             "further conditions on the rows of the decoding curve"),
    ROW_LIST("decode_tokens", decode_tokens, OPTIONAL, WITHIN(0, MAX_FACTORS), char *, text_fields,
             "columns whose product is the number of decoding sequences; default: as 'tokens'"),
    ROW_TEXT("prefill_time", prefill_time, DEFAULT("prefill_time"), ANY, "time column of iterations with prompts"),
    ROW_TEXT("decode_time", decode_time, DEFAULT("decode_time"), ANY, "time column of iterations that only decode"),
    ROW_QUANTITY("time_unit", unit_s, UNIT_TIME, DEFAULT("1ms"), WITHIN(DBL_MIN, 1e6), "unit of the time columns"),
    {0},
};
#undef ROW_OF

/* A growing list of points. */
struct points {
    struct table_point *items;
    size_t n, capacity;
};

/* The columns asked for: first those of `where` and decode_where, then for each curve those of its tokens and its
 * time. */
struct columns {
    struct csv_column names[MAX_COLUMNS];
    int at[MAX_COLUMNS];
    const char *wanted[2 * MAX_WHERE]; /* values of `where` and decode_where */
    size_t n_where, n_decode_where, n;
    size_t tokens[2], time[2]; /* [curve]: the first of its columns of tokens, that of its time */
};

static const char *text_item(const struct config_list *list, size_t i)
{
    return ((const char *const *)list->items)[i];
}

static int add_point(struct points *points, double tokens, double seconds)
{
    return vec_push(&points->items, &points->n, &points->capacity, (struct table_point){tokens, seconds});
}

/* Splits "column=value"; the texts live in the arena. */
static int plan_where(const struct config_list *list, const char *where, struct arena *arena, struct columns *columns,
                      struct diag *diag)
{
    for (size_t i = 0; i < list->n; i++) {
        char *column = arena_strdup(arena, text_item(list, i));
        if (!column) return SIM_E_NOMEM;
        char *equals = strchr(column, '=');
        if (!equals)
            return diag_error(diag, SIM_E_CONFIG, where, "write \"column=value\"", "'where' has no '=' in '%s'",
                              column);
        *equals = 0;
        columns->wanted[columns->n] = equals + 1;
        columns->names[columns->n++].name = column;
    }
    return 0;
}

static void plan_curve(const struct config_list *tokens, const char *time, size_t curve, struct columns *columns)
{
    columns->tokens[curve] = columns->n;
    for (size_t i = 0; i < tokens->n; i++) columns->names[columns->n++].name = text_item(tokens, i);
    columns->time[curve] = columns->n;
    columns->names[columns->n++].name = time;
}

static int plan_columns(const struct table_file *file, const char *where, struct arena *arena, struct columns *columns,
                        struct diag *diag)
{
    *columns = (struct columns){.n_where = file->where.n, .n_decode_where = file->decode_where.n};
    int code = plan_where(&file->where, where, arena, columns, diag);
    if (code == 0) code = plan_where(&file->decode_where, where, arena, columns, diag);
    if (code != 0) return code;
    plan_curve(&file->tokens, file->prefill_time, 0, columns);
    plan_curve(file->decode_tokens.n > 0 ? &file->decode_tokens : &file->tokens, file->decode_time, 1, columns);
    return 0;
}

/* The field of a planned column; an empty one where the row is too short. */
static struct csv_field field_of(const struct csv *csv, const struct columns *columns, size_t column)
{
    const size_t at = (size_t)columns->at[column];
    return at < csv_n_fields(csv) ? csv_fields(csv)[at] : (struct csv_field){"", 0};
}

/* Whether the fields in columns [from, to) are the wanted ones. */
static bool row_matches(const struct csv *csv, const struct columns *columns, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct csv_field field = field_of(csv, columns, i);
        if (field.n_chars != strlen(columns->wanted[i]) || memcmp(field.chars, columns->wanted[i], field.n_chars) != 0)
            return false;
    }
    return true;
}

/* A number above zero. */
static int read_number(const struct csv *csv, const struct columns *columns, size_t column, double *value,
                       struct diag *diag)
{
    const struct csv_field field = field_of(csv, columns, column);
    if (number_f64(field.chars, field.n_chars, value) == NUMBER_OK && *value > 0.0) return 0;
    char where[DIAG_WHERE_CHARS];
    csv_where(csv, (size_t)columns->at[column], 0, where);
    return diag_error(diag, SIM_E_DATA, where, NULL, "column '%s' must hold a number above 0, got '%.*s'",
                      columns->names[column].name, (int)(field.n_chars < 40 ? field.n_chars : 40), field.chars);
}

/* Adds what the row measured to the curve. */
static int read_point(const struct csv *csv, const struct columns *columns, double unit_s, size_t curve,
                      struct points *points, struct diag *diag)
{
    double tokens = 1.0, factor = 1.0, time = 0.0;
    int code = 0;
    for (size_t i = columns->tokens[curve]; code == 0 && i < columns->time[curve]; i++) {
        code = read_number(csv, columns, i, &factor, diag);
        tokens *= factor;
    }
    if (code != 0 || field_of(csv, columns, columns->time[curve]).n_chars == 0) return code;
    code = read_number(csv, columns, columns->time[curve], &time, diag);
    return code == 0 ? add_point(points, tokens, time * unit_s) : code;
}

/* Adds what the row measured to the curves [prefill, decode]. */
static int read_row(const struct csv *csv, const struct columns *columns, double unit_s, struct points curves[2],
                    struct diag *diag)
{
    const size_t where_end = columns->n_where + columns->n_decode_where;
    int code = read_point(csv, columns, unit_s, 0, &curves[0], diag);
    if (code == 0 && row_matches(csv, columns, columns->n_where, where_end))
        code = read_point(csv, columns, unit_s, 1, &curves[1], diag);
    return code;
}

static int read_rows(struct csv *csv, struct columns *columns, double unit_s, struct points curves[2],
                     struct diag *diag)
{
    int code = csv_read_header(csv, columns->names, columns->n, columns->at, diag);
    while (code == 0) {
        const int got = csv_next(csv, diag);
        if (got <= 0) return got;
        if (row_matches(csv, columns, 0, columns->n_where)) code = read_row(csv, columns, unit_s, curves, diag);
    }
    return code;
}

static int keep_curve(const struct points *points, struct arena *arena, struct table_curve *curve)
{
    struct table_point *kept = arena_alloc(arena, points->n * sizeof *kept);
    if (!kept) return SIM_E_NOMEM;
    memcpy(kept, points->items, points->n * sizeof *kept);
    *curve = (struct table_curve){kept, table_reduce(kept, points->n)};
    return 0;
}

/* Reads both curves; rows whose time is empty are left out of a curve. `where` is the place of the variant. Returns 0,
 * SIM_E_IO, SIM_E_DATA (a column that is missing, no number where one belongs), SIM_E_CONFIG (nothing matches) or
 * SIM_E_NOMEM. */
static int table_file_read(const struct table_file *file, const char *where, struct arena *arena,
                           struct table_curve *prefill, struct table_curve *decode, struct diag *diag)
{
    struct columns columns;
    struct input *input;
    struct csv *csv;
    struct points curves[2] = {{0}, {0}};
    int code = plan_columns(file, where, arena, &columns, diag);
    if (code == 0) code = input_open(file->path, &input, diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){0}, &csv, diag);
    if (code != 0) return code;
    code = read_rows(csv, &columns, file->unit_s, curves, diag);
    csv_destroy(csv);
    if (code == 0 && (curves[0].n == 0 || curves[1].n == 0))
        code = diag_error(diag, SIM_E_CONFIG, where, "compare 'where' with the rows of the file",
                          "no measured iterations in '%s'", file->path);
    if (code == 0) code = keep_curve(&curves[0], arena, prefill);
    if (code == 0) code = keep_curve(&curves[1], arena, decode);
    mem_free(curves[0].items);
    mem_free(curves[1].items);
    return code;
}

/* --- The kind --- */

struct table_params {
    struct config_list prefill, decode; /* struct table_point */
    struct table_file file;             /* in their place */
    double mixed_factor;
};

#define ROW_OF struct table_point
static const struct config_field point_fields[] = {
    ROW_REAL("tokens", tokens, REQUIRED, AT_LEAST(0.0), "tokens in the iteration, one per decoding sequence"),
    ROW_QUANTITY("time", seconds, UNIT_TIME, REQUIRED, POSITIVE, "duration of the iteration"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct table_params
static const struct config_field fields[] = {
    ROW_LIST("prefill", prefill, OPTIONAL, ANY, struct table_point, point_fields, "measured iterations with prompts"),
    ROW_LIST("decode", decode, OPTIONAL, ANY, struct table_point, point_fields, "measured iterations that only decode"),
    ROW_SECTION("file", file, FILLED, table_file_fields,
                "measurements of both kinds from a file, in place of 'prefill' and 'decode'"),
    ROW_REAL("mixed_factor", mixed_factor, DEFAULT("1.1"), WITHIN(DBL_MIN, 10.0),
             "factor on the time of prompts in iterations that also decode"),
    {0},
};
#undef ROW_OF

/* A curve of its own from a list of points, one point per number of tokens. */
static int make_curve(const struct config_list *list, struct arena *arena, struct table_curve *curve)
{
    struct table_point *points = arena_alloc(arena, list->n * sizeof *points);
    if (!points) return SIM_E_NOMEM;
    memcpy(points, list->items, list->n * sizeof *points);
    *curve = (struct table_curve){points, table_reduce(points, list->n)};
    return 0;
}

static int read_points(const struct table_params *params, const struct cost_request *request, struct table *table)
{
    if (params->prefill.n == 0 || params->decode.n == 0)
        return diag_error(request->diag, SIM_E_CONFIG, request->where,
                          "give both 'prefill' and 'decode', or the 'path' of a 'file'",
                          "a table cost has no measurements of %s", params->prefill.n == 0 ? "prompts" : "decoding");
    const int code = make_curve(&params->prefill, request->arena, &table->prefill);
    return code == 0 ? make_curve(&params->decode, request->arena, &table->decode) : code;
}

static bool is_text(const struct config_list *list, const char *text)
{
    return list->n == 1 && strcmp(*(const char *const *)list->items, text) == 0;
}

/* Says how to read a file that there is not. */
static void warn_without_file(const struct table_file *file, const struct cost_request *request)
{
    const struct {
        const char *key;
        bool is_given;
    } keys[] = {{"where", file->where.n > 0},
                {"tokens", !is_text(&file->tokens, default_tokens)},
                {"decode_where", file->decode_where.n > 0},
                {"decode_tokens", file->decode_tokens.n > 0},
                {"prefill_time", strcmp(file->prefill_time, default_prefill_time) != 0},
                {"decode_time", strcmp(file->decode_time, default_decode_time) != 0},
                {"time_unit", fabs(file->unit_s - default_unit_s) > 0}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].is_given)
            diag_warning(request->diag, request->where, "give it, or leave this out",
                         "'%s' of 'file' has no effect: there is no 'path'", keys[i].key);
}

static int read_measurements(const struct table_params *params, const struct cost_request *request, struct table *table)
{
    if (!params->file.path) {
        warn_without_file(&params->file, request);
        return read_points(params, request, table);
    }
    if (params->prefill.n > 0 || params->decode.n > 0)
        return diag_error(request->diag, SIM_E_CONFIG, request->where, NULL,
                          "a table cost has its measurements either from a 'file' or from 'prefill' and 'decode'");
    return table_file_read(&params->file, request->where, request->arena, &table->prefill, &table->decode,
                           request->diag);
}

static int build(const void *params, const struct cost_request *request, struct iteration_model *model)
{
    const struct table_params *given = params;
    struct table *table = arena_alloc(request->arena, sizeof *table);
    if (!table) return SIM_E_NOMEM;
    table->mixed_factor = given->mixed_factor;
    model->model = table;
    model->cost = table_cost;
    model->calibrated = true;
    return read_measurements(given, request, table);
}

const struct cost_kind cost_table = {
    .name = "table",
    .summary = "measured times over tokens, linear in between and beyond",
    .fields = fields,
    .params_bytes = sizeof(struct table_params),
    .build = build,
};
