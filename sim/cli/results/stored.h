/* A results database as the verbs runs and plot read it: its runs, the axes of its study, and metrics. */
#ifndef ORRERY_CLI_RESULTS_STORED_H
#define ORRERY_CLI_RESULTS_STORED_H

#include "analysis/report/study.h"
#include "sim/cli/cli.h"

struct stored {
    struct arena arena;
    struct database database;
    struct report_options options;
    struct report_source source;
    struct study study;
};

/* Opens a file, named without a run. stored_close is due if it returns 0; else SIM_E_USAGE, SIM_E_STORE or
 * SIM_E_NOMEM. */
int stored_open(struct cli *cli, const char *name, struct stored *stored);
void stored_close(struct stored *stored);

/* Reads the study with these metrics; none: those that a report shows. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int stored_read(struct stored *stored, const char *const *metrics, size_t n_metrics);

/* The metric of that name in the file, or the only one that ends in ".word". In the arena; NULL with a finding and did-
 * you-mean. */
const char *stored_metric(struct cli *cli, struct stored *stored, const char *word);

/* The axis with that key, or the only one whose key ends in ".word". Returns its index, or -1 with a finding. */
int stored_axis(struct cli *cli, const struct stored *stored, const char *word);

#endif
