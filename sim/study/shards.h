/* The directory OUTPUT.shards: what a sweep has finished so far. Each worker writes a file of its own in it; the file "sweep"
 * says which study and which program they belong to, and is locked as long as a process works on them. */
#ifndef ORRERY_STUDY_SHARDS_H
#define ORRERY_STUDY_SHARDS_H

#include "sim/study/merge.h"
#include "sim/study/sweep.h"

struct shards {
    struct arena arena;
    const char *directory;
    int lock; /* a file descriptor, inherited by workers; -1: none */
    const char *earlier; /* results of the whole study in which runs failed, which are done again; NULL: none */
};

/* Makes the directory, or with `resume` takes one that is there, and locks it. Returns 0, SIM_E_USAGE (it is there
 * already, belongs to another study or program, or is in use), SIM_E_STORE or SIM_E_NOMEM. shards_close may be called in
 * either case. */
int shards_open(struct shards *shards, const struct study *study, const struct sweep_options *options,
                const struct sweep_runner *runner, struct diag *diag);

/* Gives up the lock. */
void shards_close(struct shards *shards);

enum { SHARD_OF_PARENT = 1000000 }; /* of rank 0, and those of the other ranks behind it; no worker's number */

/* Opens worker i's file for writing. */
int shards_open_results(const struct shards *shards, const struct study *study, size_t i, struct results **results,
                        struct diag *diag);

/* Takes out the runs that failed, so that they are done again, with the steps of a search that followed from them, and what
 * a process that died left open. */
int shards_clean(const struct shards *shards, const struct study *study, struct diag *diag);

/* Opens all files for reading, those of a sweep before too, of which the runs that failed are left out as by shards_clean. */
int shards_read(const struct shards *shards, const struct study *study, struct merge *merge, struct diag *diag);

/* Opens the files of workers first .. first + n - 1. */
int shards_read_some(const struct shards *shards, const struct study *study, size_t first, size_t n,
                     struct merge *merge, struct diag *diag);

/* Where the results are merged before they take their name; what a process that died left there is removed. In the arena
 * of the shards; NULL when out of memory. */
const char *shards_merged_path(struct shards *shards);

/* Removes the directory with all that is in it. */
void shards_remove(struct shards *shards);

#endif
