/* Spreads arrivals that a coarse clock has put on one time stamp. */
#ifndef ORRERY_TRACES_JITTER_H
#define ORRERY_TRACES_JITTER_H

#include "traces/stream.h"

#include <stdbool.h>

/* The records of one time stamp get as many independent uniform times, in order, from the stamp on over `width_ns`, but
 * not past the next stamp: so all records keep their order. The numbers are drawn by record id from the stream
 * "NAME.jitter". Memory: the records of one stamp. Takes `inner` over, also when it fails. Returns 0 or SIM_E_NOMEM. */
int jitter_open(sim_ns width_ns, const struct source_options *options, bool requests, struct stream *inner,
                struct stream **stream, struct diag *diag);

#endif
