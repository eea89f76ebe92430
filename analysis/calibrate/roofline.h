/* The roofline with a hard maximum, for comparison: t = start_s + max(flop / (a P), bytes / (b W)), with P the peak of
 * fp16 products and W the memory bandwidth (Williams et al. 2009, with a launch time). */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ROOFLINE_H
#define ORRERY_ANALYSIS_CALIBRATE_ROOFLINE_H

#include "analysis/calibrate/fit.h"

/* The roofline of a class's rows. */
struct fit_model fit_roofline(enum kernel_class class);

/* Whether rows do both: compute, and move bytes. */
bool fit_has_roofline(const struct profile_row *rows, size_t n);

#endif
