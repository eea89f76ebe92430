/* Requests in order of their cached prefix, as SGLang's schedule policy lpm has short queues. */
#ifndef ORRERY_POLICIES_BATCHING_PREFIX_ORDER_H
#define ORRERY_POLICIES_BATCHING_PREFIX_ORDER_H

#include "sim/world/policy/batching.h"

enum { PREFIX_QUEUE = 128 }; /* most requests */

/* The waiting requests by the length of their cached prefix, longest first; equal ones in the order of the queue.
 * Returns their number, at most PREFIX_QUEUE. */
int32_t prefix_sort(const struct replica_view *view, const struct request_view *sorted[PREFIX_QUEUE]);

#endif
