/* Figures that several sections draw: curves of fewer points than there are values, cumulative shares, and maps over time. */
#ifndef ORRERY_ANALYSIS_REPORT_FIGURES_H
#define ORRERY_ANALYSIS_REPORT_FIGURES_H

#include "analysis/report/page.h"
#include "analysis/report/source.h"
#include "sim/core/mem.h"
#include "sim/core/tally.h"

#include <stddef.h>

/* Curves with more points than a page can show, and the fewer that look the same. */

/* In an arena. */
struct curve {
    size_t n;
    double *x, *y;
};

/* Cumulative shares: of `n` points with rising y in (0, 1], those that are 1/250 apart, and finer towards 1, where the
 * percentiles are that people ask for: 1 - y falls by at most a quarter from one point to the next. The last one stays.
 * Returns 0 or SIM_E_NOMEM. */
int curve_thin_shares(const double *x, const double *y, size_t n, struct arena *arena, struct curve *curve);

/* The same of a histogram: the share of values below each bucket's upper end. */
int curve_of_histogram(const struct histogram *histogram, struct arena *arena, struct curve *curve);

/* Of points in order of x: at most about `most`, among them the lowest and the highest of each of most / 2 equal stretches
 * of x, in their order, and the first and the last of all. */
int curve_thin_extremes(const double *x, const double *y, size_t n, size_t most, struct arena *arena,
                        struct curve *curve);

/* Means over time of a step function, which holds y[i] from x[i] to x[i + 1] and its last value to `end`: means[k] is that
 * of the k-th of n_bins equal parts of start .. end; NAN before its first point. */
void curve_bin_means(const double *x, const double *y, size_t n, double start, double end, size_t n_bins,
                     double *means);

/* A figure of cumulative shares: which part of all values is at most so large. */

enum { CDF_MAX_CURVES = 8, CDF_MAX_QUERIES = 2 };

struct cdf {
    const struct report_source *source;
    const char *title, *axis, *unit;
    size_t n_curves, n_queries;
    struct curve curves[CDF_MAX_CURVES];
    const char *names[CDF_MAX_CURVES];
    struct page_query queries[CDF_MAX_QUERIES];
};

/* All of these return 0, SIM_E_STORE or SIM_E_NOMEM. `unit` is that of the values, "" for none. */
int cdf_open(const struct report_source *source, struct cdf *figure, const char *title, const char *unit);

/* What the run kept as histogram `name`: nothing is added when it kept none. */
int cdf_add_kept(struct cdf *figure, const char *name, const char *curve_name);
int cdf_add_histogram(struct cdf *figure, const struct histogram *histogram, const char *name);
void cdf_add_query(struct cdf *figure, const struct page_query *query);

/* Nothing is drawn of a distribution without curves; of one whose values are all the same a sentence says so. */
void cdf_draw(const struct cdf *figure, const char *note, struct text *html);

/* A map of many things over time: one row each, or a few neighbours in one; one column per part of the run. */

enum { HEAT_COLUMNS = 120, HEAT_MAX_ROWS = 64 };

struct heat {
    const char *title, *axis; /* axis: what a colour stands for */
    size_t n;                 /* things */
    const char *const *names; /* [n] */
    const double *means;      /* [n * HEAT_COLUMNS]; NAN: nothing known */
    double end_s;             /* columns reach from 0 to it */
    double high;              /* value of the darkest colour, 0 that of the palest; 0: both from the data */
    const struct page_query *query;
};

/* Adds the figure. Returns 0 or SIM_E_NOMEM. */
int heat_draw(const struct heat *heat, struct arena *arena, struct text *html);

#endif
