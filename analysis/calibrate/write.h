/* Writing calibration files, as sim/catalog/calibration.h describes them. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_WRITE_H
#define ORRERY_ANALYSIS_CALIBRATE_WRITE_H

#include "analysis/calibrate/calibrate.h"
#include "sim/core/json_write.h"

/* The text of a GPU's calibration file after `sets` were laid over the file `old_path`, where there is one: fitted
 * classes replace those of the same set and name, everything else stays. The same content gives the same bytes. Returns
 * 0, SIM_E_CONFIG (the old file is broken, or of another GPU), SIM_E_IO or SIM_E_NOMEM. */
int calibration_write(const char *gpu, const struct calibrated_set *sets, size_t n_sets, const char *old_path,
                      struct text *json, struct diag *diag);

/* Adds the member "sets" of such a file to an object that is open. */
void calibration_write_sets(struct json_writer *json, const struct calibrated_set *sets, size_t n_sets);

/* --- What files of power and of engines share --- */

/* A value with so many significant digits. */
double calibration_round(double value, int digits);

/* Adds an error as one row, to a hundredth of a percent. */
void calibration_write_error(struct json_writer *json, const char *key, const struct fit_error *error);

/* Adds the member "at_bound": the names of the parameters [n] whose value is set by a bound; nothing without any. */
void calibration_write_at_bound(struct json_writer *json, const struct kernel_param *params, size_t n,
                                const double *values);

#endif
