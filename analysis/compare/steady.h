/* The steady state of one pair of runs: what is left after the warm-up, and whether it is long enough to say anything. */
#ifndef ORRERY_ANALYSIS_COMPARE_STEADY_H
#define ORRERY_ANALYSIS_COMPARE_STEADY_H

#include "analysis/compare/compare.h"

/* One value of all pairs that have it, in order of arrival; `scratch` has room for n values. */
struct series {
    size_t n;
    double *base, *changed, *delta, *scratch;
};

/* The part of a series behind the warm-up of either run (MSER-5), as far as it makes whole batches. n is 0 when the warm-up
 * does not end. */
struct series steady_part(const struct series *all);

/* The interval of the mean of `steady->delta` (q: NAN), or of the difference of the q-quantiles, by 20 batches. There is
 * none, but a note, when the part is worth too few independent values: 150 for a mean, and for a percentile also 25 beyond
 * it. What that does to the share of false findings is shown in tests/property/steady_verdicts.c. Returns 0 or
 * SIM_E_NOMEM. */
int steady_estimate(const struct compare_options *options, const struct series *steady, double q, struct arena *arena,
                    struct compare_row *row);

#endif
