/* What the claims of a figure come to: passed, failed or reported; on points that were fitted, or predicted. */
#ifndef ORRERY_ANALYSIS_FIGURE_CLAIMS_H
#define ORRERY_ANALYSIS_FIGURE_CLAIMS_H

#include "analysis/figure/claim_kind.h"
#include "sim/core/text.h"

enum claim_verdict {
    CLAIM_PASS,
    CLAIM_FAIL,
    CLAIM_KNOWN_TO_FAIL, /* fails, and the figure says why */
    CLAIM_NO_LONGER,     /* passes, though the figure says why it fails */
    CLAIM_REPORTED,
    N_CLAIM_VERDICTS
};

struct claim_result {
    const struct figure_claim *claim;
    struct claim_outcome outcome;
    enum claim_verdict verdict;
    bool is_outside;           /* reported, but held against its tolerance it would fail */
    bool is_fitted;            /* it reaches into a range that a parameter was fitted on */
    const char *paper, *ours, *deviation; /* as they are shown; "" where there is nothing */
    const char *tolerance;     /* what it is held against, "" for nothing */
    const char *word;          /* the verdict as it is shown: "reported, outside 5 %" */
    const char *because;       /* why it is only reported, or fails, NULL when it does neither */
};

struct claim_counts {
    size_t n, of[N_CLAIM_VERDICTS], n_outside;
};

struct claim_results {
    size_t n;
    struct claim_result *items;
    struct claim_counts counts;
};

/* Evaluates all claims of the data's figure, into its arena. Returns 0 or a negative code with findings; a claim that fails
 * is a result, no error. */
int figure_claims(const struct figure_data *data, struct claim_results *results, struct diag *diag);

/* "pass", "fail", "known to fail", "passes, known to fail" or "reported". */
const char *claim_verdict_name(enum claim_verdict verdict);

/* "fitted" or "predicted"; "" where the simulator covers nothing. */
const char *claim_basis_name(const struct claim_result *result);

/* Adds the counts of one figure to those of several. */
void claim_counts_add(struct claim_counts *sum, const struct claim_counts *counts);

/* "8 claims: 5 pass, 3 reported (3 outside their tolerance)". */
void claim_counts_text(const struct claim_counts *counts, struct text *text);

#endif
