/* Calibrating a GPU: the profiles of one parameter set, and what fitting them has found. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_CALIBRATE_H
#define ORRERY_ANALYSIS_CALIBRATE_CALIBRATE_H

#include "analysis/calibrate/folds.h"
#include "sim/catalog/calibration.h"

struct calibrated_class {
    struct fold_report report;
    const char *held_out_by; /* "llm", "shape", "heads", "gpu" */
    const char *law;         /* whose parameters the report has, where the rows were too few for a fit; NULL: their own */
    bool law_writes_kv;      /* that law is of attention measured together with writing the cache */
};

struct calibrated_set {
    const char *name; /* "in-model" */
    size_t n_profiles;
    const struct profile *profiles;
    struct profile rows;                                 /* of all profiles */
    bool is_pooled;                                      /* over several GPUs: its shapes are no range */
    bool has_table;                                      /* to be written with its measured points; set by the caller */
    const struct calibrated_class *classes[KERNEL_CLASS_COUNT]; /* NULL: not fitted */
};

/* Fits every class that the profiles have rows of, and cross-validates it: over GPUs when `is_pooled`, else as the
 * profiles group their rows. A class with fewer rows than parameters is fitted in part, one with a single row is left
 * out, both with a warning, as are laws far from their rows. Everything lives in `arena`, and the profiles must live as long. Returns 0, SIM_E_DATA when
 * no class can be fitted, or SIM_E_NOMEM. */
int calibrate_set(const char *name, const struct profile *profiles, size_t n_profiles, bool is_pooled,
                  struct arena *arena, struct calibrated_set *set, struct diag *diag);

/* Puts the parameters and the range of `laws` in the place of those that were fitted to fewer than four rows per
 * parameter, each with a warning: the law that measured points are to correct. Returns 0 or SIM_E_NOMEM. */
int calibrate_keep_laws(struct calibrated_set *set, const struct calibration *laws, struct arena *arena,
                        struct diag *diag);

/* Whether a profile has rows of a class. */
bool profile_has_class(const struct profile *profile, enum kernel_class class);

/* --- A calibrated model against a profile that it need not have seen --- */

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
