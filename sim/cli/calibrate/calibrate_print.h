/* Results of `orrery calibrate` as tables and as JSON. Errors are percentages in tables, fractions in JSON. */
#ifndef ORRERY_CLI_CALIBRATE_CALIBRATE_PRINT_H
#define ORRERY_CLI_CALIBRATE_CALIBRATE_PRINT_H

#include "analysis/calibrate/calibrate.h"

#include "sim/cli/answer.h"

#include <stdbool.h>
#include <stdio.h>

/* The columns of an error, in percent, and its cells. */
#define CALIBRATE_ERROR_COLUMNS RIGHT("rows"), RIGHT("median_%"), RIGHT("p90_%"), RIGHT("worst_%"), RIGHT("bias_%")
void calibrate_add_error(struct answer_table *table, const struct fit_error *error);

/* Prints every kernel class with the members of its shape, which are columns of a profile; optional ones in
 * brackets. */
void calibrate_print_kernels(FILE *out);

/* Prints the profiles, and for each set the parameters and errors of each class: of the fit, of held-out rows and of
 * a pure roofline; by operator, band of tokens and fold. Returns 0 or SIM_E_NOMEM. */
int calibrate_print_fit(const char *gpu, const struct calibrated_set *sets, size_t n_sets, bool as_json, FILE *out);

/* Prints the error of a shipped model on `profile`. Returns 0 or SIM_E_NOMEM. */
int calibrate_print_prediction(const char *gpu, const struct prediction *prediction, const struct profile *profile,
                               bool as_json, FILE *out);

#endif
