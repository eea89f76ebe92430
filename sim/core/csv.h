/* Rows of a text table: comma-separated values (RFC 4180) in the dialects that traces come in.
 *
 * Lines with a quote character go through libcsv, all others are split here, several times faster and with the same
 * result: blanks around a field are not part of it, empty lines are no rows, lines may end in LF or CRLF. A quoted
 * field may hold line breaks, which read as LF. Rows stream: memory is bounded by the longest row, and no row is longer
 * than LINE_MAX_BYTES.
 *
 * A malformed row is one line: when a quote that opens in it is not closed, or not where a field ends, the lines behind
 * it are read as rows of their own. */
#ifndef ORRERY_CORE_CSV_H
#define ORRERY_CORE_CSV_H

#include "sim/core/err.h"
#include "sim/core/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum csv_dialect {
    CSV_DIALECT_DELIMITED, /* fields end at the delimiter and may be quoted */
    CSV_DIALECT_BLANKS,    /* fields are separated by runs of blanks; no quotes */
    CSV_DIALECT_LINES      /* a line is one field (JSON Lines) */
};

struct csv_options {
    enum csv_dialect dialect;
    char delimiter; /* 0: a comma */
    char comment;   /* lines that start with it are no rows; 0: none */

    /* Takes the delimiter of the first row: the most frequent of comma, semicolon, tab and pipe outside quotes. A row
     * without any of them is separated by blanks. */
    bool guess_delimiter;

    bool by_user; /* the user names the columns, by "columns": for hints */
};

/* Not terminated; of length 0 when empty. */
struct csv_field {
    const char *chars;
    size_t n_chars;
};

struct csv_column {
    const char *name;
    bool optional;
};

struct csv;

/* Takes the input over, also when it fails. Returns 0 or SIM_E_NOMEM; with guess_delimiter also SIM_E_IO. */
int csv_create(struct input *input, const struct csv_options *options, struct csv **csv, struct diag *diag);
void csv_destroy(struct csv *csv); /* NULL is allowed */

/* 1 with a row; 0 at the end; SIM_E_IO when the file cannot be read on; SIM_E_DATA for a malformed row, with the place
 * of the quote that opened or is wrong, or for a line that is too long (the next call goes on with the next line);
 * SIM_E_NOMEM. */
int csv_next(struct csv *csv, struct diag *diag);

/* The row read last; valid until the next call of csv_next. */
const struct csv_field *csv_fields(const struct csv *csv);
size_t csv_n_fields(const struct csv *csv);

/* Reads the header row and sets positions[i] to the 0-based field of columns[i], -1 for an optional one that is absent.
 * Returns 0, SIM_E_DATA (no header, a column is missing or appears twice) or what csv_next returns. */
int csv_read_header(struct csv *csv, const struct csv_column *columns, size_t n_columns, int *positions,
                    struct diag *diag);

/* Writes "file:line:col" of a field of the row read last, `offset` characters into it; of the row's end when it has
 * fewer fields. */
void csv_where(const struct csv *csv, size_t field, size_t offset, char where[DIAG_WHERE_CHARS]);

const char *csv_name(const struct csv *csv);
int64_t csv_line(const struct csv *csv);    /* of the start of the row read last */
int64_t csv_n_lines(const struct csv *csv); /* of that row: 1, or more when a quoted field holds line breaks */
double csv_done_frac(const struct csv *csv);

#endif
