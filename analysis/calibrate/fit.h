/* Fitting the parameters of a kernel class to measured rows, and the error that is left.
 *
 * Minimises the sum of soft_l1(log(predicted / measured)) with GSL's nonlinear least squares (trust region), parameters
 * in log space inside their bounds, from several starting points in a fixed order, with every combination of switches
 * and powers of two. Late parameters (models/kernel.h) follow on the rows that depend on them, with all others held. The
 * same rows give the same bits. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_FIT_H
#define ORRERY_ANALYSIS_CALIBRATE_FIT_H

#include "analysis/calibrate/profile/profile.h"

/* |predicted / measured - 1| over some rows; medians and percentiles interpolate between order statistics. */
struct fit_error {
    int64_t rows;
    double median, p90, worst, bias; /* bias: median of predicted / measured - 1 */
};

/* A law with parameters that rows of a class are fitted to: the class's own, or one to compare it with. */
struct fit_model {
    enum kernel_class class;
    const char *name;
    const struct kernel_param *params;
    size_t n_params;
    double (*seconds)(const union kernel_params *params, const struct profile_row *row);
};

/* The class's own law. */
struct fit_model fit_model_of(enum kernel_class class);

/* The initial values of its parameters. */
union kernel_params fit_model_initial(const struct fit_model *model);

/* Fits a model as fit_class does. */
int fit_model_to(const struct fit_model *model, const struct profile_row *rows, size_t n, const bool *held_out,
                 union kernel_params *params, struct diag *diag);

/* Fits `class` to the rows of that class among rows[0..n) for which held_out[group] is false (NULL: all of them), from
 * *params as one starting point. Each row brings its GPU: rows of several GPUs give parameters common to all of them.
 * Of many rows a fixed random sample is used. When there are not more rows than parameters, half as many of these are
 * fitted, those with the most influence, and the others keep their defaults. Returns 0 with *params, SIM_E_DATA
 * without rows, or SIM_E_NOMEM. */
int fit_class(enum kernel_class class, const struct profile_row *rows, size_t n, const bool *held_out,
              union kernel_params *params, struct diag *diag);

/* Whether a fitted value stands at a bound of its parameter, to a five-hundredth of the way between them in logarithms:
 * it is then what the bound allows, not what the rows say. Never of what is tried, not fitted: switches and powers. */
bool fit_is_at_bound(const struct kernel_param *param, double value);

/* The box of the shapes of a class's rows, and their formats; `fitted` is false when it has none. */
struct kernel_range fit_range(enum kernel_class class, const struct profile_row *rows, size_t n);

/* predicted / measured - 1 of one row. */
double fit_row_error(const struct profile_row *row, const union kernel_params *params);

/* The signed root of the soft_l1 loss 2 scale^2 (sqrt(1 + (r/scale)^2) - 1) of a residual log(predicted / measured), so
 * that a sum of squares is the loss; scale is 3 %. */
double fit_soft_l1_root(double residual);

/* Sums up n signed errors; scrambles them. All zero when n is 0. */
struct fit_error fit_error_of(double *errors, size_t n);

/* The errors of a class over its rows whose tokens lie in low..high (0, INFINITY: all). Returns 0 or SIM_E_NOMEM. */
int fit_measure(enum kernel_class class, const struct profile_row *rows, size_t n, const union kernel_params *params,
                double low, double high, struct fit_error *error);

#endif
