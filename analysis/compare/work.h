/* State that the parts of a comparison share while it is made. */
#ifndef ORRERY_ANALYSIS_COMPARE_WORK_H
#define ORRERY_ANALYSIS_COMPARE_WORK_H

#include "analysis/compare/compare.h"
#include "analysis/compare/runs.h"
#include "analysis/query.h"
#include "analysis/replicates.h"

/* The metrics of some runs: names in the dictionary's order, then others as they come. */
struct metric_set {
    size_t n, capacity;
    const char **names, **units;
    enum compare_direction *directions;
    size_t n_runs;
    double *values; /* of run i, metric m: values[i * n + m]; NAN: it has none */
    struct requests_seen {
        double arrived, rejected;
    } *requests; /* of run i */
};

/* The runs behind the rows. */
struct compared_runs {
    const struct compare_run *const *base, *const *changed;
    size_t n_base, n_changed;
};

struct compare_work {
    const struct compare_options *options;
    struct comparison *comparison;
    struct arena *arena; /* the comparison's */
    struct diag *diag;
    struct metric_set metrics;
    struct compared_runs runs; /* set before the rows are judged */
    struct replicates replicates; /* of groups */
    double *recorded; /* of run i, metric m, like metrics.values: of the recorded trace; NULL: no run has any */
    size_t row_capacity, remark_capacity;
};

/* Reads the metrics of runs that options->only selects. Returns 0, SIM_E_STORE, SIM_E_NOMEM, or SIM_E_USAGE if no
 * metric matches a name. */
int metrics_read(struct compare_work *work, const struct compare_run *const *runs, size_t n_runs);

/* The index of a metric in the set; its n if it has none of that name. */
size_t metrics_find(const struct metric_set *set, const char *name);

/* Reads the recorded values of the runs, for the metrics that were read. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int recorded_read(struct compare_work *work, const struct compare_run *const *runs, size_t n_runs);

/* Adds sentences about the recorded trace, when rows are judged. Returns 0 or SIM_E_NOMEM. */
int work_remark_recorded(struct compare_work *work);

/* Adds a row, zeroed, with NAN for unknown numbers. NULL: out of memory. */
struct compare_row *work_add_row(struct compare_work *work, size_t metric);

/* Adds the requests of run `base` to those of the base of a row, and those of run `changed`, both numbers in the
 * metric_set, to those of the other side. SIZE_MAX: no run. */
struct rejections {
    struct requests_seen sides[2];
};
void work_add_rejections(const struct compare_work *work, size_t base, size_t changed, struct rejections *sum);
void work_set_rejected(const struct rejections *sum, double rejected_frac[2]);

/* What trace_hash covers. */
#define COMPARE_INPUT_FILES "traces, or files of GPUs, LLMs, engines or calibrations"

/* Sets whether two runs that read different input files served the same requests: as many, as large, and at the same
 * times in each service. False where no rows were kept, and where there are jobs. Returns 0 or SIM_E_STORE. */
int runs_have_one_load(const struct compare_run *base, const struct compare_run *changed, bool *is_one,
                       struct diag *diag);

/* Adds a sentence. Returns 0 or SIM_E_NOMEM. */
int work_remark(struct compare_work *work, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a sentence for each parameter in which policies of the two runs differ by their defaults. Returns 0,
 * SIM_E_STORE or SIM_E_NOMEM. */
int work_remark_policies(struct compare_work *work, const struct compare_run *base, const struct compare_run *changed);

/* Adds sentences about changes of primary metrics within and beyond the error of the cost models, if all of work->runs
 * have intervals; when rows are judged. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int work_remark_model_error(struct compare_work *work);

/* Adds a sentence for each warning that more of work->runs have on one side than on the other, by its code and the
 * names in its text. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int work_remark_warned(struct compare_work *work);

/* Add the rows of one pair of runs, and of groups of runs. `keys`: the selected parameters. Return 0 or a negative
 * code. */
int compare_pair(struct compare_work *work, const struct compare_run *base, const struct compare_run *changed);
int compare_selected(struct compare_work *work, struct compare_group *base, struct compare_group *changed,
                     const struct selection_keys *keys);

/* --- The steady state of one pair of runs --- */

/* One value of all pairs that have it, in order of arrival; `scratch` has room for n values. */
struct series {
    size_t n;
    double *base, *changed, *delta, *scratch;
};

/* The part of a series after the warm-up of both runs (MSER-5), cut to whole batches. n is 0 if the warm-up does not
 * end. */
struct series steady_part(const struct series *all);

/* Sets the interval of the mean of `steady->delta` (q: NAN), or of the difference of the q-quantiles, by 20 batches.
 * Sets row->note instead if the part is worth too few independent values: 150 for a mean, and for a percentile also
 * 25 beyond it. tests/property/steady_verdicts.c measures the effect on false findings. Returns 0 or SIM_E_NOMEM. */
int steady_estimate(const struct compare_options *options, const struct series *steady, double q, struct arena *arena,
                    struct compare_row *row);

#endif
