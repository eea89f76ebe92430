/* The metrics and warnings of a run, collected beside the results for the terminal. */
#ifndef ORRERY_CLI_RUN_SUMMARY_H
#define ORRERY_CLI_RUN_SUMMARY_H

#include "sim/cli/answer.h"
#include "sim/core/mem.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct summary_warning {
    struct summary_warning *next;
    struct warning_row row;
};

/* Must not move while its sink is in use. */
struct summary {
    struct arena arena;
    size_t n_metrics, capacity;
    struct metric_row *metrics; /* in order of arrival */
    struct summary_warning *first_warning, **last_warning;
};

/* The head of the report. */
struct summary_run {
    const char *version, *scenario, *status;
    int64_t seed;
    const char *result_hash;
};

void summary_init(struct summary *summary);
void summary_fini(struct summary *summary);
struct sink summary_sink(struct summary *summary);

/* Prints a line about the run, a table of distributions with a column per quantile, a table of single values, and
 * warnings; or their data: JSON, or the metrics as CSV and the warnings to `err`. Equal runs print equal texts. Returns
 * 0 or SIM_E_NOMEM. */
int summary_print(const struct summary *summary, const struct summary_run *run, enum answer_form form, FILE *out,
                  FILE *err, struct diag *diag);

#endif
