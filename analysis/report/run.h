/* The run that a page is about, and its metrics. */
#ifndef ORRERY_ANALYSIS_REPORT_RUN_H
#define ORRERY_ANALYSIS_REPORT_RUN_H

#include "sim/core/database.h"
#include "sim/core/mem.h"

#include <stddef.h>
#include <stdint.h>

/* A NULL in the file is an empty text here. */
struct report_run {
    int64_t id, seed;
    double extrapolated_frac; /* NAN: unknown */
    const char *name, *version, *git_commit, *scenario, *scenario_hash, *trace_hash, *policies, *oracle, *platform;
    const char *status, *result_hash;
};

struct report_value {
    const char *name, *unit;
    double value;
};

struct report_values {
    size_t n;
    struct report_value *rows; /* in order of their names */
};

/* Reads one run; run_id 0: the last one. Texts go to the arena. Returns 0, SIM_E_STORE (no such run, too) or
 * SIM_E_NOMEM. */
int report_read_run(const struct database *database, int64_t run_id, struct arena *arena, struct report_run *run,
                    struct diag *diag);

/* Reads the metrics of a run, into the arena. */
int report_read_values(const struct database *database, int64_t run_id, struct arena *arena,
                       struct report_values *values, struct diag *diag);

#endif
