/* A results database being written: runs with their provenance, their rows, and a hash over these.
 *
 * One run is one transaction. Its row in `run` is committed first, with status 'open'. Everything else, and the final
 * status, is committed together at the end. A process that dies, however it dies, loses the current run and nothing
 * else, and no reader ever sees half a run. SQLite's journal stays small, since rows are only appended. The file is
 * locked against other writers while it is open here, and against readers from the first run until it is closed.
 *
 * A file that was created here and in which no run was completed is removed when it is closed, unless another process
 * has taken it over. */
#ifndef ORRERY_STORE_RESULTS_H
#define ORRERY_STORE_RESULTS_H

#include "sim/core/intervals.h"
#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct results;

struct results_options {
    double limit_bytes; /* of what is added to the file; 0: no limit */
    bool resume;        /* remove runs that a process that died left open */
    bool writer_thread; /* write from a second thread: less waiting, more CPU time per row */
    int busy_ms;        /* longest wait for another writing process */
    bool unflushed;     /* commits survive the process, but not a loss of power */
};

/* The study that runs belong to. Texts are borrowed for the call. */
struct study_info {
    const char *name, *question, *definition, *hash;
};

/* Each level keeps more than the one before: metrics and warnings; histograms and samples; rows of requests, jobs,
 * placements, leases and decisions; and the decisions that every request brings. */
enum results_keep { KEEP_METRICS, KEEP_CURVES, KEEP_ROWS, KEEP_DECISIONS };

/* A key that a study varies, as in --set. */
struct run_param {
    const char *key, *value;
};

/* The inputs of a run. Texts are borrowed for the call. */
struct run_info {
    const char *name, *version, *git_commit;
    const char *scenario, *scenario_hash; /* resolved JSON */
    int64_t seed;
    const char *policies, *oracle; /* as text */
    const char *platform;
    enum results_keep keep;
    int64_t run_id; /* 0: the next one; else a number unused in the file */
    size_t n_params;
    const struct run_param *params;
};

/* The cost of executing the run: not part of the result. */
struct run_cost {
    const char *started_utc; /* "2024-05-01T12:00:00Z" */
    double wall_s, cpu_s;
    int64_t events, peak_rss_bytes; /* peak 0: unknown, NULL in the file */
};

/* The outcome of a run. */
struct run_end {
    const char *status;       /* "done", "interrupted", "stalled", "failed", "unfit" */
    const char *trace_hash;   /* NULL: no trace */
    const char *oracle;       /* replaces that of run_info, now that the run is known; NULL: it stays */
    double extrapolated_frac; /* NAN: unknown */
    struct run_cost cost;
    size_t n_recorded; /* metrics of the trace that the run replicates, as it was recorded; beside the result */
    const struct metric_row *recorded;
};

/* Creates a file, or opens a results database of this schema version to append runs to. Check inputs before. Returns
 * 0, SIM_E_STORE or SIM_E_NOMEM; after a failure a file that did not exist does not exist, unless another process
 * created or uses it. */
int results_open(const char *path, const struct results_options *options, struct results **results, struct diag *diag);

/* Closes. Removes a run that was begun and not ended. NULL is allowed. */
void results_close(struct results *results);

/* Sets the study of the file, in place of an earlier one. Committed with the next run. Returns 0, SIM_E_STORE or
 * SIM_E_NOMEM. */
int results_set_study(struct results *results, const struct study_info *study, struct diag *diag);

/* Begins a run; one at a time. Its id, as requested or 1, 2, ..., goes to *run_id. Returns 0, SIM_E_STORE or
 * SIM_E_NOMEM. */
int results_begin_run(struct results *results, const struct run_info *info, int64_t *run_id, struct diag *diag);

/* The sink of the run's rows, until it ends. Rows that are not kept have NULL members. After a failure each row
 * returns its code, and results_end_run files the finding. */
struct sink results_sink(struct results *results);

/* Ends the run: commits its last rows, its status and its result hash (record.h), which is also written to
 * `result_hash`. Returns 0, SIM_E_STORE or SIM_E_NOMEM; after a failure nothing of the run is in the file, and the
 * next one may begin. */
int results_end_run(struct results *results, const struct run_end *end, char result_hash[HASH_HEX_CHARS],
                    struct diag *diag);

/* Adds the intervals of a run that has ended, in a transaction of their own. Returns 0, SIM_E_STORE or SIM_E_NOMEM;
 * after a failure the run has none. */
int results_add_intervals(struct results *results, int64_t run_id, const struct run_intervals *intervals,
                          struct diag *diag);

/* Removes a run that a process left open when it died. With `created`, that process created the file, which is removed
 * if it has no other run. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int results_drop_run(const char *path, int64_t run_id, bool created, int busy_ms, struct diag *diag);

/* Removes the open run, if there is one: the next one may begin. */
void results_abandon_run(struct results *results);

#endif
