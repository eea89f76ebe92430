/* The results of a figure's claims: passed, failed or reported; on fitted or on predicted points. */
#ifndef ORRERY_ANALYSIS_FIGURE_CLAIMS_H
#define ORRERY_ANALYSIS_FIGURE_CLAIMS_H

#include "analysis/figure/claim_kind.h"
#include "sim/core/text.h"

enum claim_verdict {
    CLAIM_PASS,
    CLAIM_FAIL,
    CLAIM_KNOWN_TO_FAIL, /* fails for a stated reason */
    CLAIM_NO_LONGER,     /* passes although the figure states why it fails */
    CLAIM_REPORTED,
    N_CLAIM_VERDICTS
};

/* What the authors of the model knew of a claim's numbers. */
enum claim_basis {
    CLAIM_IS_PREDICTED, /* neither of these: unseen, as far as the figure's file says */
    CLAIM_IS_CHOSEN_BY, /* equations or inputs were chosen in view of its numbers: the claim's "chosen_by" */
    CLAIM_IS_FITTED     /* it uses a range that a parameter was fitted on */
};

struct claim_result {
    const struct figure_claim *claim;
    struct claim_outcome outcome;
    enum claim_verdict verdict;
    bool has_limit;            /* a tolerance, or a bound of its kind, says how far our number may be off */
    bool is_outside;           /* reported, but outside this limit */
    bool is_own;               /* the number is a limit or an expectation of Orrery's authors: "8 % *" */
    enum claim_basis basis;
    const char *paper, *ours, *deviation; /* as shown; "": nothing */
    const char *tolerance;     /* the bound applied; "": none */
    const char *word;          /* the verdict as shown: "reported, outside 5 %" */
    const char *because;       /* why it is only reported, or fails; NULL: neither */
};

struct claim_counts {
    size_t n, of[N_CLAIM_VERDICTS], n_own;
    size_t n_within, n_outside, n_unjudged; /* of the reported; the first two of a limit that they have */
};

struct claim_results {
    size_t n;
    struct claim_result *items;
    struct claim_counts counts;
    double *errors; /* [figure->errors.n]; NAN: a query without a value */
};

/* Evaluates all claims of the figure, into its arena. Returns 0 or a negative code with findings; a claim that fails
 * is a result, no error. */
int figure_claims(const struct figure_data *data, struct claim_results *results, struct diag *diag);

/* "pass", "fail", "known to fail", "passes, known to fail" or "reported". */
const char *claim_verdict_name(enum claim_verdict verdict);

/* "fitted", "chosen by" or "predicted"; "" if the simulator does not cover the claim. */
const char *claim_basis_name(const struct claim_result *result);

/* Adds a line: the model's errors, where the figure names them; of each basis the claims about the paper, how many of
 * the judged ones hold and fail, how many are reported, and the median and the largest deviation of numbers and of
 * curves; of the own limits of all bases the same without deviations; the claims that cannot be judged, which are in
 * none of these; the fitted parameters, and what else was chosen in view of
 * results. With errors there are no deviations. Returns 0 or SIM_E_NOMEM. */
int claim_basis_text(const struct figure *figure, const struct claim_results *claims, struct text *text);

/* What the mark * of an own number means, as a sentence; what the words of the basis, and deviations, mean. */
extern const char claim_own_note[], claim_basis_note[];

/* What the tags of sources mean. */
extern const char claim_tags_note[];

/* Adds the counts of one figure to those of several. */
void claim_counts_add(struct claim_counts *sum, const struct claim_counts *counts);

/* "8 claims: 5 pass, 3 reported (1 within, 1 outside, 1 not comparable)". */
void claim_counts_text(const struct claim_counts *counts, struct text *text);

#endif
