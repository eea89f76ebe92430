/* Plots of a calibration, as SVG. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_REPORT_H
#define ORRERY_ANALYSIS_CALIBRATE_REPORT_H

#include "analysis/calibrate/calibrate.h"

/* Predicted over measured time of every row of a fitted class, on logarithmic axes, with the diagonal and lines at
 * +-20 %; one colour per operator. Held-out predictions are shown where there are any. Like report_bands, it sets
 * svg->failed when out of memory. */
void report_scatter(const char *gpu, const struct calibrated_set *set, enum kernel_class class, struct text *svg);

/* Median and p90 of the error in each band of tokens, of the fit and of held-out rows; one colour per class. Classes
 * without tokens are left out. */
void report_bands(const char *gpu, const struct calibrated_set *set, struct text *svg);

#endif
