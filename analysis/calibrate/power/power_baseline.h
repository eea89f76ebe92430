/* Two baselines for the error of a power model, fitted to the same rows: a constant, and a line in the logarithm of the
 * batch. A model that does not beat them knows nothing of the load. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_BASELINE_H
#define ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_BASELINE_H

#include "analysis/calibrate/power/power_data.h"

enum power_baseline { BASELINE_CONSTANT, BASELINE_LOG_BATCH, BASELINES };

/* "constant", "log-batch". */
const char *power_baseline_name(enum power_baseline baseline);

/* Whether the rows allow it: a line needs the batch of every row. */
bool power_baseline_applies(enum power_baseline baseline, const struct power_row *rows, size_t n);

/* Signed errors of every row, predicted from the rows of other groups, in errors[n]: the mean of their watts, or the
 * line of least squares. Rows of a single group are predicted from themselves. */
void power_baseline_errors(enum power_baseline baseline, const struct power_row *rows, size_t n, double *errors);

#endif
