/* The bars of a Gantt chart in their rows; bars of one row that overlap are stacked in lanes. */
#ifndef ORRERY_ANALYSIS_PLOT_LANES_H
#define ORRERY_ANALYSIS_PLOT_LANES_H

#include "analysis/plot/plot.h"

struct lane_bar {
    size_t row, lane;
    size_t series, entry;
    double from, to;
};

struct lanes {
    struct lane_bar *at; /* by row, then start */
    size_t n;
    unsigned char *n_lanes; /* of every row */
};

/* Lays out the bars that overlap `low` .. `high`. Returns 0 or SIM_E_NOMEM; lanes_fini is due either way. */
int lanes_init(struct lanes *lanes, const struct plot_chart *chart, double low, double high);
void lanes_fini(struct lanes *lanes);

#endif
