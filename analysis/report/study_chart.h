/* One chart of a study for a paper: a metric along one axis, a line or group of bars per combination of others. */
#ifndef ORRERY_ANALYSIS_REPORT_STUDY_CHART_H
#define ORRERY_ANALYSIS_REPORT_STUDY_CHART_H

#include "analysis/plot/plot.h"
#include "analysis/report/study.h"

/* Masks have a bit for each axis of the study. */
struct study_view {
    size_t x, metric;              /* axis along x; metric along y */
    unsigned by;                   /* a line for each combination of these axes */
    unsigned fixed;                /* axes of which only one value is shown */
    size_t levels[STUDY_MAX_AXES]; /* of the fixed axes: index of that value */
};

/* Warns if recorded values, or changes, of the view's metric lie outside of the intervals of the shown points.
 * Returns 0 or SIM_E_NOMEM. */
int study_warn_drawn(const struct study *study, const struct study_view *view, const char *path, struct arena *arena,
                     struct diag *diag);

/* Whether the view shows the point: it has the fixed values. */
bool study_view_has(const struct study *study, const struct study_view *view, const struct study_point *point);

/* The axes on which the shown points differ. */
unsigned study_view_varied(const struct study *study, const struct study_view *view);

/* The axes whose value follows, among the shown points, from the values of the axes in the mask: those zipped with
 * them, and those on which the points do not differ. */
unsigned study_view_determined(const struct study *study, const struct study_view *view, unsigned mask);

/* Makes the chart: lines along numbers, bars along words, without a title. Times along x are in seconds, other
 * quantities in SI units. The name of a line is the value of its axis if that is a word, else "axis=value". If no
 * mean is negative, drawn intervals end at 0.
 * All in the arena; *series are those of the chart, to be changed. Returns 0 or SIM_E_NOMEM. */
int study_chart(const struct study *study, const struct study_view *view, struct arena *arena, struct plot_chart *chart,
                struct plot_series **series);

#endif
