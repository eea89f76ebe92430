/* A batch in place of a stream of arrivals: all requests are submitted at the start, in an order. All are kept in
 * memory. */
#ifndef ORRERY_TRACES_OFFLINE_H
#define ORRERY_TRACES_OFFLINE_H

#include "traces/stream.h"

enum offline_order {
    OFFLINE_NOT,           /* a stream of arrivals */
    OFFLINE_AS_IT_IS,      /* that of the trace */
    OFFLINE_SHUFFLED,      /* drawn from the stream "NAME.offline" */
    OFFLINE_PREFIX_GROUPS, /* prefix_groups.h */
};

extern const char *const offline_orders[];

/* Opens the stage behind a stream of requests without closed loops. `order` is not OFFLINE_NOT. Takes ownership of
 * `inner`, also on failure. Returns 0 or SIM_E_NOMEM. */
int offline_open(enum offline_order order, const struct source_options *options, struct stream *inner,
                 struct stream **stream, struct diag *diag);

#endif
