#include "analysis/calibrate/engine/measured_format.h"

#include "sim/core/path.h"

#include <math.h>

/* No iteration is faster, and no size or time in milliseconds is larger. */
static const double least_s = 1e-9, max_number = 1e9;

int measured_add(struct measured_reader *reader, const struct measured_row *row)
{
    struct measured *measured = reader->measured;
    if (!(row->measured_s >= least_s) || isinf(row->measured_s)) return measured_drop(reader, "no time");
    measured->rows = rows_grown(reader->sheet.arena, measured->rows, measured->n, &reader->capacity, sizeof *row,
                                reader->sheet.diag);
    if (measured->rows == NULL) return SIM_E_NOMEM;
    measured->rows[measured->n] = *row;
    if (reader->sheet.csv != NULL) measured->rows[measured->n].line = (uint32_t)csv_line(reader->sheet.csv);
    measured->n++;
    return 0;
}

int measured_drop(struct measured_reader *reader, const char *reason)
{
    dropped_add(reader->measured->dropped, &reader->measured->n_dropped, reason, 1);
    return 0;
}

static int read_rows(struct measured_reader *reader, const struct measured_format *format)
{
    int status = 0;
    reader->measured->format = format->name;
    reader->measured->fitted_on = format->fitted_on;
    while (status == 0 && (status = sheet_next(&reader->sheet)) > 0) status = format->read_row(reader);
    return status;
}

static int read_table(struct measured_reader *reader)
{
#define FORMAT_ADDRESS(name) &measured_##name,
    static const struct measured_format *const formats[] = {MEASURED_FORMATS(FORMAT_ADDRESS)};
#undef FORMAT_ADDRESS
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct measured_format *format = formats[i];
        const int status = sheet_choose(&reader->sheet, format->columns, format->n_columns, format->n_columns);
        if (status != 0) return status < 0 ? status : read_rows(reader, format);
    }
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->sheet.csv, 0, 0, where);
    return diag_error(reader->sheet.diag, SIM_E_DATA, where, "`orrery calibrate --help` lists the formats",
                      "no known table of measured iterations has these columns");
}

int measured_read(const char *path, struct arena *arena, struct measured *measured, struct diag *diag)
{
    *measured = (struct measured){.path = path};
    struct measured_reader reader = {
        .sheet = {.path = path, .arena = arena, .diag = diag, .max = max_number, .empty = (double)INFINITY},
        .measured = measured,
    };
    int status = file_hash(path, measured->hash, diag);
    if (status < 0) return status;
    if (path_is_json(path)) return measured_read_distserve(&reader);
    if (measured_layers_recognise(path)) return measured_read_layers(&reader);
    status = sheet_open(&reader.sheet, path);
    if (status == 0) status = read_table(&reader);
    sheet_close(&reader.sheet);
    return status;
}
