/* The parameters with the least robust loss, which fit.h defines. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_SEARCH_H
#define ORRERY_ANALYSIS_CALIBRATE_SEARCH_H

#include "analysis/calibrate/fit.h"

struct search {
    const struct fit_model *model;
    const struct profile_row **rows; /* [n_rows] in random order: any first few are a sample */
    size_t n_rows;
    size_t free_params[KERNEL_MAX_PARAMS]; /* [n_free] indices of the fitted parameters */
    size_t n_free;
    union kernel_params fixed; /* values of all parameters that are neither fitted nor tried */
    bool tries;                /* try values of switches and powers; else they stay `fixed` */
};

/* Whether all values of a parameter are tried, instead of fitting it: switches and powers. */
bool search_tries(const struct kernel_param *param);

/* Sets *best and *cost; *cost is infinite when the model has no finite time for its rows. `first` is one of the
 * starting points. Returns 0 or SIM_E_NOMEM. */
int search_params(const struct search *search, const union kernel_params *first, union kernel_params *best,
                  double *cost);

#endif
