/* The study of a report: runs that differ in the varied keys (its axes) and in their seeds. Runs with equal values
 * are one point, whose metrics have means and, from two seeds on, 95 % t-intervals. If the seeds replicate one trace by
 * a block bootstrap, the interval is the spread of the replicates. Runs of a point with equal results count once: their
 * seeds have no effect and are no repetitions. */
#ifndef ORRERY_ANALYSIS_REPORT_STUDY_H
#define ORRERY_ANALYSIS_REPORT_STUDY_H

#include "analysis/replicates.h"
#include "analysis/report/page.h"
#include "analysis/report/source.h"
#include "analysis/stats/stats.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stdint.h>

enum { STUDY_MAX_AXES = 16, STUDY_MAX_METRICS = 8, STUDY_DEFAULT_METRICS = 4 };

struct study_axis {
    const char *key, *name; /* name: the study's, else the shortest distinct end of the key */
    size_t n;
    const char **values; /* in order of the runs, as tables show them */
    double *numbers;     /* of the values, in SI; NULL: words */
    enum unit_dim dim;   /* of the numbers */
};

struct study_metric {
    const char *name, *unit;
    const char *heading; /* of its column: the name, or of changes "NAME change %" */
    enum report_direction direction;
    bool is_zero_base; /* of changes: at some point the mean of the base is 0, which gives no percent */
};

struct study_run {
    int64_t id;
    const char *name, *status;
    double seed;
    const char *result_hash;
    size_t point;
    bool is_copy; /* an earlier run of its point has the same result: the seed has no effect */
    double values[STUDY_MAX_METRICS]; /* NAN: none */
};

struct study_point {
    size_t levels[STUDY_MAX_AXES]; /* indices into the axes' values */
    size_t n_runs;                 /* runs with any of the metrics, without copies */
    size_t n_unfit;                /* runs that did not fit */
    struct interval metrics[STUDY_MAX_METRICS];
    double recorded[STUDY_MAX_METRICS]; /* of the trace that the seeds replicate, as it was recorded; NAN: none */
};

struct study {
    const char *name, *question, *definition, *hash; /* empty if the file has no study */
    size_t n_axes, n_metrics, n_runs, n_done, n_unfit, n_points, n_copies;
    struct study_axis axes[STUDY_MAX_AXES];
    struct study_metric metrics[STUDY_MAX_METRICS];
    struct study_run *runs;
    struct study_point *points;
    const char *relative_to;      /* "fifo", "nodes=8": metrics are changes in percent against it; NULL: they are not */
    bool is_bootstrap;            /* seeds replicate one trace by a block bootstrap */
    struct replicates replicates;
    struct page_query queries[3]; /* runs, parameters, metrics */
};

/* Reads the study. The metrics are those of the options, else those under "show" in the study's definition, else the
 * first four of a list of well-known ones (study.c) that differ between runs. Returns 0, SIM_E_STORE, SIM_E_USAGE or
 * SIM_E_NOMEM. */
int study_read(const struct report_source *source, struct study *study);

/* Means and intervals of all points, from the values of their runs. Returns 0 or SIM_E_NOMEM. */
int study_average(struct study *study, struct arena *arena);

/* Turns all metrics into changes in percent against the runs with the index-th value of an axis. Runs are paired by
 * seed and by all other axes, except those whose values follow from this axis. Runs without a partner have no value.
 * Recorded values become changes too. The base's runs and points go. Returns 0 or SIM_E_NOMEM. */
int study_relate(struct study *study, size_t axis, size_t level, struct arena *arena);

/* Reads the recorded values of the points, whose runs are read. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int study_read_recorded(const struct report_source *source, struct study *study);

/* Adds warnings, as items of a list: recorded values outside of their intervals, a window of few arrivals. Returns 0,
 * SIM_E_STORE or SIM_E_NOMEM. */
int study_warn_recorded(const struct report_source *source, const struct study *study, struct text *html);

/* The label "routing=jsq, rate=5/s" of the axes in `mask`. In the arena; NULL when out of memory. */
const char *study_label(const struct study *study, const struct study_point *point, unsigned mask, struct arena *arena);

/* The short name of an axis; the key itself if it is none. */
const char *study_axis_name(const struct study *study, const char *key);

/* Whether both points have equal values on the axes of the mask. */
bool study_same(const struct study *study, const struct study_point *a, const struct study_point *b, unsigned mask);

/* Whether a is the better value of a metric; false for one without direction. */
bool study_is_better(const struct study_metric *metric, double a, double b);

/* The interval of the mean of n values, one per seed, which it may reorder. */
struct interval study_interval(const struct study *study, double *values, size_t n, double level);

