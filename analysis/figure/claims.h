/* What the claims of a figure come to: passed, failed or reported; on points that were fitted, or predicted. */
#ifndef ORRERY_ANALYSIS_FIGURE_CLAIMS_H
#define ORRERY_ANALYSIS_FIGURE_CLAIMS_H

#include "analysis/figure/claim_kind.h"

enum claim_verdict { CLAIM_PASS, CLAIM_FAIL, CLAIM_REPORTED };

struct claim_result {
    const struct figure_claim *claim;
    struct claim_outcome outcome;
    enum claim_verdict verdict;
    bool is_fitted;            /* some of its points are points that a parameter was fitted on */
    const char *paper, *ours, *deviation; /* as they are shown; "" where there is nothing */
    const char *because;       /* why it is only reported, NULL when it is not */
};

struct claim_results {
    size_t n, n_failed, n_passed;
    struct claim_result *items;
};

/* Evaluates all claims of the data's figure, into its arena. Returns 0 or a negative code with findings; a claim that fails
 * is a result, no error. */
int figure_claims(const struct figure_data *data, struct claim_results *results, struct diag *diag);

/* "pass", "fail" or "reported". */
const char *claim_verdict_name(enum claim_verdict verdict);

/* "fitted" or "predicted"; "" where the simulator covers nothing. */
const char *claim_basis_name(const struct claim_result *result);

#endif
