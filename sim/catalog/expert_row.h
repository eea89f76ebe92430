/* A row of a CSV file that has a number of tokens for each expert of an LLM. */
#ifndef ORRERY_CATALOG_EXPERT_ROW_H
#define ORRERY_CATALOG_EXPERT_ROW_H

#include "sim/core/csv.h"
#include "sim/core/err.h"

#include <stddef.h>

/* Sets tokens[experts] from the present row. `what`: what findings call a number of it, "load"; `hint`: what a row has.
 * Returns 0, or SIM_E_DATA with a finding. */
int expert_row_read(const struct csv *csv, size_t experts, const char *what, const char *hint, double *tokens,
                    struct diag *diag);

#endif
