/* A source of sessions as a plain list of requests in order of arrival, for statistics and conversion: each answer
 * comes at once, so that only the pauses of the sessions pass between their turns. */
#ifndef ORRERY_TRACES_UNROLL_H
#define ORRERY_TRACES_UNROLL_H

#include "sim/core/err.h"
#include "sim/world/rows/source.h"

/* Takes the source over, also on failure. Returns 0 or SIM_E_NOMEM. */
int unroll_open(struct request_source *inner, struct request_source **source, struct diag *diag);

#endif
