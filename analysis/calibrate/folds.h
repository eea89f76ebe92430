/* What a class's fit is worth: fitted to all rows, and cross-validated by leaving rows out.
 *
 * Rows are left out by group, so that the shapes of a fold were not seen: each group once when they are few (LLMs), else
 * five folds by the hash of the group's name (shapes, pairs of heads); or by GPU, for parameters common to several. The
 * hard-max roofline with three parameters, fitted on the same folds, stands beside it for comparison. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_FOLDS_H
#define ORRERY_ANALYSIS_CALIBRATE_FOLDS_H

#include "analysis/calibrate/fit.h"

/* X(cut, name as printed): which rows an error is over. Ranges are those of profile_row.tokens. */
#define FIT_CUTS(X)                                                                                                    \
    X(CUT_ALL, "all")                                                                                                  \
    X(CUT_1_16, "1-16")                                                                                                \
    X(CUT_17_256, "17-256")                                                                                            \
    X(CUT_257_4096, "257-4096")                                                                                        \
    X(CUT_4097, "4097-")                                                                                               \
    X(CUT_LARGE, "nk-512-") /* products with n and k of at least 512; empty for other classes */

enum fit_cut {
#define FIT_CUT_ENUM(id, name) id,
    FIT_CUTS(FIT_CUT_ENUM)
#undef FIT_CUT_ENUM
        FIT_CUT_COUNT
};

const char *fit_cut_name(enum fit_cut cut);

/* Errors over the cuts and by operator; without rows: all zero. */
struct fit_cuts {
    struct fit_error cuts[FIT_CUT_COUNT];
    struct fit_error ops[LLM_OPERATOR_COUNT];
};

/* The errors of predicted_s[i] for rows[i]. Returns 0 or SIM_E_NOMEM. */
int fit_cuts_of(const struct profile_row *rows, const double *predicted_s, size_t n, struct fit_cuts *cuts);

enum fold_by { FOLD_BY_GROUP, FOLD_BY_GPU };

struct fold {
    const char *name; /* what it leaves out: a group, a GPU, or "fold-1" */
    union kernel_params params;
    struct fit_cuts errors; /* over what it leaves out */
};

struct fold_report {
    enum kernel_class class;
    size_t n_rows;
    const struct profile_row *rows; /* the class's; `group` is the index of the fold that leaves a row out */
    union kernel_params params;     /* fitted to all of them */
    struct kernel_range range;
    const double *fitted_s; /* what these parameters predict for each row */
    struct fit_cuts fit;

    size_t n_folds; /* 0 when there is one group only: then what follows is empty */
    const struct fold *folds;
    const double *held_out_s; /* what the fold that leaves the row out predicts for it */
    struct fit_cuts held_out;
    struct fit_cuts roofline;  /* held out, t0 + max(flop / rate, bytes / bandwidth); empty where a class has no flop */
    struct fit_cuts layer_sum; /* held out, of the four products of a layer; its rows are layers */
};

/* Fits and cross-validates a class over the profile's rows. What the report points to lives in `arena`. Returns 0,
 * SIM_E_DATA (too few rows) or SIM_E_NOMEM. */
int folds_run(enum kernel_class class, const struct profile *profile, enum fold_by by, struct arena *arena,
              struct fold_report *report, struct diag *diag);

#endif
