#include "traces/reader_width.h"

#include <sys/stat.h>

void reader_see_width(struct widest_row *widest, const struct csv *csv)
{
    if (csv_n_fields(csv) <= widest->n_fields) return;
    widest->n_fields = csv_n_fields(csv);
    csv_where(csv, 0, 0, widest->where);
}

/* The column with the largest number. */
static size_t last_column(const struct reader *reader)
{
    size_t last = 0;
    for (size_t i = 1; i < reader->format.n_columns; i++)
        if (reader->positions[i] > reader->positions[last]) last = i;
    return last;
}

/* Without a header, a number beyond every row would leave its column empty unnoticed. `widest`: of all rows. */
static int check_numbers(const struct reader *reader, const struct widest_row *widest, struct diag *diag)
{
    const size_t last = last_column(reader);
    if (!reader->format.csv.by_user || !reader->format.no_header || widest->n_fields == 0) return 0;
    if (reader->positions[last] < (int)widest->n_fields) return 0;
    return diag_error(diag, SIM_E_DATA, widest->where, "number the columns from 1, and leave out what the file lacks",
                      "no row has more than %zu field%s, but '%s' is column %d", widest->n_fields,
                      widest->n_fields == 1 ? "" : "s", reader->columns[last].name, reader->positions[last] + 1);
}

enum row_result reader_check_width(struct reader *reader)
{
    if (reader->header_fields == 0) return ROW_KEPT;
    for (size_t i = reader->header_fields; i < reader->n_fields; i++) {
        char where[DIAG_WHERE_CHARS];
        if (reader->fields[i].n_chars == 0) continue;
        csv_where(reader->csv, i, 0, where);
        diag_error(&reader->problem, SIM_E_DATA, where,
                   "quote fields that hold the separator, or let \"allow_bad_rows\" leave such rows out",
                   "row has %zu fields, but the header has %zu", reader->n_fields, reader->header_fields);
        return ROW_BAD;
    }
    return ROW_KEPT;
}

/* Finds the widest row of the file, or one that has all columns: mostly its first. Returns 0 or SIM_E_NOMEM;
 * *widest has no fields if the file cannot be read to its end, or the search is interrupted. */
static int find_widest(const struct reader *reader, struct widest_row *widest, struct diag *diag)
{
    const size_t needed = (size_t)reader->positions[last_column(reader)] + 1;
    struct input *input;
    struct csv *csv;
    struct diag unheard;
    diag_init(&unheard);
    if (input_open(reader->file->path, &input, &unheard) != 0) return 0;
    int code = csv_create(input, &reader->format.csv, &csv, &unheard);
    if (code != 0) return code == SIM_E_NOMEM ? diag_nomem_at(diag, reader->file->path) : 0;
    while ((code = csv_next(csv, &unheard)) == 1 || code == SIM_E_DATA) {
        if (code == 1) reader_see_width(widest, csv);
        diag_init(&unheard);
        if (widest->n_fields >= needed) break;
        if (source_is_interrupted(reader->interrupt)) code = SIM_E_INTERRUPTED;
        if (code == SIM_E_INTERRUPTED) break;
    }
    csv_destroy(csv);
    if (code == SIM_E_NOMEM) return diag_nomem_at(diag, reader->file->path);
    if (code < 0 && code != SIM_E_DATA) widest->n_fields = 0;
    return 0;
}

int reader_check_numbers_ahead(const struct reader *reader, struct diag *diag)
{
    struct widest_row widest = {0};
    struct stat status;
    if (!reader->format.csv.by_user || !reader->format.no_header) return 0;
    if (stat(reader->file->path, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    const int code = find_widest(reader, &widest, diag);
    return code == 0 ? check_numbers(reader, &widest, diag) : code;
}

int reader_check_numbers(const struct reader *reader, struct diag *diag)
{
    return check_numbers(reader, &reader->widest, diag);
}
