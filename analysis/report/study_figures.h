/* Figures of a study: each metric along one axis, with a line for every combination of the others; and the trade between two
 * metrics. */
#ifndef ORRERY_ANALYSIS_REPORT_STUDY_FIGURES_H
#define ORRERY_ANALYSIS_REPORT_STUDY_FIGURES_H

#include "analysis/report/study.h"

/* Adds the figures of one metric. A numeric axis is along x if there is one. Up to seven combinations of the other axes are
 * lines of one figure; of more, the axis with most values is the lines and the rest makes figures, up to six. Where each
 * run has values of its own, as in random samples, there is a cloud of points per axis. Returns 0 or SIM_E_NOMEM. */
int study_draw_metric(const struct report_source *source, const struct study *study, size_t metric, struct text *html);

/* Adds the figure of two metrics with a direction. */
int study_draw_front(const struct report_source *source, const struct study *study, size_t metric_a, size_t metric_b,
                     const bool *on_front, struct text *html);

#endif
