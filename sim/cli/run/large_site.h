/* Warnings of `orrery run` before a run that takes much memory or disk space. They follow from the scenario alone, so
 * they are the same on every machine. What a run takes for its requests and jobs is not predicted. */
#ifndef ORRERY_CLI_RUN_LARGE_SITE_H
#define ORRERY_CLI_RUN_LARGE_SITE_H

#include "sim/cli/run/setup.h"

#include <stdio.h>

/* Memory of replicas that serve nothing, and of nodes, without stages, failures and placers by node; and of replicas
 * that have served requests. tests/cli/results_limit.sh measures them. */
#define LARGE_SITE_REPLICA_BYTES 3000.0
#define LARGE_SITE_BUSY_REPLICA_BYTES 12200.0
#define LARGE_SITE_NODE_BYTES 8.5

/* From this on `orrery run` warns. */
#define LARGE_SITE_WARNS_BYTES 2e9

struct large_site {
    int64_t nodes, replicas;
    double least_bytes, busy_bytes; /* of memory: all replicas idle, and all busy */
    double samples_bytes;           /* in the results, of a fixed period and end; 0: not known, or few */
};

struct large_site large_site_of(const struct scenario *scenario);

/* Writes warnings to `err` at once: the run is yet to begin. `output`: of the results; NULL: none. */
void large_site_warn(const struct scenario *scenario, const char *output, double limit_bytes, FILE *err);

#endif
