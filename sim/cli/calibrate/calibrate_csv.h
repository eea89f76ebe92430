/* The errors of a calibration as one table, for CSV: all tables of the text that have errors, as fractions. */
#ifndef ORRERY_CLI_CALIBRATE_CALIBRATE_CSV_H
#define ORRERY_CLI_CALIBRATE_CALIBRATE_CSV_H

#include "analysis/calibrate/calibrate.h"
#include "sim/cli/answer.h"

#include <stdio.h>

/* Starts the table: set, class, part, rows_that_were, rows, and the errors as fractions. */
void calibrate_csv_init(struct answer_table *table);

/* Adds a row, unless the error has no rows. */
void calibrate_csv_add(struct answer_table *table, const char *set, const char *class, const char *part,
                       const char *rows_that_were, const struct fit_error *error);

/* Adds the errors of all classes of a set: fitted, held out, by a pure roofline; by part, and by fold. */
void calibrate_csv_add_set(struct answer_table *table, const struct calibrated_set *set);

/* Adds the errors of a prediction, by part. */
void calibrate_csv_add_prediction(struct answer_table *table, const struct prediction *prediction);

/* Prints the table as CSV and frees it. Returns 0 or SIM_E_NOMEM. */
int calibrate_csv_print(struct answer_table *table, FILE *out);

#endif
