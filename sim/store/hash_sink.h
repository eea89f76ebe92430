/* Sinks that take the rows of all tables by one function, and one of them: for runs whose rows nobody keeps, it hashes them. */
#ifndef ORRERY_STORE_HASH_SINK_H
#define ORRERY_STORE_HASH_SINK_H

#include "sim/store/record.h"
#include "sim/store/results.h"
#include "sim/store/schema.h"
#include "sim/world/rows/sink.h"

/* The kinds of rows of a sink that a database keeps as one: a function that is told which table a row is of. */

/* Takes a row, a struct of sink.h, of a table. Returns 0 or the code that the sink returns. */
struct route {
    int (*put)(void *store, enum table_id table, const void *row);
    void *store;
};

/* A sink of which every row goes the route, which must outlive it. Rows that are not kept have NULL members. */
struct sink route_sink(struct route *route, enum results_keep keep);

/* A sink for runs whose rows nobody keeps: it hashes them, to the same result hash that a database would get. */

struct hash_sink {
    enum results_keep keep;
    struct route route;
    struct digest digest;
    struct block block; /* holds the record of the row in hand */
};

int hash_sink_init(struct hash_sink *sink, enum results_keep keep); /* 0 or SIM_E_NOMEM */
void hash_sink_fini(struct hash_sink *sink);                        /* also of a zeroed one */

/* Where the rows go; it must stay where it is while they come. */
struct sink hash_sink(struct hash_sink *sink);

/* The hash of all rows so far. Returns 0 or SIM_E_NOMEM. */
int hash_sink_hex(const struct hash_sink *sink, char hex[HASH_HEX_CHARS]);

#endif
