/* More requests at the same clock: copies of a trace are laid over it, each at a shift of its own (superposition).
 *
 *     factor  mean number of requests for each of the trace. 2.5: the trace, one whole copy, and half of another one
 *     shift   a copy is later by a random time up to this one. What is late beyond the end of the trace stands at its
 *             begin (a circle), so the load grows by the factor at every hour, up to the shift
 *
 * The trace itself stays as it is. A copy's shift and the requests of the partial copy are drawn from the stream
 * "NAME.upscale", by copy and by request: a larger factor keeps all requests of a smaller one. Ids are new, in order.
 * A copy stands for other users: its prompt blocks are its own, and are shared among its requests as in the trace.
 * Chunks keep their ids, since users share documents. All records are kept in memory.
 *
 * Left out: closed loops and sessions, which are refused. Copies are as bursty as the trace, and their sum is less
 * so. "rate_scale" compresses time instead, which makes bursts sharper and the day shorter. "thin" is for fewer
 * requests at the same clock. */
#ifndef ORRERY_TRACES_UPSCALE_H
#define ORRERY_TRACES_UPSCALE_H

#include "sim/core/config/config.h"
#include "traces/stream.h"

struct upscale_config {
    double factor; /* 0: none */
    sim_ns shift_ns;
};

extern const struct config_field upscale_config_fields[];

/* Opens the stage behind a stream of requests sorted by time, of which it takes [from_ns, to_ns), or all with to_ns of
 * SIM_NS_MAX; for what follows from_ns becomes 0. A trace without end is a circle that closes one mean gap behind its
 * last record. Takes ownership of `inner`, also on failure. Returns 0 or SIM_E_NOMEM. Its `next` returns SIM_E_CONFIG
 * for more records than memory is to hold. */
int upscale_open(const struct upscale_config *config, sim_ns from_ns, sim_ns to_ns,
                 const struct source_options *options, struct stream *inner, struct stream **stream, struct diag *diag);

#endif
