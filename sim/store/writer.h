/* Puts rows into the database and hashes them: in a thread of its own behind a ring of blocks, or, inline, in the
 * caller's thread whenever a block is full. Both ways the same rows go in with the same statements in the same
 * order, so the database is the same, byte for byte. While a threaded writer runs, the connection belongs to its
 * thread. */
#ifndef ORRERY_STORE_WRITER_H
#define ORRERY_STORE_WRITER_H

#include "sim/core/database.h"
#include "sim/store/digest.h"
#include "sim/store/feed.h"
#include "sim/store/ring.h"

#include <pthread.h>
#include <stdatomic.h>

struct writer {
    const struct database *database;
    struct feed feeds[TABLE_COUNT];
    sqlite3_stmt *inserts[TABLE_COUNT];
    struct digest digest; /* of the rows written so far */
    struct ring ring;
    bool wants_thread, has_thread;
    pthread_t thread;
    atomic_int code;  /* the first failure, 0 until then */
    struct diag diag; /* about it */
    int refused;      /* code of a row that could not even be taken */
};

/* Prepares the statements on a database that is open for writing. writer_fini comes before the database is closed, and
 * may be called after a failure. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int writer_init(struct writer *writer, const struct database *database, bool wants_thread, struct diag *diag);
void writer_fini(struct writer *writer);

/* Starts on a run. Without a thread to be had it writes inline. */
void writer_start(struct writer *writer, int64_t run_id);

/* Takes a row. Returns 0, or the code of an earlier failure: rows already taken may fail later. */
int writer_put(struct writer *writer, enum table_id table, const void *row);

/* Writes what is left and gives the connection back. Returns 0 or the first failure, with its finding. */
int writer_finish(struct writer *writer, struct diag *diag);

#endif
