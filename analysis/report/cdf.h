/* A figure of cumulative shares: which part of all values is at most so large. */
#ifndef ORRERY_ANALYSIS_REPORT_CDF_H
#define ORRERY_ANALYSIS_REPORT_CDF_H

#include "analysis/report/curve.h"
#include "analysis/report/page.h"
#include "analysis/report/source.h"

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

#endif
