/* A trace's jobs as a load that grows until a cluster is full and beyond: to see how well placers fill it.
 *
 * The jobs come in random order. More of them are drawn with replacement, or some taken out, until all together ask for `load` times
 * so many GPUs. Each is submitted when those up to it ask for its share of the GPUs, `full_after` marking the moment when that is all
 * of them, and runs without end. Times and durations of the trace do not matter (Weng et al., USENIX ATC 2023, section 6: load 1.3;
 * as in its released code the draws come behind the shuffled trace). */
#ifndef ORRERY_TRACES_RESAMPLE_H
#define ORRERY_TRACES_RESAMPLE_H

#include "sim/core/config/config.h"
#include "traces/stream.h"

struct resample_config {
    int64_t gpus; /* of the cluster; 0: the trace stays as it is */
    double load;
    sim_ns full_after_ns;
};

extern const struct config_field resample_config_fields[];

/* The stage behind an open stream of jobs, which it takes over, also when it fails. Returns 0 or SIM_E_NOMEM. */
int resample_open(const struct resample_config *config, const struct source_options *options, struct stream *inner,
                  struct stream **stream, struct diag *diag);

#endif
