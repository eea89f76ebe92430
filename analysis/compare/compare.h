/* Two runs, or two groups of runs, side by side: each metric's change, its uncertainty, and a verdict in one word.
 *
 * One pair of runs: requests and jobs are paired by service and id, since both runs saw the same trace. Intervals are
 * over the requests of this trace and say nothing about other seeds. Several pairs: runs are paired by seed and by
 * everything else that their study varied. Intervals are over seeds.
 *
 * The verdict follows from the interval of the difference (changed - base) at `level`, from the relevance margin
 * (`margin_frac` of the base value), and from the p-value after Holm's correction. A primary metric is corrected for
 * the primary metrics, any other one for all metrics; changes at single points in the same way for all points:
 *     same     nothing moved at all, or the whole interval lies within the margin
 *     better   zero is outside the interval, and the corrected p-value is below 1 - level; and the direction is known
 *     worse    as `better`, in the other direction; `differs` where a metric has no direction
 *     differs  also a gain of time, energy or cost in runs that reject a larger share of their requests: their values
 *              are of the other requests, or of less work
 *     unclear  anything else: the interval holds zero and reaches beyond the margin, or there is no interval */
#ifndef ORRERY_ANALYSIS_COMPARE_COMPARE_H
#define ORRERY_ANALYSIS_COMPARE_COMPARE_H

#include "analysis/stats/importance.h"
#include "analysis/stats/stats.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum compare_direction { COMPARE_NEUTRAL, COMPARE_LOWER, COMPARE_HIGHER }; /* which is better */

enum compare_verdict { COMPARE_UNCLEAR, COMPARE_SAME, COMPARE_BETTER, COMPARE_WORSE, COMPARE_DIFFERS };

/* The method behind an interval. */
enum compare_method {
    COMPARE_SINGLE,      /* none: one value against one */
    COMPARE_BOOTSTRAP,   /* bootstrap over pairs of requests or jobs */
    COMPARE_T_REQUESTS,  /* Student's t over fewer than 20 such pairs */
    COMPARE_BATCH_MEANS, /* batch means of the differences in order of arrival, after the warm-up */
    COMPARE_T_SEEDS,     /* Student's t over pairs of runs with equal seeds */
    COMPARE_WELCH,       /* Welch's t over runs that do not pair */
    COMPARE_REPLICATES   /* spread of pairs of runs whose traces are bootstrap replicates of one trace */
};

/* A metric of the caller's dictionary. */
struct compare_metric {
    const char *name;
    enum compare_direction direction;
};

struct compare_options {
    const struct compare_metric *dictionary; /* ended by a zero entry: order and direction of metrics */
    const char *const *only;  /* names of metrics or dotted parts of them, NULL-terminated; NULL: all */
    const char *const *ranked; /* the first COMPARE_PRIMARY of these names that the runs have are the primary metrics;
                                  NULL-terminated; NULL, or if they have none: all metrics are primary */
    double level;             /* 0.95 */
    double margin_frac;       /* 0.01: differences below 1 % of the base value do not matter */
    bool steady;              /* claims about the steady state: MSER-5 and batch means */
    int resamples;            /* 2000 */
    uint64_t seed;            /* of the resampling */
};

enum { COMPARE_PRIMARY = METRICS_SHOWN };

/* One metric, over all pairs or at one point of the study. */
struct compare_row {
    const char *metric, *unit;
    const char *point; /* "key=value, ..." of the other varied keys; NULL: over all points */
    enum compare_direction direction;
    bool is_primary;
    enum compare_method method;
    size_t n;              /* number of pairs; for batch means, of batches */
    double base, changed;  /* mean, or percentile, over the pairs */
    double base_run, changed_run; /* the metrics of the two runs, over all requests or jobs; NAN: not for this method */
    struct interval delta; /* of changed - base; low and high NAN: no interval */
    double ratio_low, ratio_high; /* interval of changed / base from each pair's own ratio; NAN: from delta and base */
    double p;              /* two-sided, after Holm's correction; NAN: not tested */
    size_t n_tests;        /* number of tests that `p` is corrected for */
    double recorded_base, recorded_changed; /* of the trace that the seeds replicate, as it was recorded; NAN: none */
    double worse_frac;     /* share of the pairs that got worse; NAN: no direction, or not a mean */
    double rejected_frac[2]; /* of the requests of the runs behind the row, base and changed; 0: none arrive */
    enum compare_verdict verdict;
    const char *note; /* why there is no interval or no verdict; NULL: nothing to add */
};

/* A request or job that got worse. */
struct compare_regression {
    const char *metric, *service; /* service: empty for jobs */
    int64_t id;
    double base, changed;
};

enum { COMPARE_WORST = 10 };

/* All texts and arrays live in its arena. */
struct comparison {
    struct arena arena;
    const char *base, *changed; /* "results.db:1 (name)", or a selection of runs */
    size_t n_pairs;             /* pairs of runs; 0: the runs do not pair (Welch) */
    size_t n_unpaired;          /* runs left out because nothing pairs with them */
    size_t n_unfinished_runs;   /* runs left out because they did not end */
    size_t n_paired_rows, n_unpaired_rows; /* requests and jobs, of one pair of runs */
    double rejected_frac[2]; /* of the requests of all runs, base and changed */
    size_t n_rows;
    struct compare_row *rows; /* per metric in the dictionary's order: over all, then by point */
    size_t n_worst;
    struct compare_regression *worst; /* per metric of requests and jobs at most COMPARE_WORST, worst first */
    size_t n_remarks;
    const char **remarks; /* sentences: the meaning of the intervals, what was left out, caveats */
};

/* A run of a results database. */
struct compare_source {
    const char *path;
    int64_t run_id; /* 0: the last one */
};

/* Compares two runs. comparison_fini is due whatever is returned: 0, SIM_E_STORE, SIM_E_NOMEM, or SIM_E_DATA if
 * nothing pairs. */
int compare_runs(const struct compare_source *base, const struct compare_source *changed,
                 const struct compare_options *options, struct comparison *comparison, struct diag *diag);

/* Compares two groups of runs, each selected by "key=value,...". A key is a parameter of the study, or the only
 * parameter that ends in ".key"; or seed, run, name, policies (one that is in force); or a member of the resolved
 * scenario ("services.chat.replicas"; for a policy the member that holds it), or the only member that ends in
 * ".key". `base` and `changed` NULL: all runs of the files. Returns as compare_runs, and SIM_E_USAGE if a selection
 * is malformed or selects nothing. */
int compare_groups(const char *base_path, const char *base, const char *changed_path, const char *changed,
                   const struct compare_options *options, struct comparison *comparison, struct diag *diag);

void comparison_fini(struct comparison *comparison);

/* The ends of a row's interval as differences from the base: from the ratios of the pairs where these have an
 * interval. NAN: none. */
void compare_ends(const struct compare_row *row, double *low, double *high);

const char *compare_verdict_name(enum compare_verdict verdict); /* "better" */
const char *compare_method_name(enum compare_method method);    /* "bootstrap" */

#endif
