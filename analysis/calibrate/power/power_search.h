/* The minimum of a function of a few bounded parameters. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_SEARCH_H
#define ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_SEARCH_H

#include "models/kernel.h"

#include <stddef.h>

enum { POWER_SEARCH_PARAMS = 8 };

struct power_search {
    const struct kernel_param *params; /* [n], 0 < low < high */
    size_t n;                          /* at most POWER_SEARCH_PARAMS */
    double (*loss)(const void *context, const double *values);
    const void *context;
};

/* Sets values[n] to the minimum. Returns 0 or SIM_E_NOMEM. */
int power_search_run(const struct power_search *search, double *values);

#endif
