/* The table of a run's metrics, with what each one means. */
#ifndef ORRERY_ANALYSIS_REPORT_METRICS_H
#define ORRERY_ANALYSIS_REPORT_METRICS_H

#include "analysis/report/source.h"

/* Adds the most important numbers, in large type. */
void metrics_tiles(const struct report_source *source, struct text *html);

/* Adds a table of the distributions and one of everything else, in the order of the dictionary. Returns 0 or
 * SIM_E_NOMEM. */
int metrics_tables(const struct report_source *source, struct text *html);

#endif
