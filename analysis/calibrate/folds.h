/* The accuracy of a class's fit: on all rows, and cross-validated on held-out rows.
 *
 * Rows are held out by group, so that a fit has not seen the shapes it is tested on. Up to twelve groups (LLMs) are one
 * fold each; more (shapes, pairs of heads) share five folds by the hash of the group's name. Parameters common to
 * several GPUs are held out by GPU. A roofline with a hard maximum and three parameters is fitted on the same folds for
 * comparison. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_FOLDS_H
#define ORRERY_ANALYSIS_CALIBRATE_FOLDS_H

#include "analysis/calibrate/fit.h"

/* X(cut, name as printed): the subset of rows an error is over. Ranges are of profile_row.tokens. */
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

/* Errors by cut and by operator; all zero without rows. */
struct fit_cuts {
    struct fit_error cuts[FIT_CUT_COUNT];
    struct fit_error ops[LLM_OPERATOR_COUNT];
};

/* The errors of predicted_s[i] for rows[i]. Returns 0 or SIM_E_NOMEM. */
int fit_cuts_of(const struct profile_row *rows, const double *predicted_s, size_t n, struct fit_cuts *cuts);

enum fold_by { FOLD_BY_GROUP, FOLD_BY_GPU };

struct fold {
    const char *name; /* of the held-out rows: a group, a GPU, or "fold-1" */
    union kernel_params params;
    struct fit_cuts errors; /* over the held-out rows */
};

struct fold_report {
    enum kernel_class class;
    size_t n_rows;
    const struct profile_row *rows; /* [n_rows] of the class; `group` is the index of the fold that holds the row out */
    union kernel_params params;     /* fitted to all of them */
    struct kernel_range range;
    const double *fitted_s; /* [n_rows] predicted with `params` */
    struct fit_cuts fit;

    size_t n_folds; /* 0 with a single group: the members below are empty */
    const struct fold *folds;
    const double *held_out_s; /* [n_rows] predicted by the fold that holds the row out */
    struct fit_cuts held_out;
    struct fit_cuts roofline;  /* held out, t0 + max(flop / rate, bytes / bandwidth); empty where a class has no flop */
    struct fit_cuts layer_sum; /* held out, of the four products of a layer; its rows are layers */
};

/* Fits and cross-validates a class over the profile's rows. Arrays of the report live in `arena`. Returns 0, SIM_E_DATA
 * (too few rows) or SIM_E_NOMEM. */
int folds_run(enum kernel_class class, const struct profile *profile, enum fold_by by, struct arena *arena,
              struct fold_report *report, struct diag *diag);

#endif
