/* Turns a trace's jobs into a load that grows until a cluster is more than full, to compare how well placers fill it.
 *
 * Jobs come in random order. Jobs are drawn with replacement, or removed, until their total request is `load` times
 * `gpus`. Submission times are proportional to the GPUs requested so far and reach all `gpus` at `full_after`. Jobs
 * never end. Times and durations of the trace do not matter (Weng et al., USENIX ATC 2023, section 6: load 1.3; as in
 * the released code, drawn jobs follow the shuffled trace). */
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

/* Opens the stage behind a stream of jobs. Takes ownership of `inner`, also on failure. Returns 0 or SIM_E_NOMEM. */
int resample_open(const struct resample_config *config, const struct source_options *options, struct stream *inner,
                  struct stream **stream, struct diag *diag);

#endif
