/* Spreads arrivals over the bins in which a trace's clock has put them. */
#ifndef ORRERY_TRACES_JITTER_H
#define ORRERY_TRACES_JITTER_H

#include "traces/stream.h"

#include <stdbool.h>

/* In every bin [k * bin_ns, (k + 1) * bin_ns) the arrivals become as many independent uniform times, in order, so that the
 * records keep theirs. The numbers are drawn by record id from the stream "NAME.jitter". Memory: the records of one bin.
 * Takes `inner` over, also when it fails. Returns 0 or SIM_E_NOMEM. */
int jitter_open(sim_ns bin_ns, const struct source_options *options, bool requests, struct stream *inner,
                struct stream **stream, struct diag *diag);

#endif
