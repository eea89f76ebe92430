/* The metrics that people look at first. */
#ifndef ORRERY_ANALYSIS_STATS_IMPORTANCE_H
#define ORRERY_ANALYSIS_STATS_IMPORTANCE_H

/* Metrics by their importance, ended by NULL. A short report has the first METRICS_SHOWN of them that the runs have. */
extern const char *const metrics_by_importance[];
enum { METRICS_SHOWN = 6 };

#endif
