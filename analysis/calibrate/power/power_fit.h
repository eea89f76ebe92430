/* Fitting the laws of models/power.h to measured power, and the remaining error.
 *
 * Minimises the sum of soft_l1(log(predicted / measured)) (fit.h) by the simplex of Nelder and Mead (GSL), parameters
 * in log space inside their bounds, from several starting points in a fixed order. The law has no derivative at the
 * power limit. Equal rows give equal bits.
 *
 * Where no row of known FLOP reaches a quarter of the peak, no parameter of activity exceeds what the board leaves
 * beside the power of an idle process. `attention` is fitted where at least three groups read keys and values. With it,
 * `widening` is fitted where at least two groups widen weights and tensor cores multiply no 4-bit blocks. Else they are
 * 0. The law of activity is held out group by group (an LLM, a kind of load). The law of the clock is fitted on every
 * other job and tested on the rest. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_FIT_H
#define ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_FIT_H

#include "analysis/calibrate/fit.h"
#include "analysis/calibrate/power/power_data.h"
#include "sim/core/text.h"

enum { POWER_MAX_ERRORS = 16 };

/* Parts of models/power.h: the power of kernels at the highest clock, and the effect of the clock. */
enum power_class { POWER_ACTIVITY, POWER_CLOCK, POWER_CLASS_COUNT };

enum { POWER_ACTIVE, POWER_COMPUTE, POWER_MEMORY, POWER_ATTENTION, POWER_WIDENING, POWER_ACTIVITY_PARAMS };
enum { CLOCK_CONTEXT, CLOCK_ACTIVE, CLOCK_MEMORY, CLOCK_SHARE, CLOCK_FLOOR, CLOCK_KNEE, POWER_CLOCK_PARAMS };

struct power_class_info {
    const char *name; /* as in calibration files */
    const char *held_out_by;
    size_t n_params;
    const struct kernel_param *params; /* PARAM_PLAIN */
    size_t n_watts;                    /* the first n_watts are watts */
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
    size_t n_params; /* the first parameters of the class are fitted, the others 0 */
    double values[POWER_CLOCK_PARAMS];
    struct power_errors fit, held_out; /* "all", then by part and by group */
    double low[2], high[2];            /* activity: range of the shares of compute [0] and memory [1] */
    double high_w[POWER_ACTIVITY_PARAMS]; /* activity: upper bounds of the fit */
};

/* Fits a class to the rows of all files together; fitted->rows is 0 without any. Texts live in `arena`. Returns 0 or
 * SIM_E_NOMEM. */
int power_fit(enum power_class class, const struct power_data *files, size_t n_files, const struct gpu_spec *gpu,
              struct arena *arena, struct power_fitted *fitted);

/* The text of the file of a GPU's power (sim/catalog/power.h). fitted[POWER_CLASS_COUNT]; `like` is the GPU whose
 * parameters replace missing ones, or NULL. Returns 0 or SIM_E_NOMEM. */
int power_write(const char *gpu, const char *like, const struct power_data *files, size_t n_files,
                const struct power_fitted *fitted, struct text *json);

#endif
