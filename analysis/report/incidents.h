/* Incidents of a run: moments at which something took or gave GPUs, or slowed them. Charts over time mark them. */
#ifndef ORRERY_ANALYSIS_REPORT_INCIDENTS_H
#define ORRERY_ANALYSIS_REPORT_INCIDENTS_H

#include "analysis/plot/plot.h"
#include "analysis/report/page.h"

#include <stdint.h>

struct report_source;

enum incident_kind {
    INCIDENT_BRAKE,
    INCIDENT_FAILURE,
    INCIDENT_SPOT,
    INCIDENT_SCALING,
    INCIDENT_PREEMPTION,
    INCIDENT_YIELD,
    INCIDENT_KINDS
};

struct incidents {
    size_t n_events; /* kinds that happened */
    struct plot_events events[INCIDENT_KINDS];
    struct page_query query;
};

/* Reads the incidents of the run of the source. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int incidents_read(const struct report_source *source, struct incidents *incidents);

#endif
