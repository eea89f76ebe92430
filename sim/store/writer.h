/* Writes rows into the database and hashes them: in its own thread behind a ring of blocks, or inline, in the
 * caller's thread whenever a block is full. Both ways the same rows go in with the same statements in the same
 * order, so the database is the same, byte for byte. While a threaded writer runs, the connection belongs to its
 * thread. */
#ifndef ORRERY_STORE_WRITER_H
#define ORRERY_STORE_WRITER_H

#include "sim/core/database.h"
#include "sim/store/record.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A bounded ring of blocks between one thread that fills and one that drains. The filler waits while every block is
 * full: memory does not grow with a slow disk. */
enum { RING_MAX_BLOCKS = 8 };

struct ring {
    struct block blocks[RING_MAX_BLOCKS];
    unsigned n_blocks;
    unsigned n_filled, n_drained; /* blocks handed over and taken back since the start */
    bool closed;
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
};

/* The current block as a table that SQLite can read, with the rows of one row table. "INSERT INTO request SELECT *
 * FROM new_request" inserts all requests of the block by one statement, without binding a parameter.
 * tests/bench/store.c measures this against a prepared statement per row. */
struct feed {
    enum table_id table;
    int64_t run_id;            /* value of the first column */
    const struct block *block; /* records of other tables are skipped */
};

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
    int refused;      /* code of a row that could not be packed */
};

/* Prepares the statements on a database open for writing. writer_fini is due before the database is closed, also
 * after a failure. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int writer_init(struct writer *writer, const struct database *database, bool wants_thread, struct diag *diag);
void writer_fini(struct writer *writer);

/* Starts a run. Writes inline if no thread can be created. */
void writer_start(struct writer *writer, int64_t run_id);

/* Takes a row. Returns 0, or the code of an earlier failure: rows already taken may still fail. */
int writer_put(struct writer *writer, enum table_id table, const void *row);

/* Writes the remaining rows and returns the connection. Returns 0 or the first failure, with its finding. */
int writer_finish(struct writer *writer, struct diag *diag);

#endif
