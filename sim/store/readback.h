/* Reading runs back: what a run was made from, and whether the rows in the file still are the ones that
 * were written. */
#ifndef ORRERY_STORE_READBACK_H
#define ORRERY_STORE_READBACK_H

#include "sim/core/mem.h"
#include "sim/store/results.h"

#include <stddef.h>

struct run_record {
    int64_t id;
    const char *name, *version, *git_commit, *scenario, *scenario_hash, *trace_hash, *policies, *oracle, *platform;
    const char *status, *result_hash; /* a NULL in the file is an empty text here */
    int64_t seed;
    double extrapolated_frac; /* NAN: unknown */
};

/* Takes "results.db:3" apart into path and run id; without a number at the end the run id is 0. The path goes to the
 * arena. Returns 0 or SIM_E_NOMEM. */
int results_split_name(const char *name, struct arena *arena, const char **path, int64_t *run_id);

/* Reads one run; run_id 0: the last one. Texts go to the arena. Returns 0, SIM_E_STORE (no such run, too) or
 * SIM_E_NOMEM. */
int results_read_run(const char *path, int64_t run_id, struct arena *arena, struct run_record *run, struct diag *diag);

/* Returns 0, or of a run that failed SIM_E_USAGE, with what it failed of and what the study had set for it; SIM_E_STORE or
 * SIM_E_NOMEM. */
int results_check_run(const char *path, const struct run_record *run, struct diag *diag);

/* Hashes the rows of a run as they are in the file now: the run's result_hash, unless somebody changed them. */
int results_rehash(const char *path, int64_t run_id, char hex[HASH_HEX_CHARS], struct diag *diag);

#endif
