/* Results files of one study made into one: all runs in order of their ids, table by table, so that the file does not tell
 * which run was done where. Below it, the outcomes of the study's search. */
#ifndef ORRERY_STUDY_MERGE_H
#define ORRERY_STUDY_MERGE_H

#include "sim/core/database.h"
#include "sim/study/study.h"

#include <stdbool.h>

/* A run that is in one of the files. */
struct merge_run {
    int64_t id;
    size_t input;
    bool failed;
    char result_hash[HASH_HEX_CHARS];
};

/* Files open for reading, and what is in them. */
struct merge {
    size_t n_inputs;
    struct database *inputs;
    size_t n_runs, capacity;
    struct merge_run *runs; /* by id, each once, those that ended */
};

/* Opens results files and lists their runs. All must belong to the study with this hash (NULL: to one and the same).
 * Returns 0, SIM_E_USAGE (files of several studies, one run with two hashes), SIM_E_STORE or SIM_E_NOMEM; merge_close may be called in either
 * case. */
int merge_open(struct merge *merge, const char *const *paths, size_t n_paths, const char *study_hash,
               struct diag *diag);

/* The same over a last file, of whose runs those that failed make way for others, and the steps of the study's search that
 * followed from them. */
int merge_open_over(struct merge *merge, const char *const *paths, size_t n_paths, const struct study *study,
                    struct diag *diag);

void merge_close(struct merge *merge);

/* The run of that id, or NULL. */
const struct merge_run *merge_find(const struct merge *merge, int64_t run_id);

/* A metric of a run; NAN when it has none. */
int merge_metric(const struct merge *merge, const struct merge_run *run, const char *name, double *value,
                 struct diag *diag);

/* Where the merged file is written. */
struct merge_target {
    const char *output;
    const char *part; /* a new file that becomes the output, of our own; NULL: one beside it, with a name that is free */
    bool replaces;    /* the output is there and makes way */
};

/* Writes everything to a new file, flushes it, and gives it the name of the output, which must be free unless the target
 * replaces it. Returns 0, SIM_E_STORE or SIM_E_NOMEM; then nothing is left of the new file. */
int merge_write(const struct merge *merge, const struct study *study, const struct merge_target *target,
                struct diag *diag);

#endif
