/* The metrics and warnings of a run, collected beside the results for the terminal. */
#ifndef ORRERY_CLI_RUN_SUMMARY_H
#define ORRERY_CLI_RUN_SUMMARY_H

#include "analysis/report/subject.h"
#include "analysis/report/verdict.h"
#include "sim/cli/answer.h"
#include "sim/core/intervals.h"
#include "sim/core/mem.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct summary_warning {
    struct summary_warning *next;
    struct warning_row row;
};

enum { SUMMARY_MAX_SERVICES = 16 };

/* The waits in one service. */
struct summary_queue {
    const char *service;
    struct trend *trend;
};

/* An unfinished job, and the time for which it has held its GPUs, all of them. */
struct unended_job {
    double submit_s, held_s;
};

/* Must not move while its sink is in use. */
struct summary {
    struct arena arena;
    size_t n_services; /* with rows; those beyond the maximum are not watched */
    struct summary_queue services[SUMMARY_MAX_SERVICES];
    struct trend *jobs; /* NULL: no rows */
    struct verdict_submissions submissions;
    struct unended_job *unended; /* jobs that are unfinished at the end of the run */
    size_t n_unended, unended_capacity;
    size_t n_metrics, capacity;
    struct metric_row *metrics; /* in order of arrival; summary_print sorts them */
    struct summary_warning *first_warning, **last_warning;
    struct run_intervals intervals; /* by the error of the cost models; empty: none */
};

/* The head of the report. */
struct summary_run {
    const struct subject *subject; /* what ran */
    const char *version, *scenario, *status;
    const char *oracle; /* knowledge that no real system has, as stored */
    double warmup_s;
    bool is_verbose;
    int64_t seed;
    const char *result_hash;
};

void summary_init(struct summary *summary);
void summary_fini(struct summary *summary);

/* `takes_rows`: the run's rows are kept. A run whose rows nobody takes emits others instead. */
struct sink summary_sink(struct summary *summary, bool takes_rows);

/* Prints what ran, a line about the run, a table of distributions with a column per quantile, a line for each group of
 * metrics, and warnings: those that it caught and those of analysis/report/caution.h. A verbose summary has all
 * metrics, single values in a table of their own. For programs: JSON, or the metrics as CSV and the warnings to `err`.
 * Equal runs print equal texts. Returns 0 or SIM_E_NOMEM. */
int summary_print(struct summary *summary, const struct summary_run *run, enum answer_form form, FILE *out, FILE *err,
                  struct diag *diag);

#endif
