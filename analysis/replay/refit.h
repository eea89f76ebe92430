/* The few constants of a simulation that bring it nearest to what was measured.
 *
 * Gauss and Newton's way under the soft_l1 loss (by reweighting), constants never negative. A queue answers to small changes by
 * jumps: so derivatives are differences over wide steps, and a step is taken only as far as it lowers the loss itself. Nothing
 * is drawn at random: the same residuals give the same constants. */
#ifndef ORRERY_ANALYSIS_REPLAY_REFIT_H
#define ORRERY_ANALYSIS_REPLAY_REFIT_H

#include <stddef.h>

enum { REFIT_MAX = 4 };

/* Fills residuals[n_residuals], relative errors such as log ratios: 0 where simulated equals measured. Returns 0 or a negative
 * code. */
typedef int (*refit_residuals_fn)(void *context, const double *values, double *residuals);

struct refit {
    size_t n;                /* constants, at most REFIT_MAX */
    double units[REFIT_MAX]; /* > 0: their orders of magnitude */
    size_t n_residuals;
    refit_residuals_fn residuals;
    void *context;
};

struct refit_result {
    double values[REFIT_MAX]; /* >= 0, each a multiple of 1e-4 of its unit, so that it can be written down */
    double loss;              /* mean soft_l1 of the residuals at these */
    int evaluations;          /* calls of `residuals`: at most some 200 */
};

/* Returns 0, SIM_E_NOMEM, or what `residuals` returned. */
int refit_search(const struct refit *refit, struct refit_result *result);

#endif
