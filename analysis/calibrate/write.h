/* Writing calibration files, as sim/catalog/calibration.h describes them. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_WRITE_H
#define ORRERY_ANALYSIS_CALIBRATE_WRITE_H

#include "analysis/calibrate/calibrate.h"
#include "sim/core/json_write.h"
#include "sim/core/units.h"

/* The text of a GPU's calibration file: the file `old_path`, if it exists, with its classes replaced by those of `sets`
 * with equal set and name. Equal content gives equal bytes. Returns 0, SIM_E_CONFIG (the old file is broken, or of
 * another GPU), SIM_E_IO or SIM_E_NOMEM. */
int calibration_write(const char *gpu, const struct calibrated_set *sets, size_t n_sets, const char *old_path,
                      struct text *json, struct diag *diag);

/* Adds the member "sets" of a calibration file to an open object. */
void calibration_write_sets(struct json_writer *json, const struct calibrated_set *sets, size_t n_sets);

/* --- What files of power and of engines share --- */

/* A value rounded to `digits` significant digits, and such a value as a member: a number, or a text with its unit. */
double calibration_round(double value, int digits);
void calibration_write_value(struct json_writer *json, const char *key, double value, int digits, enum unit_dim dim);

/* Adds an error in one line, rounded to a hundredth of a percent. */
void calibration_write_error(struct json_writer *json, const char *key, const struct fit_error *error);

/* Adds the member "at_bound": names of those of params[n] whose values[n] lie at a bound; nothing without any. */
void calibration_write_at_bound(struct json_writer *json, const struct kernel_param *params, size_t n,
                                const double *values);

#endif
