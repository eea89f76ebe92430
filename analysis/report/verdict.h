/* The verdict of a run, in sentences that follow from its numbers by these rules:
 *
 *   end          a run whose status is not 'done': its status comes first
 *   served       requests that arrived, finished, were rejected, were left
 *   slo          share of requests that attained their SLO, of all and of each service
 *   latency      TTFT, TPOT and end-to-end time: median and 99th percentile, or the maximum of fewer than 100 requests;
 *                that unfinished requests are not in them
 *   saturation   of each service: waiting more than doubled from the second to the last quarter of the arrivals and
 *                grew by at least one second per hundred, or more than 5 % still wait at the end; of a run without
 *                rows, more than 5 % of all requests are left at the end, or of all jobs beyond one for each GPU
 *   jobs         jobs submitted, finished, failed, cancelled, rejected, left; completion time of those that ended; the
 *                shares of it without GPUs and before the first start; saturation as above, or a load above 1
 *   incidents    how often jobs yielded or were preempted, requests were evicted, failures stopped something, spot GPUs
 *                were lost, the power brake engaged, a breaker tripped
 *   bill         the bill of the run, or the price of its services' GPUs per hour
 *   use          share of the time that replicas compute, and of the cluster's GPU time that is held
 *   doubt        extrapolated kernels from 1 % on; costs without calibration
 *
 * A sentence whose numbers are missing is left out. */
#ifndef ORRERY_ANALYSIS_REPORT_VERDICT_H
#define ORRERY_ANALYSIS_REPORT_VERDICT_H

#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Waiting time over the time of arrival, and whether it grew without bound.
 *
 * In a queue with load rho > 1, a request that arrives dt later waits (rho - 1) dt longer: the slope of the waiting
 * time over the time of arrival is rho - 1. A run that is cut short knows the waits only of requests that were
 * served, so the slope is taken over the arrivals up to the last ones most of which were served. */
enum { TREND_BINS = 128 };

struct trend_bin {
    double n, n_left, wait_sum_s; /* all arrivals; those still waiting at the end */
};

struct trend {
    double start_s, width_s; /* of a bin */
    int n_bins;              /* up to the end, or of a trend that widens, to the last arrival so far; 0: none yet */
    bool widens;
    struct trend_bin bins[TREND_BINS];
};

/* Starts a trend of arrivals from start to end. */
void trend_init(struct trend *trend, double start_s, double end_s);

/* Starts a trend of arrivals whose first and last are not known yet: bins are joined in pairs as others come. */
void trend_init_open(struct trend *trend);

/* The bin of an arrival at t; -1 before the start. */
int trend_bin_at(const struct trend *trend, double t_s);

/* Adds an arrival at t and its wait; NAN: unknown. is_left: it still waits, and has waited that long. */
void trend_add(struct trend *trend, double t_s, double wait_s, bool is_left);

/* Sets the end of the run for arrivals that were added, before it was known, with the wait -t and is_left. */
void trend_end(struct trend *trend, double end_s);

struct trend_growth {
    double until_s;         /* the slope is over arrivals until then; NAN: all */
    double early_s, late_s; /* mean waits in the second and the last quarter of that time; NAN: below 20 arrivals */
    double rate;            /* the slope, in seconds per second: the load less one */
    double left_frac;       /* share of arrivals still waiting at the end */
    bool grows;             /* waits more than doubled, and rose by no less than one second per hundred */
    bool is_saturated;      /* that, or more than 5 % of at least 20 arrivals still wait */
};
struct trend_growth trend_growth(const struct trend *trend);

/* Growth of waits in one service. */
struct verdict_trend {
    const char *name; /* of the service */
    struct trend_growth growth;
};

/* The submissions of jobs that were not rejected. */
struct verdict_submissions {
    double n, first_s, last_s;
    double held_s; /* time for which jobs hold their GPUs, summed over jobs */
};

struct verdict_facts {
    const char *status;
    double (*metric)(const void *context, const char *name); /* NAN: the run has none */
    const void *context;
    size_t n_services; /* 0: no rows */
    const struct verdict_trend *services;
    const struct trend_growth *jobs; /* NULL: no rows */
    struct verdict_submissions submissions; /* n 0: no rows */
    bool is_uncalibrated;
    double warmup_s;    /* 0: none */
    const char *oracle; /* knowledge that no real system has, as stored; NULL: none */
};

/* Adds the sentences as plain text. */
void verdict_run(const struct verdict_facts *facts, struct text *text);

/* Whether requests of any service, or jobs, arrived faster than they were served, or too many were left. */
bool verdict_requests_saturate(const struct verdict_facts *facts);
bool verdict_jobs_saturate(const struct verdict_facts *facts);

/* The GPU time that jobs need over that of the GPUs which jobs may have. n jobs take n / (n - 1) times the span from
 * the first submission to the last. They need what they held, or if that is less their work on the requested GPUs, with
 * what they wait and read before it at their first start: elastic jobs hold more than they need. Jobs left at the end
 * count with what they did, so the load is at least this. NAN: unknown, as with rented GPUs; or no stream of arrivals:
 * fewer than 20 jobs, or all within the time that one runs. */
double verdict_load(const struct verdict_facts *facts);

/* Whether that load is above 1, and jobs waited: waits then depend on the length of the trace. */
bool verdict_jobs_overload(const struct verdict_facts *facts);

/* Whether waiting grew, which is more than a guess from the requests left. */
bool verdict_requests_grow(const struct verdict_facts *facts);

#endif
