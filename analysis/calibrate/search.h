/* The parameters with the least robust loss: see fit.h for what is minimised. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_SEARCH_H
#define ORRERY_ANALYSIS_CALIBRATE_SEARCH_H

#include "analysis/calibrate/fit.h"

struct search {
    const struct fit_model *model;
    const struct profile_row **rows; /* in random order, so that the first few are a sample */
    size_t n_rows;
    size_t free_params[KERNEL_MAX_PARAMS]; /* which parameters are fitted */
    size_t n_free;
    union kernel_params fixed; /* the others, but for what is tried */
    bool tries;                /* whether anything is: late parameters take what the others have led to */
};

/* Whether a parameter's values are tried one after another instead of being fitted. */
bool search_tries(const struct kernel_param *param);

/* Sets *best and *cost, which is infinite when the model has no finite time for its rows. `first` is one of the starting
 * points. Returns 0 or SIM_E_NOMEM. */
int search_params(const struct search *search, const union kernel_params *first, union kernel_params *best,
                  double *cost);

#endif
