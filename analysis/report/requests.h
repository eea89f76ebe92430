/* Requests of a run: distributions of latencies, and latency over time. The rows are read once. */
#ifndef ORRERY_ANALYSIS_REPORT_REQUESTS_H
#define ORRERY_ANALYSIS_REPORT_REQUESTS_H

#include "analysis/report/page.h"
#include "analysis/report/source.h"
#include "analysis/report/verdict.h"
#include "sim/core/tally.h"

enum { REQUEST_MAX_SERVICES = 7 }; /* services with a line of their own: as many as colours distinguish */

enum request_quantity { REQUEST_TTFT, REQUEST_TPOT, REQUEST_E2E, REQUEST_QUEUE, REQUEST_QUANTITIES };

struct request_service {
    const char *name;
    struct histogram histograms[REQUEST_QUANTITIES];
};

/* Waiting times of one service over time. */
struct request_trend {
    const char *service;
    struct trend trend;
    struct trend_growth growth;
};

struct requests {
    size_t n_rows;
    struct page_query span, scan; /* the statements */
    size_t n_services, n_beyond;  /* services with a line of their own; requests of the others */
    struct request_service services[REQUEST_MAX_SERVICES];
    size_t n_trends;
    struct request_trend *trends; /* of all services; in the arena */
    struct trend all;             /* of all requests together */
    struct histogram latency_s[TREND_BINS]; /* time to first token, by time of arrival */
};

/* Returns 0, SIM_E_STORE or SIM_E_NOMEM; requests_fini is needed either way. */
int requests_read(const struct report_source *source, struct requests *requests);
void requests_fini(struct requests *requests);

/* Adds the figures of the distributions, and of latency over time. */
int requests_distributions(const struct report_source *source, const struct requests *requests, struct text *html);
int requests_over_time(const struct report_source *source, const struct requests *requests, struct text *html);

#endif
