/* The data of a report's pages, and the two kinds of pages. */
#ifndef ORRERY_ANALYSIS_REPORT_SOURCE_H
#define ORRERY_ANALYSIS_REPORT_SOURCE_H

#include "analysis/intervals.h"
#include "analysis/query.h"
#include "analysis/report/page.h"
#include "analysis/report/report.h"
#include "analysis/report/subject.h"

/* NULL texts in the file are empty here. */
struct report_run {
    int64_t id, seed;
    double extrapolated_frac; /* NAN: unknown */
    const char *name, *version, *git_commit, *scenario, *scenario_hash, *trace_hash, *policies, *oracle, *platform;
    const char *status, *result_hash;
};

struct report_value {
    const char *name, *unit;
    double value;
};

struct report_values {
    size_t n;
    struct report_value *rows; /* in order of their names */
};

struct report_source {
    const struct database *database;
    struct arena *arena;
    struct diag *diag;
    const struct report_options *options;
    struct report_run run;
    struct report_values metrics;
    struct run_intervals intervals; /* by the error of the cost models */
    double end_s, warmup_s; /* NAN: unknown; 0 when there is none */
    struct subject subject; /* what ran */
    size_t n_events;        /* incidents, which charts over time mark */
    const struct plot_events *events;
};

/* Runs query->sql (NULL: out of memory) and sets query->n_rows. `what` names the purpose in findings. source_each calls
 * `row` for each row instead of keeping them (query.h). Return 0, SIM_E_STORE or SIM_E_NOMEM. */
int source_query(const struct report_source *source, struct page_query *query, const char *what,
                 struct query_answer *answer);
int source_each(const struct report_source *source, struct page_query *query, const char *what,
                int (*row)(void *context, sqlite3_stmt *statement), void *context);

/* The value of a metric, NAN when the run has none of that name. */
double source_metric(const struct report_source *source, const char *name);

/* Its entry in the dictionary, or NULL. */
const struct report_metric *source_define(const struct report_options *options, const char *name);

/* Adds the page of the run that the source holds, and sets the events of the source; `n_runs`: runs in the file.
 * Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int run_page(struct report_source *source, size_t n_runs, struct text *html);

/* Adds the page of a study: runs that differ in the varied keys and in their seeds. Returns 0, SIM_E_STORE,
 * SIM_E_USAGE (no run has a requested metric) or SIM_E_NOMEM. */
int study_page(const struct report_source *source, struct text *html);

#endif
