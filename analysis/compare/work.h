/* State that the parts of a comparison share while it is made. */
#ifndef ORRERY_ANALYSIS_COMPARE_WORK_H
#define ORRERY_ANALYSIS_COMPARE_WORK_H

#include "analysis/compare/compare.h"
#include "analysis/compare/runs.h"

/* The metrics of some runs: names in the dictionary's order, then others as they come. */
struct metric_set {
    size_t n, capacity;
    const char **names, **units;
    enum compare_direction *directions;
    size_t n_runs;
    double *values; /* of run i, metric m: values[i * n + m]; NAN: it has none */
};

struct compare_work {
    const struct compare_options *options;
    struct comparison *comparison;
    struct arena *arena; /* the comparison's */
    struct diag *diag;
    struct metric_set metrics;
    size_t row_capacity, remark_capacity;
};

/* Reads the metrics of runs that options->only selects. Returns 0, SIM_E_STORE, SIM_E_NOMEM, or SIM_E_USAGE if no
 * metric matches a name. */
int metrics_read(struct compare_work *work, const struct compare_run *const *runs, size_t n_runs);

/* Adds a row, zeroed, with NAN for unknown numbers. NULL: out of memory. */
struct compare_row *work_add_row(struct compare_work *work, size_t metric);

/* Adds a sentence. Returns 0 or SIM_E_NOMEM. */
int work_remark(struct compare_work *work, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Corrects the p-values of all rows together and gives each its verdict. Returns 0 or SIM_E_NOMEM. */
int work_judge(struct compare_work *work);

/* Add the rows of one pair of runs, and of groups of runs. `keys`: the selected parameters. Return 0 or a negative
 * code. */
int compare_pair(struct compare_work *work, const struct compare_run *base, const struct compare_run *changed);
int compare_selected(struct compare_work *work, struct compare_group *base, struct compare_group *changed,
                     const struct selection_keys *keys);

#endif
