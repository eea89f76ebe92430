/* What the page of one run shows: each part reads its rows once, before anything is written, and adds its figures.
 *
 * NAME_read returns 0, SIM_E_STORE or SIM_E_NOMEM; NAME_fini is needed either way. */
#ifndef ORRERY_ANALYSIS_REPORT_SECTIONS_H
#define ORRERY_ANALYSIS_REPORT_SECTIONS_H

#include "analysis/report/source.h"
#include "analysis/report/verdict.h"
#include "sim/core/tally.h"

/* --- Requests: distributions of latencies, and latency over time --- */

enum { REQUEST_MAX_SERVICES = 7 }; /* services with a line of their own: as many as colours distinguish */
enum { REQUEST_MAX_CHARTS = 4 };   /* services with a chart of their own; with more, one of all requests */

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

/* Time to first token, by time of arrival in the parts of the trend of all requests. */
struct request_latency {
    const char *service; /* NULL: of all requests */
    struct histogram parts_s[TREND_BINS];
};

struct requests {
    size_t n_rows;
    struct page_query span, scan; /* the statements */
    size_t n_services, n_beyond;  /* services with a line of their own; requests of the others */
    struct request_service services[REQUEST_MAX_SERVICES];
    size_t n_trends;
    struct request_trend *trends; /* of all services; in the arena */
    struct trend all;             /* of all requests together */
    size_t n_latencies;
    struct request_latency *latencies; /* of each service, or of all if they are one or many; in the arena */
};

int requests_read(const struct report_source *source, struct requests *requests);
void requests_fini(struct requests *requests);

/* Adds the figures of the distributions, and of latency over time. */
int requests_distributions(const struct report_source *source, const struct requests *requests, struct text *html);
int requests_over_time(const struct report_source *source, const struct requests *requests, struct text *html);

/* --- Jobs: distributions over finished jobs, and whether waiting grew --- */

enum job_quantity { JOB_JCT, JOB_QUEUE, JOB_SLOWDOWN, JOB_QUANTITIES };

struct jobs {
    size_t n_rows;
    struct page_query span, scan; /* the statements */
    struct histogram histograms[JOB_QUANTITIES];
    struct trend trend;
    struct trend_growth growth;
    struct verdict_submissions submissions;
};

int jobs_read(const struct report_source *source, struct jobs *jobs);
void jobs_fini(struct jobs *jobs);

/* Adds the figures of the distributions. */
int jobs_distributions(const struct report_source *source, const struct jobs *jobs, struct text *html);

/* --- Time series as sampled ---
 *
 * One figure per series, one line per entity. With more than three entities: a small chart of each. With more than
 * seven: their mean and range, and a map of entity by time. A series that is 0 throughout is a sentence. */

struct sample_line {
    const char *series, *entity;
    size_t n, capacity;
    double *t_s, *values; /* mem_alloc */
};

struct samples {
    size_t n_rows, n_lines, capacity, last; /* last: the line of the latest row */
    struct sample_line *lines;              /* in order of their first rows */
    struct page_query query;
    struct arena *arena;
};

int samples_read(const struct report_source *source, struct samples *samples);
void samples_fini(struct samples *samples);

/* Adds the figures. */
int samples_over_time(const struct report_source *source, const struct samples *samples, struct text *html);

/* --- Where jobs ran: a Gantt chart of GPUs, and a map of the share of each node that jobs held --- */

struct stretch {
    int64_t job, node, gpus; /* node -1: none in particular */
    double start_s, end_s;
    uint64_t lanes; /* bit mask of its rows in the Gantt chart; 0: not shown */
};

struct placements {
    size_t n, capacity;
    struct stretch *stretches; /* mem_alloc; in order of node, start, job */
    int64_t n_nodes, gpus_per_node; /* of the scenario's cluster; 0: unknown */
    struct page_query query, cluster;
};

int placements_read(const struct report_source *source, struct placements *placements);
void placements_fini(struct placements *placements);

/* Adds the figures. With many GPUs the Gantt chart shows the nodes with most GPU time, with many stretches the
 * longest; a note lists what is left out. */
int placements_draw(const struct report_source *source, const struct placements *placements, struct text *html);

/* --- Metrics, with what each one means --- */

/* Adds the most important numbers, in large type. */
void metrics_tiles(const struct report_source *source, struct text *html);

/* Adds a table of the distributions and one of everything else, in the order of the dictionary. Returns 0 or
 * SIM_E_NOMEM. */
int metrics_tables(const struct report_source *source, struct text *html);

#endif
