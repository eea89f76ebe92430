/* Metrics of runs in the text format of OpenMetrics 1.0 (RFC draft-richih-opsawg-openmetrics), for Prometheus and what
 * reads its files.
 *
 * A metric of a run is a gauge: its value is final. Its name is "orrery", the parts of Orrery's name, and its unit in
 * words: request.ttft_s.p99 is orrery_request_ttft_p99_seconds. Its labels are the run's number and name, and the
 * entity, such as a service. Left out: time series, histograms, and metrics that do not apply to a run. */
#ifndef ORRERY_ANALYSIS_EXPORT_OPENMETRICS_H
#define ORRERY_ANALYSIS_EXPORT_OPENMETRICS_H

#include "analysis/export/export.h"

/* Adds the OpenMetrics name of a metric with this unit; `name` may end in an entity in brackets, which is left out.
 * Returns the unit in words, which ends the name; "" for a number without a unit. */
const char *openmetrics_name(const char *name, const char *unit, struct text *text);

/* The definition of a metric, which may carry an entity; NULL: unknown. */
typedef const char *(*openmetrics_help_fn)(const char *name);

/* Writes the metrics of one run or (run_id 0) of all. Returns 0, the target's code, SIM_E_STORE or SIM_E_NOMEM. */
int export_openmetrics(const struct database *database, int64_t run_id, openmetrics_help_fn help,
                       const struct export_target *target, struct diag *diag);

#endif
