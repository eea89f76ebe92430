/* A CSV file of measurements: columns by name, numbers within bounds, and the rows that are left out, by reason. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_SHEET_H
#define ORRERY_ANALYSIS_CALIBRATE_SHEET_H

#include "sim/core/csv.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"

/* --- Rows left out --- */

enum { DROPPED_MAX_REASONS = 12 };

struct dropped_rows {
    const char *reason;
    int64_t rows;
};

/* Adds `rows` to the entry of dropped[*n] with this text, or to a new one. `reason` must live as long. Once there are
 * DROPPED_MAX_REASONS entries, the last one counts all new reasons. */
void dropped_add(struct dropped_rows *dropped, size_t *n, const char *reason, int64_t rows);

/* --- Arrays of rows --- */

/* Room for one more of n items in an array of the arena: the array itself, or a copy with twice the capacity. Returns
 * NULL, with a finding, when out of memory. */
void *rows_grown(struct arena *arena, void *items, size_t n, size_t *capacity, size_t item_bytes, struct diag *diag);

/* --- Files --- */

/* XXH3-128 of the uncompressed bytes of a file. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int file_hash(const char *path, char hex[HASH_HEX_CHARS], struct diag *diag);

struct sheet_column {
    const char *name;
    double min; /* least value that sheet_numbers accepts; unused for texts */
};

struct sheet {
    const char *path;
    struct arena *arena;
    struct diag *diag;
    double max;   /* largest number allowed */
    double empty; /* value of an empty field; infinite: a number is required */
    /* Set by the functions below. */
    struct csv *csv;
    const char **header; /* names [n_header] */
    size_t n_header;
    const struct sheet_column *columns; /* of the format; NULL: a column is its position in the header */
    int *positions;                     /* of `columns`; -1: the file lacks it */
};

/* Opens the file and reads its header. Also after a failure sheet_close is due. Returns 0, SIM_E_IO, SIM_E_DATA or
 * SIM_E_NOMEM. */
int sheet_open(struct sheet *sheet, const char *path);
void sheet_close(struct sheet *sheet);

/* The 0-based position of a name in the header; -1: the file lacks it. */
int sheet_position(const struct sheet *sheet, const char *name);

/* Makes a `column` below an index into columns[n_columns]. Returns 1, 0 when the file lacks one of the first
 * n_required, or SIM_E_NOMEM. */
int sheet_choose(struct sheet *sheet, const struct sheet_column *columns, size_t n_columns, size_t n_required);

/* Reads the next row. Returns 1, 0 at the end, SIM_E_DATA (malformed, or shorter than the header), SIM_E_IO or
 * SIM_E_NOMEM. */
int sheet_next(struct sheet *sheet);

/* A field of the current row; empty when the file lacks its column. */
struct csv_field sheet_text(const struct sheet *sheet, int column);
const char *sheet_text_copy(const struct sheet *sheet, int column); /* in the arena; NULL when out of memory */
bool sheet_has(const struct sheet *sheet, int column);
bool sheet_text_is(const struct sheet *sheet, int column, const char *text);

/* Writes "file:line:col" of a field. */
void sheet_where(const struct sheet *sheet, int column, char where[DIAG_WHERE_CHARS]);

/* A number in [min, sheet->max], or sheet->empty. Returns 0, or SIM_E_DATA with the place of the field. */
int sheet_number(struct sheet *sheet, int column, double min, double *value);

/* The numbers of columns first..end-1 in values[first..end-1]. Returns what sheet_number returns. */
int sheet_numbers(struct sheet *sheet, int first, int end, double *values);

#endif
