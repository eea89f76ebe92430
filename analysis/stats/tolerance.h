/* The tolerance that comparisons, gates and claims of figures apply. */
#ifndef ORRERY_ANALYSIS_STATS_TOLERANCE_H
#define ORRERY_ANALYSIS_STATS_TOLERANCE_H

#include <math.h>
#include <stdbool.h>

/* Whether the differences from `low` to `high` to a reference stay within `amount`, or, if is_share, within that
 * share of the reference. False if anything is NAN. */
static inline bool tolerance_holds(double reference, double low, double high, double amount, bool is_share)
{
    const double allowed = is_share ? amount * fabs(reference) : amount;
    return low >= -allowed && high <= allowed;
}

#endif
