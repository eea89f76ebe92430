/* A limit on the size of a run's results: foretold from what a part of the run has written, so that a run that would
 * fill a disk ends in time. */
#ifndef ORRERY_CLI_RUN_RESULTS_LIMIT_H
#define ORRERY_CLI_RUN_RESULTS_LIMIT_H

#include "sim/core/err.h"

#define RESULTS_LIMIT_DEFAULT "100GB"

struct results_limit {
    const char *path;   /* of the results; NULL: none, and no limit */
    double limit_bytes; /* of what the run adds to the file */
    double start_bytes; /* of the file before it */
};

/* Parses "100GB" (NULL: the default). Returns 0 or SIM_E_USAGE. */
int results_limit_parse(const char *text, double *bytes, struct diag *diag);

/* Call when the run begins to write. */
void results_limit_start(struct results_limit *limit, const char *path, double limit_bytes);

/* The bytes of the whole run, when a part `done_frac` of it has written `bytes`: what is written if that part is not
 * known (0), or too little to tell, below a hundredth of the limit. */
double results_foretold_bytes(double bytes, double done_frac, double limit_bytes);

/* Returns 0, or SIM_E_IO with a finding if the results will exceed the limit. */
int results_limit_check(const struct results_limit *limit, double done_frac, struct diag *diag);

#endif
