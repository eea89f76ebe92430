/* A table of texts and numbers: aligned columns for people, an array of objects for programs. */
#ifndef ORRERY_CLI_TABLE_H
#define ORRERY_CLI_TABLE_H

#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TABLE_MAX_COLUMNS = 16 };

enum column_align { COLUMN_LEFT, COLUMN_RIGHT };

struct table_column {
    const char *title; /* and the key in JSON */
    enum column_align align;
    bool json_only;
};

enum cell_kind { CELL_TEXT, CELL_NUMBER, CELL_EMPTY };

struct table_cell {
    enum cell_kind kind;
    size_t chars; /* where its text starts */
    double number;
};

/* Cells go in row by row. When memory runs out, `failed` is set and table_write reports it. */
struct table {
    const struct table_column *columns;
    size_t n_columns, n_cells, capacity;
    struct table_cell *cells;
    struct text texts;
    bool failed;
};

void table_init(struct table *table, const struct table_column *columns, size_t n_columns);
void table_fini(struct table *table);

/* NULL is an empty cell, null in JSON. */
void table_text(struct table *table, const char *text);

/* A number: exact in JSON, by table_show_number for people. NAN is an empty cell. */
void table_number(struct table *table, double value);

/* A number that there is none of: "-" for people, null in JSON. */
void table_undefined(struct table *table);

/* Writes the rows with titles above them, two blanks between columns and none at the end of a line; or, as_json, what
 * table_json writes. Returns 0 or SIM_E_NOMEM. */
int table_write(const struct table *table, bool as_json, FILE *out);

/* Adds "[{"title": cell, ...}, ...]" and a line end. */
void table_json(const struct table *table, struct text *json);

/* How people read a number: whole ones as they are, others with five significant digits. Returns `buffer`. */
const char *table_show_number(double value, char *buffer, size_t buffer_bytes);

#endif
