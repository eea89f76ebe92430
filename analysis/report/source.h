/* What the sections of a run's report are made from. */
#ifndef ORRERY_ANALYSIS_REPORT_SOURCE_H
#define ORRERY_ANALYSIS_REPORT_SOURCE_H

#include "analysis/report/report.h"
#include "analysis/report/run.h"
#include "sim/core/database.h"
#include "sim/core/mem.h"

struct report_source {
    const struct database *database;
    struct arena *arena;
    struct diag *diag;
    const struct report_options *options;
    struct report_run run;
    struct report_values metrics;
    double end_s, warmup_s; /* NAN: unknown; 0 when there is none */
};

/* The value of a metric, NAN when the run has none of that name. */
double source_metric(const struct report_source *source, const char *name);

/* Its line in the dictionary, or NULL. */
const struct report_metric *source_define(const struct report_options *options, const char *name);

#endif
