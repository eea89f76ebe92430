/* Tables and views of a results database, for other programs and for papers.
 *
 * CSV is by RFC 4180. Its numbers are exact: the shortest decimal that reads back as the same. NULL is an empty field,
 * an empty text is "". LaTeX is one tabular by the package booktabs, with numbers of five digits. */
#ifndef ORRERY_ANALYSIS_EXPORT_EXPORT_H
#define ORRERY_ANALYSIS_EXPORT_EXPORT_H

#include "sim/core/database.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table of the file, or a view that one of analysis/sql creates. */
struct export_source {
    const char *name;
    const char *about; /* the first sentence of the view's file; empty for tables */
    bool is_view, has_run; /* has_run: a column says which run a row is of, "run_id" (of the table run, "id") */
};

struct export_sources {
    size_t n;
    struct export_source *items; /* tables, then views; each in order of their names */
};

/* Creates the views of the *.sql files of a directory as temporary views, and lists tables and views. Without the
 * directory there are no views. Texts go to the arena. Returns 0, SIM_E_STORE, SIM_E_IO or SIM_E_NOMEM. */
int export_sources_read(const struct database *database, const char *directory, struct arena *arena,
                        struct export_sources *sources, struct diag *diag);

/* Receives the output piece by piece and empties the text; returns 0 or a negative code. */
struct export_target {
    void *context;
    int (*write)(void *context, struct text *text);
};

enum export_form { EXPORT_CSV, EXPORT_LATEX };

/* Writes the names of the columns and the rows, of one run or (run_id 0) of all. The table request has the column
 * "class" only if one of these rows has a class. Returns 0, the target's code, SIM_E_STORE or SIM_E_NOMEM. */
int export_rows(const struct database *database, const struct export_source *source, int64_t run_id,
                enum export_form form, const struct export_target *target, struct diag *diag);

#endif
