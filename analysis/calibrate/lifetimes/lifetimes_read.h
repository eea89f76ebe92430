/* Field data of lifetimes, from a CSV file with a header. Times are hours. One of
 *
 *     age_h,failed[,from_h]                       a unit observed from age from_h (default 0) to age_h; failed: 0 or 1
 *
 *     node,down_at[,up_at]                        a failure of a node, and when it was up again: empty while it is
 *                                                 down, at once in a log without the column; hours or calendar times
 *                                                 (lifetimes_events.h)
 *
 * or, where dates of deployment are known only of units that failed under monitoring,
 *
 *     shipped_h,end_h,window_h,lag_h,age_h        lag_h and age_h are empty for units that were not returned
 *
 * with the date of shipping, the end of the data, the time for which failures are recorded after the deployment, the
 * time from shipping to deployment, and the age at the failure. Of a file with the columns of two kinds, shipped_h
 * goes first, then age_h,failed. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_LIFETIMES_LIFETIMES_READ_H
#define ORRERY_ANALYSIS_CALIBRATE_LIFETIMES_LIFETIMES_READ_H

#include "analysis/calibrate/lifetimes/lifetimes_events.h"
#include "sim/core/mem.h"

struct lifetimes_data {
    size_t n;
    struct observed_life *lives;  /* [n], or NULL */
    struct shipped_unit *shipped; /* [n], or NULL */
    struct down_event *events;    /* [n], or NULL */
    bool is_calendar;             /* times of events are calendar times */
    bool lacks_up;                /* the log has no column up_at: each node is taken to be up again at once */
    struct arena arena;           /* of the nodes' names */
};

/* Returns 0, SIM_E_IO, SIM_E_DATA with a finding, or SIM_E_NOMEM. Free with lifetimes_data_fini, even then. */
int lifetimes_read(const char *path, struct lifetimes_data *data, struct diag *diag);
void lifetimes_data_fini(struct lifetimes_data *data);

#endif
