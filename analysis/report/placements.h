/* Where jobs ran: a Gantt chart of GPUs, and a map of how much of each node they held. */
#ifndef ORRERY_ANALYSIS_REPORT_PLACEMENTS_H
#define ORRERY_ANALYSIS_REPORT_PLACEMENTS_H

#include "analysis/report/page.h"
#include "analysis/report/source.h"

struct stretch {
    int64_t job, node, gpus; /* node -1: on none in particular */
    double start_s, end_s;
    uint64_t lanes; /* bits: its rows of the Gantt chart; none: not on it */
};

struct placements {
    size_t n, capacity;
    struct stretch *stretches; /* mem_alloc; in order of node, start, job */
    int64_t n_nodes, gpus_per_node; /* of the cluster, as far as the scenario says; 0: unknown */
    struct page_query query, cluster;
};

/* Returns 0, SIM_E_STORE or SIM_E_NOMEM; placements_fini is needed either way. */
int placements_read(const struct report_source *source, struct placements *placements);
void placements_fini(struct placements *placements);

/* Adds the figures. Of many GPUs the Gantt chart shows the nodes with most GPU time, of many stretches the longest; it says
 * what that leaves out. */
int placements_draw(const struct report_source *source, const struct placements *placements, struct text *html);

#endif
