/* Writing the file of a GPU's power (sim/catalog/power.h). */
#ifndef ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_WRITE_H
#define ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_WRITE_H

#include "analysis/calibrate/power/power_fit.h"
#include "sim/core/text.h"

/* The file's text. fitted[POWER_CLASS_COUNT]; `like` is the GPU whose parameters replace missing ones, or NULL. Returns
 * 0 or SIM_E_NOMEM. */
int power_write(const char *gpu, const char *like, const struct power_data *files, size_t n_files,
                const struct power_fitted *fitted, struct text *json);

#endif
