/* Merges results files of one study: all runs in order of their ids, table by table, so that the file does not show
 * which run was done where. Then adds the outcomes of the study's search. */
#ifndef ORRERY_STUDY_MERGE_H
#define ORRERY_STUDY_MERGE_H

#include "sim/core/database.h"
#include "sim/study/study.h"

#include <stdbool.h>

/* A run in one of the files. */
struct merge_run {
    int64_t id;
    size_t input;
    bool failed;
    bool unfit; /* the point does not fit: an answer */
    char result_hash[HASH_HEX_CHARS];
};

/* Files open for reading, and their runs. */
struct merge {
    size_t n_inputs;
    struct database *inputs;
    size_t n_runs, capacity;
    struct merge_run *runs; /* ended runs, sorted by id, each once */
};

/* What to do about a file that is not the results of a study: an input, or one to write to. */
extern const char merge_hint_input[], merge_hint_output[];

/* Opens results files and lists their runs. All must belong to the study with this hash (NULL: all to one study).
 * `hint` is one of the above. Returns 0, SIM_E_USAGE (files of several studies, one run with two hashes), SIM_E_STORE
 * or SIM_E_NOMEM; merge_close may follow in either case. */
int merge_open(struct merge *merge, const char *const *paths, size_t n_paths, const char *study_hash, const char *hint,
               struct diag *diag);

/* Like merge_open, with a last file, to write to. Its failed runs, and the search steps that followed from them, give
 * way to other runs. */
int merge_open_over(struct merge *merge, const char *const *paths, size_t n_paths, const struct study *study,
                    struct diag *diag);

void merge_close(struct merge *merge);

/* The run with this id, or NULL. */
const struct merge_run *merge_find(const struct merge *merge, int64_t run_id);

/* Reads a metric of a run; NAN if it has none. */
int merge_metric(const struct merge *merge, const struct merge_run *run, const char *name, double *value,
                 struct diag *diag);

/* Reads a metric with times at the slow end of the interval; NAN if the run has no intervals. */
int merge_slow(const struct merge *merge, const struct merge_run *run, const char *name, double *value,
               struct diag *diag);

/* Reads a metric of the trace as it was recorded, which the run of a point's first seed has; NAN if it has none. */
int merge_recorded(const struct merge *merge, const struct merge_run *run, const char *name, double *value,
                   struct diag *diag);

/* The destination of the merged file. */
struct merge_target {
    const char *output;
    bool replaces; /* an existing output is replaced */
};

/* Writes all to a new file, flushes it, and renames it to the output, which must not exist unless the target
 * replaces it. Returns 0, SIM_E_STORE or SIM_E_NOMEM; on an error the new file is removed. */
int merge_write(const struct merge *merge, const struct study *study, const struct merge_target *target,
                struct diag *diag);

#endif
