/* Sinks that pass the rows of all tables to one function; and one that hashes the rows of runs whose rows nobody
 * keeps. */
#ifndef ORRERY_STORE_HASH_SINK_H
#define ORRERY_STORE_HASH_SINK_H

#include "sim/store/record.h"
#include "sim/store/results.h"
#include "sim/store/schema.h"
#include "sim/world/rows/sink.h"

/* The tables of a database behind one function that is given the table. */

/* Takes a row, the struct of sink.h of its table. Returns 0 or a negative code, which the sink returns. */
struct route {
    int (*put)(void *store, enum table_id table, const void *row);
    void *store;
};

/* A sink that passes every row to the route, which must outlive it. Rows that `keep` excludes have NULL members. */
struct sink route_sink(struct route *route, enum results_keep keep);

/* Hashes rows to the same result hash that a database would get. */

struct hash_sink {
    enum results_keep keep;
    struct route route;
    struct digest digest;
    struct block block; /* the current record */
};

int hash_sink_init(struct hash_sink *sink, enum results_keep keep); /* 0 or SIM_E_NOMEM */
void hash_sink_fini(struct hash_sink *sink);                        /* accepts a zeroed one */

/* The sink; `sink` must not move while rows come. */
struct sink hash_sink(struct hash_sink *sink);

/* Writes the hash of all rows so far. Returns 0 or SIM_E_NOMEM. */
int hash_sink_hex(const struct hash_sink *sink, char hex[HASH_HEX_CHARS]);

#endif
