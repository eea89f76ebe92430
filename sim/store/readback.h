/* Reads runs back: their provenance, and whether the rows in the file are still those that were written. */
#ifndef ORRERY_STORE_READBACK_H
#define ORRERY_STORE_READBACK_H

#include "sim/core/mem.h"
#include "sim/store/results.h"

#include <stddef.h>

struct run_record {
    int64_t id;
    const char *name, *version, *git_commit, *scenario, *scenario_hash, *trace_hash, *policies, *oracle, *platform;
    const char *status, *result_hash; /* NULL in the file: empty */
    int64_t seed;
    double extrapolated_frac; /* NAN: unknown */
};

/* Splits "results.db:3" into path and run id; 0 without a number from 1 at the end. The path goes to the arena.
 * Returns 0 or SIM_E_NOMEM. */
int results_split_name(const char *name, struct arena *arena, const char **path, int64_t *run_id);

/* Reads one run; run_id 0: the last one. Texts go to the arena. Returns 0, SIM_E_STORE (also if there is no such
 * run) or SIM_E_NOMEM. */
int results_read_run(const char *path, int64_t run_id, struct arena *arena, struct run_record *run, struct diag *diag);

/* Checks that the run did not fail. Returns 0; SIM_E_USAGE if it failed, with its failure and its study parameters
 * as finding; SIM_E_STORE or SIM_E_NOMEM. */
int results_check_run(const char *path, const struct run_record *run, struct diag *diag);

/* Hashes the rows of a run as they are in the file now. The hash equals the run's result_hash unless they were
 * changed. */
int results_rehash(const char *path, int64_t run_id, char hex[HASH_HEX_CHARS], struct diag *diag);

#endif
