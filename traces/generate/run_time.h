/* Run times of synthetic jobs on the GPUs that they request. */
#ifndef ORRERY_TRACES_GENERATE_RUN_TIME_H
#define ORRERY_TRACES_GENERATE_RUN_TIME_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/rng.h"

struct run_params {
    int law; /* of run_fields */
    double mean_s, short_frac, short_of_mean;
};

extern const struct config_field run_fields[];

/* Whether the law has its mean. `what`: whose run times they are, for the finding. Returns 0 or SIM_E_CONFIG. */
int run_check(const struct run_params *run, const char *what, const char *where, struct diag *diag);

/* Seconds. */
double run_draw_s(struct rng *rng, const struct run_params *run);

#endif
