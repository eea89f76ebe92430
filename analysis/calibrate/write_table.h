/* Writing the measured points of a class, as sim/catalog/calibration.h describes them. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_WRITE_TABLE_H
#define ORRERY_ANALYSIS_CALIBRATE_WRITE_TABLE_H

#include "analysis/calibrate/profile/profile.h"
#include "sim/core/json_write.h"

/* Adds the member "table" to an object that is open: rows of one class, n >= 1, sorted, alike calls once with the median
 * of their times. */
void calibration_write_table(struct json_writer *json, const struct profile_row *rows, size_t n);

#endif
