/* Answers of SQL queries on a results database, as columns of numbers and texts. */
#ifndef ORRERY_ANALYSIS_QUERY_H
#define ORRERY_ANALYSIS_QUERY_H

#include "sim/core/database.h"
#include "sim/core/mem.h"

#include <stddef.h>
#include <stdint.h>

/* A column: `numbers`, NAN where the value is NULL or a text; and `texts`, NULL where it is not a text (`texts`
 * itself is NULL if no value is a text). */
struct query_column {
    const char *name;
    double *numbers;
    const char **texts;
};

/* Lives in the arena given to the query. */
struct query_answer {
    size_t n_rows, n_columns;
    struct query_column *columns;
};

/* Runs one SELECT with its parameters ?1, ?2, ... bound to `ids`. `what` names the purpose in findings. Returns 0,
 * SIM_E_STORE or SIM_E_NOMEM. */
int query_run(const struct database *database, const char *sql, const int64_t *ids, size_t n_ids, const char *what,
              struct arena *arena, struct query_answer *answer, struct diag *diag);

/* As query_run, for answers too long to keep: calls `row` for each row, which reads values with sqlite3_column_*. A
 * non-zero return ends the query and is returned; else 0, SIM_E_STORE or SIM_E_NOMEM. */
int query_each(const struct database *database, const char *sql, const int64_t *ids, size_t n_ids, const char *what,
               int (*row)(void *context, sqlite3_stmt *statement), void *context, struct diag *diag);

/* An SQL expression over a row of the table run: whether a trace of the run is a block bootstrap (traces/replicate.h),
 * so that runs under other seeds replicate one trace and hold no new data. */
#define QUERY_IS_BOOTSTRAP                                                                                             \
    "CASE WHEN instr(scenario, '\"block-bootstrap\"') = 0 OR NOT json_valid(scenario) THEN 0 ELSE "                   \
    "EXISTS (SELECT 1 FROM json_tree(scenario) WHERE key = 'method' AND atom = 'block-bootstrap' "                     \
    "AND path LIKE '%.replicate') END"

/* A number of the row, NAN when it is NULL. */
double query_number(sqlite3_stmt *statement, int column);

/* The text at a column and row; "" where the value is not a text. */
const char *query_text(const struct query_answer *answer, size_t column, size_t row);

/* The column of that name, or NULL. */
const struct query_column *query_column(const struct query_answer *answer, const char *name);

#endif
