/* Which values of a study mean the same, so that their runs would be equal. */
#ifndef ORRERY_STUDY_EQUAL_H
#define ORRERY_STUDY_EQUAL_H

#include "sim/core/json_doc.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether two values mean the same: 8 and 8.0, "10min" and "600s", and objects whose members do. Quantities may differ
 * by rounding: "0.1ms" equals "100us". From 2^53 on a whole number equals only itself, and none with a fraction or
 * exponent. */
bool equal_values(const struct json_node *a, const struct json_node *b);

/* Whether it is a number without a fraction or an exponent. */
bool equal_is_whole(const struct json_node *node);

/* Finds the first of n rows that equals an earlier one in all its columns: items[row * n_columns + column]. Returns 1
 * with both rows, the earlier one first; 0: there is none; or SIM_E_NOMEM. The time is that of sorting, but quadratic
 * in objects and lists. */
int equal_find_rows(const struct json_node *const *items, size_t n, size_t n_columns, size_t rows[2]);

#endif
