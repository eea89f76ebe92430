/* Statistics of a trace, for generators to match and studies to state. Memory does not grow with the trace: counts,
 * means and CVs are exact. Quantiles and the rank correlation come from a random sample of TRACE_STAT_SAMPLE records,
 * which covers most public traces whole. */
#ifndef ORRERY_TRACES_STAT_H
#define ORRERY_TRACES_STAT_H

#include "sim/core/err.h"
#include "sim/world/rows/source.h"
#include "traces/arrivals.h"

#include <stddef.h>
#include <stdint.h>

enum { TRACE_STAT_SAMPLE = 1 << 17, TRACE_STAT_WINDOWS = 4, TRACE_STAT_QUANTILES = 7, TRACE_STAT_CLASSES = 256 };

/* Widths of the windows of `idc`, and the shares of `quantiles`. */
extern const double trace_stat_window_s[TRACE_STAT_WINDOWS];        /* 1, 10, 60, 300 */
extern const double trace_stat_quantile_frac[TRACE_STAT_QUANTILES]; /* .05 .25 .5 .75 .9 .95 .99 */

struct trace_quantity {
    double mean, cv, min, max;
    double quantiles[TRACE_STAT_QUANTILES]; /* smallest value not exceeded by at least this share */
};

struct trace_class_stat {
    char name[REQUEST_CLASS_CHARS + 1];
    int64_t n;
    int64_t prompt_tokens_sum, output_tokens_sum;
};

struct trace_type_stat {
    char name[REQUEST_CLASS_CHARS + 1];
    int64_t n;
    double gpu_s;
};

struct trace_stat {
    int64_t n;
    double first_s;            /* time of the first arrival */
    double span_s, rate_per_s; /* from the first arrival to the last; gaps per span */
    double gap_cv;
    double idc[TRACE_STAT_WINDOWS]; /* variance over mean of the arrivals in the whole windows; NAN below two of them */
    struct arrivals_found arrivals; /* over the span */
    struct trace_quantity prompt_tokens, output_tokens; /* requests */
    struct trace_quantity duration_s, gpus;             /* jobs; shares of a GPU count as fractions */
    double gpu_s;                                       /* jobs: sum of duration times GPUs */
    int64_t n_cpu_jobs;
    struct trace_status_stat {
        int64_t n;
        double gpu_s;
    } statuses[JOB_FAILS + 1]; /* by enum job_status */
    int64_t prompt_tokens_sum, output_tokens_sum; /* requests */
    double rank_correlation; /* Spearman's, of prompt and output or of duration and GPUs; NAN when one is constant */
    size_t n_types;          /* of jobs; 0: jobs without types */
    struct trace_type_stat types[TRACE_STAT_CLASSES]; /* the first ones, by appearance */
    size_t n_classes;        /* 0: requests without classes */
    struct trace_class_stat classes[TRACE_STAT_CLASSES]; /* the first ones, by appearance */
};

/* Read the source to its end. Return 0, what the source returned, or SIM_E_NOMEM. */
int trace_stat_requests(struct request_source *source, struct trace_stat *stat, struct diag *diag);
int trace_stat_jobs(struct job_source *source, struct trace_stat *stat, struct diag *diag);

#endif
