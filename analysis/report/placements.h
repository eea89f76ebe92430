/* Where jobs ran: a Gantt chart of GPUs, and a map of the share of each node that jobs held. */
#ifndef ORRERY_ANALYSIS_REPORT_PLACEMENTS_H
#define ORRERY_ANALYSIS_REPORT_PLACEMENTS_H

#include "analysis/report/page.h"
#include "analysis/report/source.h"

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

/* Returns 0, SIM_E_STORE or SIM_E_NOMEM; placements_fini is needed either way. */
int placements_read(const struct report_source *source, struct placements *placements);
void placements_fini(struct placements *placements);

/* Adds the figures. With many GPUs the Gantt chart shows the nodes with most GPU time, with many stretches the
 * longest; a note lists what is left out. */
int placements_draw(const struct report_source *source, const struct placements *placements, struct text *html);

#endif
