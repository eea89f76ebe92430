/* The Gantt chart of jobs on GPUs. Rows do not say which GPU of a node a job had, so lanes fill from the first one that is
 * free. */
#ifndef ORRERY_ANALYSIS_REPORT_GANTT_H
#define ORRERY_ANALYSIS_REPORT_GANTT_H

#include "analysis/report/placements.h"

enum { GANTT_MAX_LANES = 64, GANTT_MAX_BARS = 1500 };

/* Adds the figure. Returns 0 or SIM_E_NOMEM. */
int gantt_draw(const struct report_source *source, struct placements *placements, struct text *html);

#endif
