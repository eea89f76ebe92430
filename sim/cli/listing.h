/* A listing of `orrery list` under construction, and the listings that have a source file of their own. */
#ifndef ORRERY_CLI_LISTING_H
#define ORRERY_CLI_LISTING_H

#include "sim/catalog/catalog.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"

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
int list_engines(struct listing *list);

/* The measured kernels of each GPU and set, by the library that they were measured with. */
int list_kernels(struct listing *list);

/* Each makes the table of a listing. Returns 0 or a negative code with findings. */
int list_clusters(struct listing *list);
int list_scenarios(struct listing *list);
int list_studies(struct listing *list);

#endif