/* Marks the points that no other point beats in both metrics. Returns their number. */
size_t study_front(const struct study *study, size_t metric_a, size_t metric_b, bool *on_front);

/* --- What searches found, and the points on a Pareto front --- */

struct study_outcome {
    const char *at[STUDY_MAX_AXES]; /* the point: values of the axes; NULL: none */
    const char *value, *note;       /* value: what a search found, "" if nothing; of a front unused */
    int64_t run;                    /* the first of the runs behind it; 0: none */
    double metrics[STUDY_MAX_METRICS];
};

struct study_outcomes {
    size_t n, n_metrics; /* metrics: those of the front, then those that the study shows */
    bool is_front;
    const char *key; /* sought */
    unsigned axes;   /* bit a: the points have a value of axis a */
    struct study_outcome *items;
    struct study_metric metrics[STUDY_MAX_METRICS];
    struct page_query queries[2];
};

/* Reads the outcomes. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int study_outcomes(const struct report_source *source, const struct study *study, struct study_outcomes *outcomes);

/* Adds them as a table. */
void study_draw_outcomes(const struct study *study, const struct study_outcomes *outcomes, struct text *html);

/* --- Figures: each metric along one axis, a line per combination of the others; the trade between two metrics --- */

/* The title of an axis for a metric, "TTFT p99 (s)". In the arena; NULL when out of memory. */
const char *study_metric_title(const struct study_metric *metric, struct arena *arena);

/* The points of one line of a chart. */
struct study_line {
    size_t x, metric; /* axis along x; metric along y */
    unsigned fixed;   /* axes on which all points equal the first one */
    unsigned named;   /* axes in the name of the line */
};

/* Makes the line of `first`: by rising x, with the interval of each point if there is one. Along an axis of words x is
 * the index of the word, and y is NAN where the line has no value. In the arena. Returns 0 or SIM_E_NOMEM. */
int study_draw_line(const struct study *study, const struct study_point *first, const struct study_line *of,
                    struct arena *arena, struct plot_series *series);

/* Adds the figures of one metric. A numeric axis, if any, is along x. Up to seven combinations of the other axes are
 * lines of one figure. With more, the axis with most values is the lines and the rest makes up to six figures. If
 * each run has values of its own, as in random samples, there is a cloud of points per axis. Returns 0 or
 * SIM_E_NOMEM. */
int study_draw_metric(const struct report_source *source, const struct study *study, size_t metric, struct text *html);

/* Adds the figure of two metrics with a direction. */
int study_draw_front(const struct report_source *source, const struct study *study, size_t metric_a, size_t metric_b,
                     const bool *on_front, struct text *html);

/* --- The verdict of a study, in sentences that follow from its points by these rules:
 *
 *   size     runs, points, seeds; runs that did not fit, or did not come to their end
 *   best     of the first two metrics with a direction: the best and the worst point (means over seeds)
 *   winners  of each axis of words and metric: the value that is best in most of the comparisons with all other axes
 *            equal, and in how many of them the intervals of its differences to all others, under equal seeds,
 *            leave out zero: t-intervals, or those of the spread over replicates
 *   front    how many points are on the Pareto front of two metrics */

/* The value of an axis of words that is best in most comparisons with all other axes equal. */
struct study_winner {
    size_t level;
    size_t n, n_best, n_clear; /* comparisons; those that it wins alone; of these, by more than seeds explain */
    bool has_seeds;
};

/* Returns 0 or SIM_E_NOMEM. */
int study_winner(const struct study *study, size_t axis, size_t metric, struct arena *arena,
                 struct study_winner *winner);

/* Adds "The best TTFT p99 is ... with ..., the worst ... with ... "; nothing if all are equal. Returns 0 or
 * SIM_E_NOMEM. */
int study_say_best(const struct study *study, size_t metric, struct arena *arena, struct text *text);

/* Adds the answer to the study's question, as plain text: the values that a search found, the configurations on the
 * Pareto front that the study asks for, else the best value of each axis of words by the first metric with a
 * direction, else (*says_best) the best point. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int study_answer(const struct report_source *source, const struct study *study, const struct study_outcomes *outcomes,
                 bool *says_best, struct text *text);

/* Adds the sentences as plain text. n_front: 0 when there is no front. `skips_best`: the best point by the first metric
 * is said already. Returns 0 or SIM_E_NOMEM. */
int study_verdict(const struct study *study, size_t n_front, size_t metric_a, size_t metric_b, bool skips_best,
                  struct arena *arena, struct text *text);

#endif
