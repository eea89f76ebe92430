/* A map of many things over time: one row each, or a few neighbours in one; one column per part of the run. */
#ifndef ORRERY_ANALYSIS_REPORT_HEAT_H
#define ORRERY_ANALYSIS_REPORT_HEAT_H

#include "analysis/report/page.h"
#include "sim/core/mem.h"

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
