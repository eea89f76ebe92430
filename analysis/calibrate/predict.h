/* How far a calibrated model is from a profile that it need not have seen: no fitting. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PREDICT_H
#define ORRERY_ANALYSIS_CALIBRATE_PREDICT_H

#include "analysis/calibrate/folds.h"
#include "sim/catalog/calibration.h"

struct prediction {
    const char *set;          /* whose parameters were asked for */
    const char *origins[KERNEL_CLASS_COUNT]; /* where the parameters of each class came from; NULL: it has no rows */
    bool is_default;          /* some rows were predicted with parameters that no measurement of this GPU went into */
    double in_range_frac;     /* share of the rows inside the range that their class was fitted on; NAN without rows */
    double table_frac;        /* share of them that measured points were interpolated for, instead of the law alone */
    struct fit_cuts errors;
};

/* Predicts every row of a profile. Returns 0, SIM_E_DATA when it has none or one's time is
 * not finite, or SIM_E_NOMEM. */
int predict_profile(const struct calibration *calibration, const char *set, const struct profile *profile,
                    struct prediction *prediction, struct diag *diag);

#endif
