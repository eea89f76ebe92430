/* Fitting the laws of models/power.h to measured power, and the error that is left.
 *
 * Minimises the sum of soft_l1(log(predicted / measured)) (fit.h) by the simplex of Nelder and Mead (GSL), parameters between
 * their bounds in logarithms, from several starting points in a fixed order: the power limit puts an edge into the law, where
 * it has no derivative. The same rows give the same bits.
 *
 * The law of activity is held out group by group (an LLM, a kind of load). The law of the clock is fitted on every other job,
 * and tested on those between. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_FIT_H
#define ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_FIT_H

#include "analysis/calibrate/fit.h"
#include "analysis/calibrate/power/power_data.h"

enum { POWER_MAX_ERRORS = 16 };

/* Which part of models/power.h: what kernels draw at the highest clock, or what the clock changes. */
enum power_class { POWER_ACTIVITY, POWER_CLOCK, POWER_CLASS_COUNT };

enum { POWER_ACTIVE, POWER_COMPUTE, POWER_MEMORY, POWER_ACTIVITY_PARAMS };
enum { CLOCK_CONTEXT, CLOCK_ACTIVE, CLOCK_MEMORY, CLOCK_SHARE, CLOCK_FLOOR, CLOCK_KNEE, POWER_CLOCK_PARAMS };

struct power_class_info {
    const char *name; /* as in calibration files */
    const char *held_out_by;
    size_t n_params;
    const struct kernel_param *params; /* PARAM_PLAIN; watts where the name says so in the file */
    size_t n_watts;                    /* the first so many are watts */
};

const struct power_class_info *power_class_info(enum power_class class);

struct power_error {
    const char *name;
    struct fit_error error;
};

struct power_errors {
    struct power_error items[POWER_MAX_ERRORS];
    size_t n;
};

struct power_fitted {
    int64_t rows;
    double values[POWER_CLOCK_PARAMS]; /* by the class's parameters */
    struct power_errors fit, held_out; /* "all", then by part and by group */
    double low[2], high[2];            /* activity: range of the shares of compute and memory */
};

/* Fits a class to the rows of all files together. `rows` is 0 where there are none of it. Texts live in `arena`. Returns 0 or
 * SIM_E_NOMEM. */
int power_fit(enum power_class class, const struct power_data *files, size_t n_files, const struct gpu_spec *gpu,
              struct arena *arena, struct power_fitted *fitted);

#endif
