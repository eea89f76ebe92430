/* Results of `orrery calibrate` as tables, JSON and CSV. Errors are percentages in tables, else fractions. */
#ifndef ORRERY_CLI_CALIBRATE_CALIBRATE_PRINT_H
#define ORRERY_CLI_CALIBRATE_CALIBRATE_PRINT_H

#include "analysis/calibrate/calibrate.h"
#include "sim/cli/cli.h"

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
int calibrate_print_fit(const char *gpu, const struct calibrated_set *sets, size_t n_sets, enum answer_form form,
                        FILE *out);

/* Prints the error of a shipped model on `profile`. Returns 0 or SIM_E_NOMEM. */
int calibrate_print_prediction(const char *gpu, const struct prediction *prediction, const struct profile *profile,
                               enum answer_form form, FILE *out);

/* --- Files; each replaces an old one only once it is complete --- */

/* Writes a text and names the file on standard error. Returns 0, SIM_E_IO or SIM_E_NOMEM (also if `text` has
 * failed). */
int calibrate_write(struct cli *cli, const char *path, const struct text *text);

/* Puts the sets into the calibration file at `path`, replacing sets of their names. Returns 0, SIM_E_CONFIG,
 * SIM_E_IO or SIM_E_NOMEM. */
int calibrate_save(struct cli *cli, const char *path, const char *gpu, const struct calibrated_set *sets,
                   size_t n_sets);

/* Makes the directory of plots unless it exists. Returns 0 or SIM_E_IO. */
int calibrate_make_directory(struct cli *cli, const char *directory);

/* Draws the plots of every set into `directory`, which exists: SET-CLASS.svg and SET-error-by-band.svg. Returns 0,
 * SIM_E_IO or SIM_E_NOMEM. */
int calibrate_draw(struct cli *cli, const char *directory, const char *gpu, const struct calibrated_set *sets,
                   size_t n_sets);

#endif
