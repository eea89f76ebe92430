/* Calibrating a GPU: the profiles of one parameter set, and the parameters fitted to them. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_CALIBRATE_H
#define ORRERY_ANALYSIS_CALIBRATE_CALIBRATE_H

#include "analysis/calibrate/folds.h"
#include "sim/catalog/calibration.h"

struct calibrated_class {
    struct fold_report report;
    const char *held_out_by; /* "llm", "shape", "heads", "gpu" */
    const char *law;         /* source of the report's parameters when the rows were too few for a fit; NULL: fitted */
    bool law_writes_kv;      /* attention of that law was measured together with writing the cache */
};

struct calibrated_set {
    const char *name; /* "in-model" */
    size_t n_profiles;
    const struct profile *profiles;
    struct profile rows;                                 /* of all profiles */
    bool is_pooled;                                      /* over several GPUs: no range is written */
    bool has_table;                                      /* written with its measured points; set by the caller */
    const struct calibrated_class *classes[KERNEL_CLASS_COUNT]; /* NULL: not fitted */
};

/* Fits every class that the profiles have rows of, and cross-validates it: over GPUs when `is_pooled`, else as the
 * profiles group their rows. Warns of a class with fewer rows than parameters, which is fitted in part; of one with a
 * single row, which is left out; and of laws far from their rows. Results live in `arena`; the profiles must live as
 * long. Returns 0, SIM_E_DATA when no class can be fitted, or SIM_E_NOMEM. */
int calibrate_set(const char *name, const struct profile *profiles, size_t n_profiles, bool is_pooled,
                  struct arena *arena, struct calibrated_set *set, struct diag *diag);

/* Fits the profiles of each set, in the order of the sets' first profiles. sets[n] has room for one per profile.
 * Returns what calibrate_set returns. */
int calibrate_sets(const struct profile *profiles, size_t n, bool is_pooled, struct arena *arena,
                   struct calibrated_set *sets, size_t *n_sets, struct diag *diag);

/* Replaces parameters that were fitted to fewer than four rows per parameter by those of `laws`, with their range, and
 * warns of each. Measured points then correct these laws. Returns 0 or SIM_E_NOMEM. */
int calibrate_keep_laws(struct calibrated_set *set, const struct calibration *laws, struct arena *arena,
                        struct diag *diag);

/* Whether a profile has rows of a class. */
bool profile_has_class(const struct profile *profile, enum kernel_class class);

/* Warns when so many rows were faster than the peak of the GPU that outliers alone do not explain them. */
void calibrate_check_profile(const struct profile *profile, const struct gpu_spec *gpu, struct diag *diag);

/* --- A calibrated model against a profile that it need not have seen --- */

struct prediction {
    const char *set;          /* the requested parameter set */
    const char *origins[KERNEL_CLASS_COUNT]; /* source of each class's parameters; NULL: no rows */
    bool is_default;          /* some rows were predicted with parameters not measured on this GPU */
    double in_range_frac;     /* share of rows inside the fitted range of their class; NAN without rows */
    double table_frac;        /* share of rows predicted by interpolating measured points */
    struct fit_cuts errors;
};

/* Predicts every row of a profile. Returns 0; SIM_E_DATA without rows or when a predicted time is not finite; or
 * SIM_E_NOMEM. */
int predict_profile(const struct calibration *calibration, const char *set, const struct profile *profile,
                    struct prediction *prediction, struct diag *diag);

#endif
