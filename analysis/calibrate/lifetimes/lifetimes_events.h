/* Lives of nodes from a log of their failures: a row for each time that a node went down, and when it was up again.
 *
 * Each time of being up is a life, from age 0: a node is as new when it is up again, and when the observation begins.
 * It ends with a failure, or is censored by the end of the observation. Nodes without a row were up all along. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_LIFETIMES_LIFETIMES_EVENTS_H
#define ORRERY_ANALYSIS_CALIBRATE_LIFETIMES_LIFETIMES_EVENTS_H

#include "analysis/calibrate/lifetimes/weibull_fit.h"

#include <stdint.h>

/* Times in hours: since 1970 if the log has calendar times, else from any zero. */
struct down_event {
    const char *node;
    double down_h, up_h; /* NAN: still down */
    int64_t line;        /* in the log, for findings */
};

/* The observation. NAN: the first or the last time of the log. n_nodes 0: those of the log. */
struct events_span {
    double from_h, until_h;
    int64_t n_nodes;
};

struct events_lives {
    size_t n;
    struct observed_life *lives; /* [n], ages in hours; mem_free */
    int64_t n_logged;            /* nodes with a row */
    size_t n_at_once;            /* failures of nodes that were up for no time; no lives */
};

/* Sorts the events, and completes the span. `path` names the log. Returns 0, SIM_E_DATA with a finding (a node that is
 * down goes down again; fewer nodes than are logged; an empty span), or SIM_E_NOMEM. */
int lifetimes_of_events(struct down_event *events, size_t n, struct events_span *span, const char *path,
                        struct events_lives *lives, struct diag *diag);

/* A time as in the log: a number of hours, or a calendar time. Returns false if it is neither. */
bool lifetimes_time(const char *chars, size_t n_chars, double *hours, bool *is_calendar);

#endif
