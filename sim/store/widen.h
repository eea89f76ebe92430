/* What a file may lack: tables that earlier releases did not write, and the optional last column of a row table, which a file has from the first row on that has a value for it: a run without such
 * rows leaves the table, and so the file, as it would be if there were no such column. In other rows it is NULL. */
#ifndef ORRERY_STORE_WIDEN_H
#define ORRERY_STORE_WIDEN_H

#include "sim/core/database.h"
#include "sim/store/schema.h"

#include <stdbool.h>

/* Whether the file has the table. Returns as table_is_wide. */
int table_is_there(const struct database *database, enum table_id table, bool *is_there, const char *what,
                   struct diag *diag);

/* Whether the file's table has its optional column. Returns 0, SIM_E_STORE or SIM_E_NOMEM; `what` is done, for findings. */
int table_is_wide(const struct database *database, enum table_id table, bool *is_wide, const char *what,
                  struct diag *diag);

/* Gives it to a table that lacks it, within the transaction. Returns likewise. */
int table_widen(const struct database *database, enum table_id table, const char *what, struct diag *diag);

/* Writes the names of the table's columns, "run_id,id,...", with the optional one or without. */
enum { TABLE_COLUMNS_CHARS = 256 };
void table_columns(enum table_id table, bool wide, char names[TABLE_COLUMNS_CHARS]);

#endif
