/* Which values of a study mean the same, so that their runs would be equal. */
#ifndef ORRERY_STUDY_EQUAL_H
#define ORRERY_STUDY_EQUAL_H

#include "sim/core/json_doc.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether it is a number without a fraction or an exponent. */
bool equal_is_whole(const struct json_node *node);

/* Finds the first of n rows that equals an earlier one in all its columns: items[row * n_columns + column]. Returns 1
 * with both rows, the earlier one first; 0: there is none; or SIM_E_NOMEM.
 *
 * Equal are values that mean the same: 8 and 8.0, -0 and 0, "10min" and "600s", and objects whose members do.
 * Quantities are equal to 15 digits, so that rounding does not matter: "0.1ms" equals "100us". From 2^53 on a whole
 * number equals only itself, and none with a fraction or exponent. */
int equal_find_rows(const struct json_node *const *items, size_t n, size_t n_columns, size_t rows[2]);

#endif
