/* The requests, or the jobs, of two runs of one trace, paired by service and id. */
#ifndef ORRERY_ANALYSIS_COMPARE_PAIRED_H
#define ORRERY_ANALYSIS_COMPARE_PAIRED_H

#include "analysis/compare/runs.h"

enum { PAIRED_MAX_VALUES = 5 };

/* What is paired, and the metrics that its values make: NAME.mean, NAME.p50 and so on. */
struct paired_kind {
    const char *what; /* "requests" */
    const char *sql;  /* service, id, size, arrival, finished, values...; in order of service and id */
    size_t n_values;
    const char *metrics[PAIRED_MAX_VALUES];
};

extern const struct paired_kind paired_requests, paired_jobs;

struct paired_row {
    const char *service;
    int64_t id;
    double arrival_s;                                           /* in the base run */
    double base[PAIRED_MAX_VALUES], changed[PAIRED_MAX_VALUES]; /* NAN: has none */
};

/* Rows that finished in both runs and arrived after both warm-ups, in order of arrival. */
struct paired {
    const struct paired_kind *kind;
    size_t n, capacity;
    struct paired_row *rows;
    size_t n_only_base, n_only_changed; /* ids in one run only */
    size_t n_others;                    /* equal id, other size: the runs saw different traces */
    size_t n_ended_base, n_ended_changed; /* finished in that run only */
    size_t n_moved;                     /* arrived at different times: closed loops, another rate */
};

/* Returns 0, SIM_E_STORE or SIM_E_NOMEM; paired_fini is due in any case. */
int paired_read(const struct paired_kind *kind, const struct compare_run *base, const struct compare_run *changed,
                struct arena *arena, struct paired *paired, struct diag *diag);
void paired_fini(struct paired *paired);

#endif
