/* What the listings of `orrery list` share, and those of engines and measured kernels. */
#ifndef ORRERY_CLI_LISTING_H
#define ORRERY_CLI_LISTING_H

#include "sim/catalog/catalog.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"

/* A listing under construction. */
struct listing {
    struct cli *cli;
    struct arena arena;
    struct catalog catalog;
    enum answer_form form;
    const char *only; /* the family or the beginning of the names to list; "": all */
    struct answer_table table;
};

#define COLUMNS(list, columns) TABLE_INIT(&(list)->table, columns)

typedef int (*listing_names_fn)(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                                struct diag *diag);

/* Adds the rows of each entry of a catalog folder. Returns the code of the first that fails. */
int listing_add_each(struct listing *list, listing_names_fn list_names,
                     int (*add)(struct listing *list, const char *name));

/* Serving engines: their kernels, libraries, CPU overheads and errors. */
int listing_engines(struct listing *list);

/* The measured kernels of each GPU and set, by the library that they were measured with. */
int listing_kernels(struct listing *list);

#endif
