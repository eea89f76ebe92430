/* How the rows of a query are written, in each format of export_rows. */
#ifndef ORRERY_ANALYSIS_EXPORT_INSIDE_H
#define ORRERY_ANALYSIS_EXPORT_INSIDE_H

#include "sim/core/text.h"

#include <sqlite3.h>

/* `begin` is called behind the first step of the query, so that types of values are known; `row` for each row. Of the
 * columns only the first `n_columns` are written. */
struct row_writer {
    void (*begin)(struct text *text, sqlite3_stmt *query, int n_columns);
    void (*row)(struct text *text, sqlite3_stmt *query, int n_columns);
    void (*end)(struct text *text);
};

extern const struct row_writer csv_writer, latex_writer;

#endif
