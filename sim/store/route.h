/* The kinds of rows of a sink that a database keeps as one: a function that is told which table a row is of. */
#ifndef ORRERY_STORE_ROUTE_H
#define ORRERY_STORE_ROUTE_H

#include "sim/store/results.h"
#include "sim/store/schema.h"
#include "sim/world/rows/sink.h"

/* Takes a row, a struct of sink.h, of a table. Returns 0 or the code that the sink returns. */
struct route {
    int (*put)(void *store, enum table_id table, const void *row);
    void *store;
};

/* A sink of which every row goes the route, which must outlive it. Rows that are not kept have NULL members. */
struct sink route_sink(struct route *route, enum results_keep keep);

#endif
