/* A listing of `orrery list` under construction, and those whose rows are files of configs. */
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

/* Each makes the table of a listing. Returns 0 or a negative code with findings. */
int list_clusters(struct listing *list);
int list_scenarios(struct listing *list);
int list_studies(struct listing *list);

#endif
