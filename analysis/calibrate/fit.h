/* Fitting the parameters of a kernel class to measured rows, and the remaining error.
 *
 * Minimises the sum of soft_l1(log(predicted / measured)) with GSL's nonlinear least squares (trust region), parameters
 * in log space inside their bounds, from several starting points in a fixed order, with every combination of switches
 * and powers of two. Late parameters (models/kernel.h) follow, on the rows that depend on them, all others being fixed.
 * Equal rows give equal bits. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_FIT_H
#define ORRERY_ANALYSIS_CALIBRATE_FIT_H

#include "analysis/calibrate/profile/profile.h"

/* |predicted / measured - 1| over some rows; medians and percentiles interpolate between order statistics. */
struct fit_error {
    int64_t rows;
    double median, p90, worst, bias; /* bias: median of predicted / measured - 1 */
};

/* A parametric law for the rows of a class: the class's own, or one to compare it with. */
struct fit_model {
    enum kernel_class class;
    const char *name;
    const struct kernel_param *params;
    size_t n_params;
    double (*seconds)(const union kernel_params *params, const struct profile_row *row);
};

/* The class's own law. */
struct fit_model fit_model_of(enum kernel_class class);

/* The same for a set (NULL: of no name): without the parameters of an engine in "isolated" and "in-model", which serve
 * all engines. */
struct fit_model fit_model_in(enum kernel_class class, const char *set);

/* The initial values of a model's parameters. */
union kernel_params fit_model_initial(const struct fit_model *model);

/* Fits a model to the rows of its class among rows[0..n) for which held_out[group] is false (NULL: all of them), from
 * *params as one starting point. Each row brings its GPU: rows of several GPUs give parameters common to all of them.
 * Of more than 5000 rows a fixed random sample is used. Without more rows than parameters, half as many parameters are
 * fitted, those with the most influence; the others keep their defaults. Parameters of an engine enter only where,
 * together, they lower the loss by a tenth; else they are 0. Returns 0 with *params, SIM_E_DATA without rows, or
 * SIM_E_NOMEM. */
int fit_model_to(const struct fit_model *model, const struct profile_row *rows, size_t n, const bool *held_out,
                 union kernel_params *params, struct diag *diag);

/* Whether a fitted value lies at a bound of its parameter, within a five-hundredth of the logarithmic distance between
 * the bounds: then the bound, not the rows, determines it. False for switches, powers and parameters with equal bounds,
 * which are not fitted, and for an engine's parameter that its law lacks. */
bool fit_is_at_bound(const struct kernel_param *param, double value);

/* The bounding box of the shapes of a class's rows, and their formats; `fitted` is false without rows. */
struct kernel_range fit_range(enum kernel_class class, const struct profile_row *rows, size_t n);

/* The signed root of the soft_l1 loss 2 scale^2 (sqrt(1 + (r/scale)^2) - 1) of a residual r = log(predicted /
 * measured), with a scale of 3 %. Its square is the loss. */
double fit_soft_l1_root(double residual);

/* Statistics of n signed errors, which it reorders and makes absolute. All zero when n is 0. */
struct fit_error fit_error_of(double *errors, size_t n);

#endif
