/* Answers of SQL queries on a results database, as columns of numbers and texts. */
#ifndef ORRERY_ANALYSIS_QUERY_H
#define ORRERY_ANALYSIS_QUERY_H

#include "sim/core/database.h"
#include "sim/core/mem.h"

#include <stddef.h>
#include <stdint.h>

/* A column has numbers, NAN where the value is NULL or a text; and texts where the value is a text, NULL elsewhere (NULL
 * when no value of the column is a text). */
struct query_column {
    const char *name;
    double *numbers;
    const char **texts;
};

/* In the arena that the query was given. */
struct query_answer {
    size_t n_rows, n_columns;
    struct query_column *columns;
};

/* Runs one SELECT. Its parameters ?1, ?2, ... are bound to `ids`, as far as it has them. `what` it is for goes into
 * findings. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int query_run(const struct database *database, const char *sql, const int64_t *ids, size_t n_ids, const char *what,
              struct arena *arena, struct query_answer *answer, struct diag *diag);

/* The same for answers too long to keep: `row` is called for each of its rows, whose values are read with sqlite3_column_*.
 * What it returns ends the query unless it is 0. Returns that, SIM_E_STORE or SIM_E_NOMEM. */
int query_each(const struct database *database, const char *sql, const int64_t *ids, size_t n_ids, const char *what,
               int (*row)(void *context, sqlite3_stmt *statement), void *context, struct diag *diag);

/* A number of the row, NAN when it is NULL. */
double query_number(sqlite3_stmt *statement, int column);

/* The column of that name, or NULL. */
const struct query_column *query_column(const struct query_answer *answer, const char *name);

#endif
