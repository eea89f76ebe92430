/* The directory OUTPUT.shards: the finished runs of a sweep. Each worker writes a file of its own in it. The file
 * "sweep" names the study and the program, and is locked while a process works on them. */
#ifndef ORRERY_STUDY_SHARDS_H
#define ORRERY_STUDY_SHARDS_H

#include "sim/study/merge.h"
#include "sim/study/sweep.h"

struct shards {
    struct arena arena;
    const char *directory;
    int lock; /* a file descriptor, inherited by workers; -1: none */
    const char *earlier; /* results of the whole study in which runs failed, to be run again; NULL: none */
};

/* Makes the directory, or with `resume` takes an existing one, and locks it. Returns 0, SIM_E_USAGE (it exists,
 * belongs to another study or program, or is in use), SIM_E_STORE or SIM_E_NOMEM; shards_close may follow in either
 * case. */
int shards_open(struct shards *shards, const struct study *study, const struct sweep_options *options,
                const struct sweep_runner *runner, struct diag *diag);

/* Releases the lock. */
void shards_close(struct shards *shards);

enum { SHARD_OF_PARENT = 1000000 }; /* number of rank 0's shard, then those of the other ranks; no worker has it */

/* Opens worker i's file for writing. */
int shards_open_results(const struct shards *shards, const struct study *study, size_t i, struct results **results,
                        struct diag *diag);

/* Removes failed runs, so that they run again, with the search steps that followed from them, and runs that a killed
 * process left open. Runs that did not fit are removed too: they have no hash of their inputs to check. */
int shards_clean(const struct shards *shards, const struct study *study, struct diag *diag);

/* The size of all files, with those of an earlier sweep. */
double shards_bytes(const struct shards *shards);

/* The size of worker i's file; 0 if there is none. */
double shards_bytes_of(const struct shards *shards, size_t i);

/* Opens all files for reading, with those of an earlier sweep, from which failed runs are dropped as by
 * shards_clean. */
int shards_read(const struct shards *shards, const struct study *study, struct merge *merge, struct diag *diag);

/* Opens the files of workers first .. first + n - 1. */
int shards_read_some(const struct shards *shards, const struct study *study, size_t first, size_t n,
                     struct merge *merge, struct diag *diag);

/* Removes the directory and its files. */
void shards_remove(struct shards *shards);

#endif
