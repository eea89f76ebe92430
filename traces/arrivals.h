/* Arrivals over the span of a trace, in memory that does not grow with it: counts in at most ARRIVALS_BINS bins, whose
 * width doubles when the span outgrows them. */
#ifndef ORRERY_TRACES_ARRIVALS_H
#define ORRERY_TRACES_ARRIVALS_H

#include "sim/core/units.h"

#include <stddef.h>
#include <stdint.h>

enum { ARRIVALS_BINS = 1024, ARRIVALS_PARTS = 10 };

struct arrivals {
    sim_ns width_ns;
    size_t n_bins; /* with those before the last arrival that are empty */
    int64_t n, counts[ARRIVALS_BINS];
};

void arrivals_init(struct arrivals *arrivals);

/* Adds an arrival. Times since the first arrival do not fall. */
void arrivals_add(struct arrivals *arrivals, sim_ns since_first_ns);

/* A part at the beginning or the end of the span. */
struct arrivals_sparse {
    double length_s; /* 0: no such part */
    int64_t n;       /* arrivals in it */
};

struct arrivals_found {
    int64_t parts[ARRIVALS_PARTS]; /* arrivals in the tenths of the span, to whole bins */
    struct arrivals_sparse begin, end;
};

/* Sums up. A sparse part has at most a tenth of the mean rate, and at least a twentieth of the span. It ends where the
 * rate reaches half of the mean for good: where half of the span's share that is over, less the share of the arrivals,
 * is largest. */
void arrivals_find(const struct arrivals *arrivals, double span_s, struct arrivals_found *found);

#endif
