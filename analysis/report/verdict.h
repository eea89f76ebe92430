/* What a run says, in sentences that follow from its numbers by these rules:
 *
 *   end          a run that is not 'done' is said to be so first
 *   served       how many requests arrived, finished, were rejected, were left
 *   latency      TTFT, TPOT and end-to-end time: median and 99th percentile
 *   saturation   trend.h: waiting more than doubled from the second to the last quarter of the arrivals, and grew by at least
 *                one second per hundred; or, when the trend is not known, more than 5 % of the requests are left at the end
 *   jobs         how many were submitted, finished, were rejected, were left; completion time; the share of it that is
 *                waiting
 *   use          share of the time that replicas compute, and of the cluster's GPU time that is held
 *   doubt        extrapolated kernels from 1 % on; costs without calibration
 *
 * A sentence whose numbers are missing is left out. */
#ifndef ORRERY_ANALYSIS_REPORT_VERDICT_H
#define ORRERY_ANALYSIS_REPORT_VERDICT_H

#include "sim/core/text.h"
#include "analysis/report/trend.h"

#include <stdbool.h>

struct verdict_facts {
    const char *status;
    double (*metric)(const void *context, const char *name); /* NAN: the run has none */
    const void *context;
    const struct trend_growth *requests, *jobs; /* NULL: no rows */
    bool is_uncalibrated;
};

/* Adds the sentences as plain text. */
void verdict_run(const struct verdict_facts *facts, struct text *text);

/* Whether requests, or jobs, came faster than they were served. */
bool verdict_requests_saturate(const struct verdict_facts *facts);
bool verdict_jobs_saturate(const struct verdict_facts *facts);

#endif
