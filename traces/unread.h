/* Columns of a table whose columns the user names, which no parameter reads. */
#ifndef ORRERY_TRACES_UNREAD_H
#define ORRERY_TRACES_UNREAD_H

#include "sim/core/csv.h"

/* Warns once of the columns of the header, the row read last, that are none of `positions`. The hint names the column
 * of `columns` that the file lacks and that is nearest to one of them. Returns 0 or SIM_E_NOMEM. */
int unread_warn(const struct csv *csv, const struct csv_column *columns, size_t n_columns, const int *positions,
                struct diag *diag);

#endif
