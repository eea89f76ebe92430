/* The steady state of one pair of runs: what is left after the warm-up, and whether it is long enough. */
#ifndef ORRERY_ANALYSIS_COMPARE_STEADY_H
#define ORRERY_ANALYSIS_COMPARE_STEADY_H

#include "analysis/compare/compare.h"

/* One value of all pairs that have it, in order of arrival; `scratch` has room for n values. */
struct series {
    size_t n;
    double *base, *changed, *delta, *scratch;
};

/* The part of a series after the warm-up of both runs (MSER-5), cut to whole batches. n is 0 if the warm-up does not
 * end. */
struct series steady_part(const struct series *all);

/* Sets the interval of the mean of `steady->delta` (q: NAN), or of the difference of the q-quantiles, by 20 batches.
 * Sets row->note instead if the part is worth too few independent values: 150 for a mean, and for a percentile also
 * 25 beyond it. tests/property/steady_verdicts.c measures the effect on false findings. Returns 0 or SIM_E_NOMEM. */
int steady_estimate(const struct compare_options *options, const struct series *steady, double q, struct arena *arena,
                    struct compare_row *row);

#endif
