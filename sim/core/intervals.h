/* Intervals of the metrics of a run: what the store keeps, and what pages and comparisons read. */
#ifndef ORRERY_CORE_INTERVALS_H
#define ORRERY_CORE_INTERVALS_H

#include <stddef.h>

/* The ends of a metric by the error of the cost models, in its unit. */
struct metric_interval {
    const char *name;
    double low, high;  /* the prediction among them */
    double fast, slow; /* with the fast and the slow times; low and high are those of the two, but rarely */
};

/* The intervals of a run: beside its result, which they do not change. Texts are borrowed. */
struct run_intervals {
    size_t n;
    const struct metric_interval *items;
    double share;      /* of measured runs whose TPOT lies inside */
    const char *basis; /* which measured runs; NULL: nothing is known */
    const char *systems; /* LLM, GPU and engine whose error it is; runs of equal systems have one error in common */
    const char *none;  /* why there is none, in words; NULL: there is, or no reason is known. Not in results files */
};

#endif
