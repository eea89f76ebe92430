/* A run being recorded: with its provenance and all rows in a results database, or nowhere. Its result hash comes out
 * either way. */
#ifndef ORRERY_CLI_RUN_RECORDING_H
#define ORRERY_CLI_RUN_RECORDING_H

#include "sim/cli/run/setup.h"
#include "sim/store/hash_sink.h"
#include "sim/store/results.h"

#include <stdbool.h>

/* Where a run goes. */
struct recording_place {
    const char *path;        /* a results database, to be opened and closed here; NULL: none */
    bool resume;             /* with it: runs that a killed process left open are removed first */
    struct results *results; /* or one that is open already, and stays so; NULL: none */
    int64_t run_id;          /* 0: the next one */
    size_t n_params;
    const struct run_param *params;
    double cpu_before_s; /* processor time that this process used before the run */
};

struct recording {
    struct results *results;    /* NULL: rows are only hashed */
    struct hash_sink hash_sink; /* then */
    bool is_lent;               /* the results are not ours to close */
    bool is_peak_known;         /* the peak of memory that the system tells is that of this run alone */
    int64_t run_id;             /* 0 without a database */
    char input_hash[HASH_HEX_CHARS];
    char started_utc[32];
    double started_s, cpu_before_s;
};

/* Opens the database and begins the run. Returns 0 or a negative code with findings; then there is nothing to close, and no
 * file that was not there before. */
int recording_begin(struct recording *recording, const struct recording_place *place, const struct setup *setup,
                    struct diag *diag);

/* The hash of the resolved scenario, as a run has it. Returns 0 or SIM_E_NOMEM. */
int recording_scenario_hash(const struct setup *setup, char hex[HASH_HEX_CHARS]);

struct sink recording_sink(struct recording *recording);

/* Ends the run with a status ("done", "interrupted", "stalled"): its rows and its hash are there to stay. Returns 0 or a
 * negative code with findings. */
int recording_end(struct recording *recording, const char *status, double extrapolated_frac, uint64_t events,
                  char result_hash[HASH_HEX_CHARS], struct diag *diag);

/* Closes; a run that was not ended leaves nothing behind. */
void recording_close(struct recording *recording);

#endif
