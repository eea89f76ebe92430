/* Records a run: with its provenance and all rows in a results database, or nowhere. Its result hash is computed
 * either way. */
#ifndef ORRERY_CLI_RUN_RECORDING_H
#define ORRERY_CLI_RUN_RECORDING_H

#include "sim/cli/run/setup.h"
#include "sim/core/number.h"
#include "sim/store/record.h"
#include "sim/store/results.h"
#include "sim/world/policy/policy.h"
#include "sim/world/world.h"

#include <stdbool.h>

/* The destination of a run. */
struct recording_place {
    const char *path;        /* a results database, opened and closed here; NULL: none */
    double limit_bytes;      /* with `path`: of what the run may add; 0: no limit */
    bool resume;             /* with `path`: first remove runs that a killed process left open */
    struct results *results; /* or an open one, which stays open; NULL: none */
    int64_t run_id;          /* 0: the next free one */
    size_t n_params;
    const struct run_param *params;
    double cpu_before_s; /* CPU time of this process before the run */
    size_t n_recorded;   /* as in struct run_end; they outlive the recording */
    const struct metric_row *recorded;
};

struct recording {
    struct results *results;    /* NULL: rows are only hashed */
    struct hash_sink hash_sink; /* used if `results` is NULL */
    bool is_lent;               /* the caller closes the results */
    bool is_peak_known;         /* the system's peak of memory covers this run alone */
    int64_t run_id;             /* 0 without a database */
    uint32_t oracle;            /* knowledge that the policies in force declare */
    char input_hash[HASH_HEX_CHARS];
    char started_utc[TIMESTAMP_CHARS];
    double started_s, cpu_before_s;
    size_t n_recorded;
    const struct metric_row *recorded;
};

/* Opens the database and begins the run. Returns 0 or a negative code with findings; then nothing needs closing, and
 * no new file exists. */
int recording_begin(struct recording *recording, const struct recording_place *place, const struct setup *setup,
                    struct diag *diag);

/* The scenario hash of a run: of the resolved scenario. Returns 0 or SIM_E_NOMEM. */
int recording_scenario_hash(const struct setup *setup, char hex[HASH_HEX_CHARS]);

struct sink recording_sink(struct recording *recording);

/* Ends the run with a status ("done", "interrupted", "stalled") and commits its rows and hash. Returns 0 or a
 * negative code with findings. */
int recording_end(struct recording *recording, const char *status, const struct world_result *result,
                  char result_hash[HASH_HEX_CHARS], struct diag *diag);

/* The names of the oracle knowledge that the run had: what its policies declare, and exact estimates. */
void recording_oracle(const struct recording *recording, const struct world_result *result,
                      char names[POLICY_ORACLE_CHARS]);

/* Closes; a run that has not ended leaves nothing behind. */
void recording_close(struct recording *recording);

#endif
