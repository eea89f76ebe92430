/* The schema of a results database: its tables in SQL, and the columns of the row tables. Both follow from the list
 * in sim/world/rows/tables.inc. A row table has run_id first, then the listed columns in order. */
#ifndef ORRERY_STORE_SCHEMA_H
#define ORRERY_STORE_SCHEMA_H

#include <stdbool.h>

/* In the order in which the result hash combines them. */
enum table_id {
#define TABLE(name, NAME, keep, text) TABLE_##NAME,
#include "sim/world/rows/tables.inc"
    TABLE_COUNT
};

enum column_kind { COLUMN_INTEGER, COLUMN_REAL, COLUMN_TEXT };

/* Every member of a row struct has this size, so column i starts at i * COLUMN_BYTES. */
enum { COLUMN_BYTES = 8 };

struct column {
    const char *name;
    enum column_kind kind;
    bool optional; /* one of the last: a row may lack it */
};

struct table {
    const char *name;
    int n_columns; /* without run_id */
    const struct column *columns;
};

extern const struct table schema_tables[TABLE_COUNT];

/* Statements that make an empty file a results database; NULL ends them. */
extern const char *const schema_create_sql[];

/* Statements that index the large tables by run. A file with one run needs no index, and rows go in faster without
 * it: run them when the second run starts. */
extern const char schema_index_sql[];

#endif
