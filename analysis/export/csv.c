/* Rows as CSV. A value of a wrong type is written as SQLite stores it. */
#include "analysis/export/inside.h"

#include <inttypes.h>
#include <math.h>

static void add_real(struct text *csv, double value)
{
    if (isinf(value)) text_add(csv, value > 0 ? "9e999" : "-9e999"); /* number parsers read it as infinity */
    else text_json_number(csv, value);
}

static void add_field(struct text *csv, sqlite3_stmt *query, int column)
{
    switch (sqlite3_column_type(query, column)) {
    case SQLITE_INTEGER: text_printf(csv, "%" PRId64, (int64_t)sqlite3_column_int64(query, column)); break;
    case SQLITE_FLOAT: add_real(csv, sqlite3_column_double(query, column)); break;
    case SQLITE_NULL: break;
    default: text_csv_field(csv, (const char *)sqlite3_column_text(query, column));
    }
}

static void add_header(struct text *csv, sqlite3_stmt *query, int n_columns)
{
    for (int i = 0; i < n_columns; i++) {
        if (i > 0) text_add(csv, ",");
        text_csv_field(csv, sqlite3_column_name(query, i));
    }
    text_add(csv, "\r\n");
}

static void add_row(struct text *csv, sqlite3_stmt *query, int n_columns)
{
    for (int i = 0; i < n_columns; i++) {
        if (i > 0) text_add(csv, ",");
        add_field(csv, query, i);
    }
    text_add(csv, "\r\n");
}

static void add_nothing(struct text *csv)
{
    (void)csv;
}

const struct row_writer csv_writer = {add_header, add_row, add_nothing};
