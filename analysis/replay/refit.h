/* Fits the few constants of a simulation to measurements.
 *
 * A pattern search under the soft_l1 loss, constants never negative: steps up and down along each constant and along
 * pairs of constants, taken if they lower the loss, halved when none does; for a queue responds to small changes by
 * jumps. Then Gauss-Newton (by reweighting, with wide finite differences) while it gains. Both start from the given
 * point and from the best point of a coarse grid. Nothing is random: equal residuals give equal constants. */
#ifndef ORRERY_ANALYSIS_REPLAY_REFIT_H
#define ORRERY_ANALYSIS_REPLAY_REFIT_H

#include <stdbool.h>
#include <stddef.h>

enum { REFIT_MAX = 4 };

/* Fills residuals[n_residuals] with relative errors such as log ratios: 0 where simulated equals measured. Returns 0
 * or a negative code. */
typedef int (*refit_residuals_fn)(void *context, const double *values, double *residuals);

struct refit {
    size_t n;                /* constants, at most REFIT_MAX */
    double units[REFIT_MAX]; /* > 0: orders of magnitude */
    bool has_start;
    double start[REFIT_MAX]; /* initial values >= 0, kept if nothing is better */
    size_t n_residuals;
    refit_residuals_fn residuals;
    void *context;
};

struct refit_result {
    double values[REFIT_MAX]; /* >= 0, multiples of 1e-4 of their units */
    double loss;              /* mean soft_l1 of the residuals at these */
    double start_loss;        /* at the start, HUGE_VAL without one */
    int evaluations;          /* calls of `residuals`: at most some 1200 */
    bool converged;           /* the shortest steps no longer lower the loss */
};

/* Returns 0, SIM_E_NOMEM, or what `residuals` returned. */
int refit_search(const struct refit *refit, struct refit_result *result);

#endif
