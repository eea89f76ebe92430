/* Results databases with made-up runs, for the tests of comparing. */
#ifndef ORRERY_TESTS_SUPPORT_COMPARE_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_COMPARE_FIXTURE_H

#include "analysis/compare/compare.h"
#include "sim/store/results.h"

/* A run; what is left out has a value that does not matter. */
struct made_run {
    const char *name, *status, *trace_hash, *scenario; /* NULL: "made", "done", "trace", "{}" */
    int64_t seed;
    const char *routing, *replicas; /* parameters of the study; NULL: none */
    double metric;                  /* its request.ttft_s.mean, unless it has requests; its cluster.gpus is 8 */
    int n_requests;
    double (*ttft_s)(int64_t id); /* of its requests */
    int first_id;
    int arrived, rejected; /* metrics of these names, if any request arrived */
};

/* Adds runs to a file, in a directory of the test's own; creates it. False after a failed check. */
bool compare_make(const char *path, const struct made_run *runs, size_t n);

/* "made.db" in the test's directory, which does not exist yet. */
const char *compare_path(void);

/* 95 %, 1 %, 500 resamples, and a dictionary of these two metrics and of request.e2e_s.mean. */
extern const struct compare_options compare_defaults;

/* The row of a metric at a point (NULL: over all), or NULL. */
const struct compare_row *compare_find(const struct comparison *comparison, const char *metric, const char *point);

/* Whether some remark holds the text. */
bool compare_says(const struct comparison *comparison, const char *text);

#endif
