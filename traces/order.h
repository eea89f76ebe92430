/* Sorts a stream by time, in memory, and lets its clock start at its first record. */
#ifndef ORRERY_TRACES_ORDER_H
#define ORRERY_TRACES_ORDER_H

#include "traces/stream.h"

#include <stdbool.h>

/* With `sort`, all records are read on the first call of next (64 bytes each, and 8 per prefix block) and records of
 * one time keep their order; without, they pass through. With `from_first`, the time of the first record becomes 0.
 * Takes `inner` over, also when it fails. Returns 0 or SIM_E_NOMEM. */
int order_open(bool sort, bool from_first, bool requests, struct stream *inner, struct stream **stream,
               struct diag *diag);

#endif
