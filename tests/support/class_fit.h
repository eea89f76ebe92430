/* Fitting one class of kernels to rows of a profile, and the errors of its parameters. */
#ifndef ORRERY_TESTS_SUPPORT_CLASS_FIT_H
#define ORRERY_TESTS_SUPPORT_CLASS_FIT_H

#include "analysis/calibrate/fit.h"

/* Fits the class's own law from *params, as fit_model_to does. */
int fit_class(enum kernel_class class, const struct profile_row *rows, size_t n, const bool *held_out,
              union kernel_params *params, struct diag *diag);

/* predicted / measured - 1 of one row. */
double fit_row_error(const struct profile_row *row, const union kernel_params *params);

/* The errors of a class over its rows whose tokens lie in low..high (0, INFINITY: all). Returns 0 or SIM_E_NOMEM. */
int fit_measure(enum kernel_class class, const struct profile_row *rows, size_t n, const union kernel_params *params,
                double low, double high, struct fit_error *error);

#endif
