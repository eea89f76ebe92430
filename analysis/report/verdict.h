/* What a run says, in sentences that follow from its numbers by these rules:
 *
 *   end          a run that is not 'done' is said to be so first
 *   served       how many requests arrived, finished, were rejected, were left
 *   latency      TTFT, TPOT and end-to-end time: median and 99th percentile; that these leave out who did not finish
 *   saturation   of each service, trend.h: waiting more than doubled from the second to the last quarter of the arrivals, and
 *                grew by at least one second per hundred, or more than 5 % still wait at the end; of a run without rows, more
 *                than 5 % of all requests are left at the end
 *   jobs         how many were submitted, finished, were rejected, were left; completion time, and that it is one of the
 *                finished ones; the share of it that is waiting; saturation as above
 *   use          share of the time that replicas compute, and of the cluster's GPU time that is held
 *   doubt        extrapolated kernels from 1 % on; costs without calibration
 *
 * A sentence whose numbers are missing is left out. */
#ifndef ORRERY_ANALYSIS_REPORT_VERDICT_H
#define ORRERY_ANALYSIS_REPORT_VERDICT_H

#include "analysis/report/trend.h"
#include "sim/core/text.h"

#include <stdbool.h>

/* How waiting went on, in one service or among the jobs. */
struct verdict_trend {
    const char *name; /* of the service */
    struct trend_growth growth;
};

struct verdict_facts {
    const char *status;
    double (*metric)(const void *context, const char *name); /* NAN: the run has none */
    const void *context;
    size_t n_services; /* 0: no rows */
    const struct verdict_trend *services;
    const struct trend_growth *jobs; /* NULL: no rows */
    bool is_uncalibrated;
};

/* Adds the sentences as plain text. */
void verdict_run(const struct verdict_facts *facts, struct text *text);

/* Whether requests of any service, or jobs, came faster than they were served, or too many were left to tell. */
bool verdict_requests_saturate(const struct verdict_facts *facts);
bool verdict_jobs_saturate(const struct verdict_facts *facts);

/* Whether that is more than a guess from who was left: waiting grew. */
bool verdict_requests_grow(const struct verdict_facts *facts);

#endif
