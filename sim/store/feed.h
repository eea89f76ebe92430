/* A block of records as a table that SQLite can read: "INSERT INTO request SELECT * FROM new_request" then puts all
 * requests of the block into the database in one statement, without binding a parameter. tests/bench/store.c measures
 * this against a prepared statement per row. */
#ifndef ORRERY_STORE_FEED_H
#define ORRERY_STORE_FEED_H

#include "sim/store/record.h"

#include <sqlite3.h>

/* One row table's view of the block that is being drained. */
struct feed {
    enum table_id table;
    int64_t run_id;            /* the first column */
    const struct block *block; /* records of other tables in it are passed over */
};

/* Makes the feed known to the connection as new_TABLE. It must outlive the connection. Returns an SQLite code. */
int feed_register(sqlite3 *db, struct feed *feed);

#endif
