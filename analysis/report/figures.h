/* Figures that several sections draw: curves of fewer points than there are values, cumulative shares, and maps over
 * time. */
#ifndef ORRERY_ANALYSIS_REPORT_FIGURES_H
#define ORRERY_ANALYSIS_REPORT_FIGURES_H

#include "analysis/report/page.h"
#include "analysis/report/source.h"
#include "sim/core/mem.h"
#include "sim/core/tally.h"

#include <stddef.h>

/* --- Curves, thinned to what a page can show --- */

/* In an arena. */
struct curve {
    size_t n;
    double *x, *y;
};

/* Thins cumulative shares, `n` points with rising y in (0, 1], to those 1/250 apart, and finer towards 1, at the
 * usual percentiles: 1 - y falls by at most a quarter from one point to the next. The last point stays. Returns 0 or
 * SIM_E_NOMEM. */
int curve_thin_shares(const double *x, const double *y, size_t n, struct arena *arena, struct curve *curve);

/* Thins points in order of x to about `most`: the lowest and the highest of each of most / 2 equal stretches of x,
 * in order, and the first and the last of all. */
int curve_thin_extremes(const double *x, const double *y, size_t n, size_t most, struct arena *arena,
                        struct curve *curve);

/* Means over time of a step function with value y[i] from x[i] to x[i + 1], and the last value until `end`: means[k]
 * is that of the k-th of n_bins equal parts of start .. end; NAN before the first point. */
void curve_bin_means(const double *x, const double *y, size_t n, double start, double end, size_t n_bins,
                     double *means);

/* --- A figure of cumulative shares: the share of values <= x --- */

enum { CDF_MAX_CURVES = 8, CDF_MAX_QUERIES = 2, CDF_MAX_LINES = 4 };

struct cdf {
    const struct report_source *source;
    const char *title, *axis, *unit;
    size_t n_curves, n_queries;
    struct curve curves[CDF_MAX_CURVES];
    const char *names[CDF_MAX_CURVES];
    struct page_query queries[CDF_MAX_QUERIES];
    size_t n_lines; /* upright, of limits */
    struct plot_line lines[CDF_MAX_LINES];
};

/* These return 0, SIM_E_STORE or SIM_E_NOMEM. `unit`: of the values, "" for none. */
int cdf_open(const struct report_source *source, struct cdf *figure, const char *title, const char *unit);

/* Adds the histogram `name` that the run kept, if it kept one. */
int cdf_add_kept(struct cdf *figure, const char *name, const char *curve_name);
int cdf_add_histogram(struct cdf *figure, const struct histogram *histogram, const char *name);
void cdf_add_query(struct cdf *figure, const struct page_query *query);

/* Draws nothing without curves; if all values are equal, adds a sentence instead of a chart. */
void cdf_draw(const struct cdf *figure, const char *note, struct text *html);

/* --- A map over time: one row per entity or per few neighbours, one column per part of the run --- */

enum { HEAT_COLUMNS = 120, HEAT_MAX_ROWS = 64 };

struct heat {
    const char *title, *axis; /* axis: the quantity shown by colour */
    size_t n;                 /* entities */
    const char *const *names; /* [n] */
    const double *means;      /* [n * HEAT_COLUMNS]; NAN: unknown */
    double end_s;             /* columns cover 0 .. end_s */
    double high;              /* value of the darkest colour, 0 of the palest; 0: both from the data */
    const struct page_query *query;
};

/* Adds the figure, with the incidents of the source. Returns 0 or SIM_E_NOMEM. */
int heat_draw(const struct heat *heat, const struct report_source *source, struct text *html);

#endif
