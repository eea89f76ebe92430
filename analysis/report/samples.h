/* Time series of a run, as sampled: one figure per series, one line per entity. With more entities than
 * distinguishable lines: their mean and range, and a map of entity by time. */
#ifndef ORRERY_ANALYSIS_REPORT_SAMPLES_H
#define ORRERY_ANALYSIS_REPORT_SAMPLES_H

#include "analysis/report/page.h"
#include "analysis/report/source.h"

struct sample_line {
    const char *series, *entity;
    size_t n, capacity;
    double *t_s, *values; /* mem_alloc */
};

struct samples {
    size_t n_rows, n_lines, capacity, last; /* last: the line of the latest row */
    struct sample_line *lines;              /* in order of their first rows */
    struct page_query query;
    struct arena *arena;
};

/* Returns 0, SIM_E_STORE or SIM_E_NOMEM; samples_fini is needed either way. */
int samples_read(const struct report_source *source, struct samples *samples);
void samples_fini(struct samples *samples);

/* Adds the figures. */
int samples_over_time(const struct report_source *source, const struct samples *samples, struct text *html);

#endif
