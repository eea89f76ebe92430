#include "analysis/calibrate/sheet.h"

#include "sim/core/input.h"
#include "sim/core/number.h"

#include <math.h>
#include <string.h>

enum { FIRST_ROWS = 256, READ_BYTES = 1 << 16, MAX_QUOTE_CHARS = 60 };

void dropped_add(struct dropped_rows *dropped, size_t *n, const char *reason, int64_t rows)
{
    size_t i = 0;
    while (i < *n && strcmp(dropped[i].reason, reason) != 0) i++;
    if (i == DROPPED_MAX_REASONS) i--;
    if (i == *n) dropped[(*n)++] = (struct dropped_rows){.reason = reason};
    dropped[i].rows += rows;
}

void *rows_grown(struct arena *arena, void *items, size_t n, size_t *capacity, size_t item_bytes, struct diag *diag)
{
    if (n < *capacity) return items;
    const size_t wider = *capacity > 0 ? 2 * *capacity : FIRST_ROWS;
    void *grown = arena_alloc(arena, wider * item_bytes);
    if (grown == NULL) {
        diag_nomem(diag);
        return NULL;
    }
    if (n > 0) memcpy(grown, items, n * item_bytes);
    *capacity = wider;
    return grown;
}

int file_hash(const char *path, char hex[HASH_HEX_CHARS], struct diag *diag)
{
    struct input *input = NULL;
    int status = input_open(path, &input, diag);
    if (status < 0) return status;
    unsigned char *bytes = mem_alloc(READ_BYTES);
    struct hash *hash = hash_create();
    if (bytes == NULL || hash == NULL) status = diag_nomem_at(diag, path);
    size_t n_read = 1;
    while (status == 0 && n_read > 0) {
        status = input_read(input, bytes, READ_BYTES, &n_read, diag);
        if (status == 0) hash_bytes(hash, bytes, n_read);
    }
    if (status == 0) hash_hex(hash, hex);
    hash_destroy(hash);
    mem_free(bytes);
    input_close(input);
    return status;
}

/* --- Header --- */

static int read_header(struct sheet *sheet)
{
    const int status = csv_next(sheet->csv, sheet->diag);
    if (status < 0) return status;
    if (status == 0) return diag_error(sheet->diag, SIM_E_DATA, sheet->path, NULL, "the file is empty");
    const size_t n = csv_n_fields(sheet->csv);
    sheet->header = arena_alloc(sheet->arena, n * sizeof *sheet->header);
    if (sheet->header == NULL) return diag_nomem_at(sheet->diag, sheet->path);
    for (size_t i = 0; i < n; i++) {
        const struct csv_field field = csv_fields(sheet->csv)[i];
        sheet->header[i] = arena_printf(sheet->arena, "%.*s", (int)field.n_chars, field.chars);
        if (sheet->header[i] == NULL) return diag_nomem_at(sheet->diag, sheet->path);
    }
    sheet->n_header = n;
    return 0;
}

int sheet_open(struct sheet *sheet, const char *path)
{
    struct input *input = NULL;
    sheet->path = path;
    int status = input_open(path, &input, sheet->diag);
    if (status == 0) status = csv_create(input, &(struct csv_options){0}, &sheet->csv, sheet->diag);
    return status == 0 ? read_header(sheet) : status;
}

void sheet_close(struct sheet *sheet)
{
    csv_destroy(sheet->csv);
    sheet->csv = NULL;
}

int sheet_position(const struct sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->n_header; i++)
        if (strcmp(sheet->header[i], name) == 0) return (int)i;
    return -1;
}

int sheet_choose(struct sheet *sheet, const struct sheet_column *columns, size_t n_columns, size_t n_required)
{
    for (size_t i = 0; i < n_required; i++)
        if (sheet_position(sheet, columns[i].name) < 0) return 0;
    sheet->columns = columns;
    sheet->positions = arena_alloc(sheet->arena, (n_columns + 1) * sizeof *sheet->positions);
    if (sheet->positions == NULL) return diag_nomem_at(sheet->diag, sheet->path);
    for (size_t i = 0; i < n_columns; i++) sheet->positions[i] = sheet_position(sheet, columns[i].name);
    return 1;
}

/* --- Rows --- */

int sheet_next(struct sheet *sheet)
{
    const int status = csv_next(sheet->csv, sheet->diag);
    const size_t n = status > 0 ? csv_n_fields(sheet->csv) : sheet->n_header;
    if (n >= sheet->n_header) return status;
    char where[DIAG_WHERE_CHARS];
    csv_where(sheet->csv, n, 0, where);
    return diag_error(sheet->diag, SIM_E_DATA, where, "was the file cut off?", "the row has %zu fields, the header %zu",
                      n, sheet->n_header);
}

static int position_of(const struct sheet *sheet, int column)
{
    return sheet->columns != NULL ? sheet->positions[column] : column;
}

struct csv_field sheet_text(const struct sheet *sheet, int column)
{
    const int at = position_of(sheet, column);
    return at < 0 ? (struct csv_field){"", 0} : csv_fields(sheet->csv)[at];
}

const char *sheet_text_copy(const struct sheet *sheet, int column)
{
    const struct csv_field field = sheet_text(sheet, column);
    return arena_printf(sheet->arena, "%.*s", (int)field.n_chars, field.chars);
}

bool sheet_has(const struct sheet *sheet, int column)
{
    return position_of(sheet, column) >= 0;
}

bool sheet_text_is(const struct sheet *sheet, int column, const char *text)
{
    const struct csv_field field = sheet_text(sheet, column);
    return field.n_chars == strlen(text) && memcmp(field.chars, text, field.n_chars) == 0;
}

void sheet_where(const struct sheet *sheet, int column, char where[DIAG_WHERE_CHARS])
{
    const int at = position_of(sheet, column);
    csv_where(sheet->csv, at < 0 ? 0 : (size_t)at, 0, where);
}

int sheet_number(struct sheet *sheet, int column, double min, double *value)
{
    const struct csv_field field = sheet_text(sheet, column);
    *value = sheet->empty;
    if (field.n_chars == 0 && !isinf(sheet->empty)) return 0;
    const bool is_number = number_f64(field.chars, field.n_chars, value) == NUMBER_OK;
    if (is_number && *value >= min && *value <= sheet->max) return 0;
    const bool is_large = is_number && *value > sheet->max;
    char where[DIAG_WHERE_CHARS];
    sheet_where(sheet, column, where);
    return diag_error(sheet->diag, SIM_E_DATA, where, NULL, "'%s' must be a number of at %s %g, got '%.*s'",
                      sheet->header[position_of(sheet, column)], is_large ? "most" : "least",
                      is_large ? sheet->max : min,
                      field.n_chars < MAX_QUOTE_CHARS ? (int)field.n_chars : MAX_QUOTE_CHARS, field.chars);
}

int sheet_numbers(struct sheet *sheet, int first, int end, double *values)
{
    int status = 0;
    for (int i = first; status == 0 && i < end; i++) status = sheet_number(sheet, i, sheet->columns[i].min, &values[i]);
    return status;
}
