/* A limit on the size of a run's results. The store ends a run that has written as much (sim/store/results.h). This
 * warns in time: it predicts the size from what a part of the run has written. */
#ifndef ORRERY_CLI_RUN_RESULTS_LIMIT_H
#define ORRERY_CLI_RUN_RESULTS_LIMIT_H

#include "sim/core/err.h"

#include <stdbool.h>
#include <stddef.h>

#define RESULTS_LIMIT_DEFAULT "100GB"

struct results_limit {
    const char *path;   /* of the results; NULL: none, and no limit */
    double limit_bytes; /* of what the run adds to the file */
    double start_bytes; /* of the file before it */
    bool has_warned;
};

/* Parses "100GB" (NULL: the default). Returns 0 or SIM_E_USAGE. */
int results_limit_parse(const char *text, double *bytes, struct diag *diag);

/* Call when the run begins to write. */
void results_limit_start(struct results_limit *limit, const char *path, double limit_bytes);

/* The bytes of the whole run, when a part `done_frac` of it has written `bytes`, if the rest writes as much. What is
 * written, if that part is not known (0), or too little to tell, below a hundredth of the limit. */
double results_predicted_bytes(double bytes, double done_frac, double limit_bytes);

/* Writes a warning, once, if the results will exceed the limit. Returns whether it did. */
bool results_limit_warns(struct results_limit *limit, double done_frac, char *warning, size_t warning_bytes);

#endif
