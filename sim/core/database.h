/* An SQLite file and its errors: opening it with checks that say what is wrong, and every failure of SQLite turned
 * into a finding with the path, what SQLite said, and a hint.
 *
 * Commits are safe against the death of the process from the start, and against the loss of power as soon as there
 * is something to lose: a new file, and its name in the directory, are not flushed to the disk before its first run is
 * complete.
 *
 * Whoever writes keeps SQLite's lock from opening to closing, between transactions too, so nobody else writes to the
 * file meanwhile. A file is removed only under that lock, and whoever then gets the lock on it creates a new one. */
#ifndef ORRERY_CORE_DATABASE_H
#define ORRERY_CORE_DATABASE_H

#include "sim/core/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* PRAGMA application_id ("Orry") and user_version of the files we write. The version changes with the tables, and
 * when a metric gets another meaning. */
enum { DATABASE_APPLICATION_ID = 0x4f727279, DATABASE_VERSION = 7 };

struct database {
    sqlite3 *handle;
    char *path;
    bool reading;
    bool created; /* the file did not exist before */
    bool owned;   /* nor did anybody else lock it first: all that is in it was written here */
    dev_t device; /* of a file that was created: which one it was */
    ino_t inode;
    int64_t most_pages; /* of the file, by --results-limit; 0: any number */
    double limit_bytes; /* of that option */
};

/* Opens an existing file for reading, or (create) an existing or new one for writing. In both cases it is a results
 * database of our schema version afterwards (the statements `create_sql`, ended by NULL, make the tables of an empty
 * one); a file opened for writing is locked: a transaction is open on it. Returns 0, SIM_E_STORE or SIM_E_NOMEM; then
 * nothing is open, and a file that was created is gone again, unless another process writes to it. */
int database_open_write(struct database *database, const char *path, const char *const *create_sql, int busy_ms,
                        struct diag *diag);
int database_open_read(struct database *database, const char *path, struct diag *diag);

/* The same for writing, of a new file: what an earlier call left at the path is removed. Also SIM_E_IO. */
int database_open_anew(struct database *database, const char *path, const char *const *create_sql, struct diag *diag);

/* Whether a file has no tables: nothing was ever stored in it, or a process died while it created them.
 * False for a file that cannot be read: whoever opens it says why. */
bool database_is_empty(const char *path);

/* Fails if the file has lost its name since it was opened: its rows would be lost. Returns 0
 * or SIM_E_STORE. */
int database_check_name(const struct database *database, const char *what, struct diag *diag);

/* Flushes a file that was created, and its directory entry, to the disk, and from now on flushes at every commit, as
 * for a file that existed before. Returns 0 or SIM_E_STORE. */
int database_make_durable(const struct database *database, const char *what, struct diag *diag);

/* Takes over a file open for writing from a process that created it and died: as if it had been created here. */
void database_adopt(struct database *database);

/* Rolls back what is not committed and closes. With `remove`, a file that was created is removed, unless another
 * process writes to it or the name is now that of another file. */
void database_close(struct database *database, bool remove);

/* Adds the finding "cannot WHAT: what SQLite said" about the latest call that failed. Returns SIM_E_STORE or
 * SIM_E_NOMEM. */
int database_error(const struct database *database, const char *what, struct diag *diag);

/* Runs statements without results; `what` they are for goes into the finding. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int database_run(const struct database *database, const char *sql, const char *what, struct diag *diag);

/* Takes the first statement of `sql`. The caller ends it with sqlite3_finalize. */
int database_prepare(const struct database *database, const char *sql, sqlite3_stmt **statement, const char *what,
                     struct diag *diag);

/* The first column of the first row of a query, 0 when there is none. */
int database_integer(const struct database *database, const char *sql, int64_t *value, const char *what,
                     struct diag *diag);

#endif
