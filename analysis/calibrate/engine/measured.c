#include "analysis/calibrate/engine/measured_format.h"

#include "analysis/calibrate/file_hash.h"
#include "sim/core/input.h"
#include "sim/core/number.h"
#include "sim/core/path.h"

#include <math.h>
#include <string.h>

enum { FIRST_ROWS = 256, MAX_QUOTE_CHARS = 60 };

/* No iteration is faster, and no size or time in milliseconds is beyond the second. */
static const double least_s = 1e-9, max_number = 1e9;

struct csv_field measured_text(const struct measured_reader *reader, size_t column)
{
    const size_t at = (size_t)reader->positions[column];
    return at < csv_n_fields(reader->csv) ? csv_fields(reader->csv)[at] : (struct csv_field){"", 0};
}

static bool field_is(const struct csv_field *field, const char *text)
{
    return field->n_chars == strlen(text) && memcmp(field->chars, text, field->n_chars) == 0;
}

bool measured_text_is(const struct measured_reader *reader, size_t column, const char *text)
{
    const struct csv_field field = measured_text(reader, column);
    return field_is(&field, text);
}

int measured_number(struct measured_reader *reader, size_t column, double min, double *value)
{
    const struct csv_field field = measured_text(reader, column);
    const bool is_number = number_f64(field.chars, field.n_chars, value) == NUMBER_OK;
    if (is_number && *value >= min && *value <= max_number) return 0;
    const bool is_large = is_number && *value > max_number;
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->csv, (size_t)reader->positions[column], 0, where);
    const int n_shown = field.n_chars < MAX_QUOTE_CHARS ? (int)field.n_chars : MAX_QUOTE_CHARS;
    return diag_error(reader->diag, SIM_E_DATA, where, NULL, "'%s' must be a number of at %s %g, got '%.*s'",
                      reader->format->columns[column], is_large ? "most" : "least", is_large ? max_number : min,
                      n_shown, field.chars);
}

int measured_add(struct measured_reader *reader, const struct measured_row *row)
{
    struct measured *measured = reader->measured;
    if (!(row->measured_s >= least_s) || isinf(row->measured_s)) return measured_drop(reader, "no time");
    if (measured->n == reader->capacity) {
        const size_t wider = reader->capacity ? 2 * reader->capacity : FIRST_ROWS;
        struct measured_row *rows = arena_alloc(reader->arena, wider * sizeof *rows);
        if (rows == NULL) return diag_error(reader->diag, SIM_E_NOMEM, measured->path, NULL, "out of memory");
        if (measured->n > 0) memcpy(rows, measured->rows, measured->n * sizeof *rows);
        measured->rows = rows;
        reader->capacity = wider;
    }
    measured->rows[measured->n] = *row;
    if (reader->csv != NULL) measured->rows[measured->n].line = (uint32_t)csv_line(reader->csv);
    measured->n++;
    return 0;
}

void measured_leave_out(struct measured *measured, const char *reason)
{
    size_t i = 0;
    while (i < measured->n_dropped && strcmp(measured->dropped[i].reason, reason) != 0) i++;
    if (i == MEASURED_MAX_REASONS) i--;
    if (i == measured->n_dropped) measured->dropped[measured->n_dropped++] = (struct measured_dropped){.reason = reason};
    measured->dropped[i].rows++;
}

int measured_drop(struct measured_reader *reader, const char *reason)
{
    measured_leave_out(reader->measured, reason);
    return 0;
}

static int find_column(const struct csv *header, const char *name)
{
    for (size_t i = 0; i < csv_n_fields(header); i++)
        if (field_is(&csv_fields(header)[i], name)) return (int)i;
    return -1;
}

static bool recognise(struct measured_reader *reader, const struct measured_format *format)
{
    reader->format = format;
    for (size_t i = 0; i < format->n_columns; i++) {
        reader->positions[i] = find_column(reader->csv, format->columns[i]);
        if (reader->positions[i] < 0) return false;
    }
    return true;
}

/* Finds the format of the header, which was read last. */
static int choose_format(struct measured_reader *reader)
{
#define FORMAT_ADDRESS(name) &measured_##name,
    static const struct measured_format *const formats[] = {MEASURED_FORMATS(FORMAT_ADDRESS)};
#undef FORMAT_ADDRESS
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!recognise(reader, formats[i])) continue;
        reader->measured->format = formats[i]->name;
        reader->measured->fitted_on = formats[i]->fitted_on;
        return 0;
    }
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->csv, 0, 0, where);
    return diag_error(reader->diag, SIM_E_DATA, where, "`orrery calibrate --help` lists the formats",
                      "no known table of measured iterations has these columns");
}

static int read_table(struct measured_reader *reader)
{
    int status = csv_next(reader->csv, reader->diag);
    if (status < 0) return status;
    if (status == 0) return diag_error(reader->diag, SIM_E_DATA, reader->measured->path, NULL, "the file is empty");
    status = choose_format(reader);
    while (status == 0 && (status = csv_next(reader->csv, reader->diag)) > 0) status = reader->format->read_row(reader);
    return status;
}

int measured_read(const char *path, struct arena *arena, struct measured *measured, struct diag *diag)
{
    *measured = (struct measured){.path = path};
    struct measured_reader reader = {.arena = arena, .diag = diag, .measured = measured};
    struct input *input = NULL;
    int status = file_hash(path, measured->hash, diag);
    if (status < 0) return status;
    if (path_is_json(path)) return measured_read_distserve(&reader);
    if (measured_layers_recognise(path)) return measured_read_layers(&reader);
    status = input_open(path, &input, diag);
    if (status == 0) status = csv_create(input, &(struct csv_options){0}, &reader.csv, diag);
    if (status == 0) status = read_table(&reader);
    csv_destroy(reader.csv);
    return status;
}
