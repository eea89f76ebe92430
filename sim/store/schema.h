/* The schema of a results database: its tables in SQL, and how the columns of the row tables are found in the
 * structs of sink.h. A row table has run_id first and then the columns listed here, in the same order. */
#ifndef ORRERY_STORE_SCHEMA_H
#define ORRERY_STORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

/* In the order in which the result hash combines them. */
enum table_id {
    TABLE_METRIC,
    TABLE_REQUEST,
    TABLE_JOB,
    TABLE_SAMPLE,
    TABLE_HISTOGRAM,
    TABLE_DECISION,
    TABLE_WARNING,
    TABLE_PLACEMENT,
    TABLE_LEASE,
    TABLE_COUNT
};

/* C types: int64_t, double (NAN is NULL), const char * (NULL is the empty text). */
enum column_kind { COLUMN_INTEGER, COLUMN_REAL, COLUMN_TEXT };

enum { TABLE_MAX_COLUMNS = 15 };

struct column {
    const char *name;
    enum column_kind kind;
    size_t offset; /* in the row's struct */
};

struct table {
    const char *name;
    int n_columns;
    struct column columns[TABLE_MAX_COLUMNS];
    bool is_late;      /* files of earlier releases lack it; the result hash covers it where it has rows */
    bool has_optional; /* behind these stands one more, which rows without a value for it are not stored with (widen.h) */
};

extern const struct table schema_tables[TABLE_COUNT];

/* Statements that make an empty file a results database. */
extern const char schema_create_sql[];

/* Statements that add the late tables to a file that lacks them. */
extern const char schema_late_sql[];

/* Statements that index the large tables by run. A file with one run needs no index, and the rows of one run go in
 * faster without it: so these are for the moment when the second run starts. */
extern const char schema_index_sql[];

#endif
