/* Intervals of the metrics of a run: what the store keeps, and what pages and comparisons read. */
#ifndef ORRERY_CORE_INTERVALS_H
#define ORRERY_CORE_INTERVALS_H

#include <stddef.h>

/* The ends of a metric by the error of the cost models, in its unit. */
struct metric_interval {
    const char *name;
    double low, high;
};

/* The intervals of a run: beside its result, which they do not change. Texts are borrowed. */
struct run_intervals {
    size_t n;
    const struct metric_interval *items;
    double share;      /* of measured runs that lie inside */
    const char *basis; /* which measured runs; NULL: nothing is known */
};

#endif
