/* Replications of one trace: another trace of the like for each seed, so that runs have an interval although the file
 * holds one trace.
 *
 *     block-bootstrap  blocks of this length begin at random times of the trace, which counts as a circle, and follow
 *                      each other until the length of the trace is reached (Politis and Romano, A Circular
 *                      Block-Resampling Procedure for Stationary Data, 1992). A record is expected once; ids are new,
 *                      in order. All records are kept in memory.
 *     windows          the seed's window: seed 1 gets the first `length` of the trace, seed 2 the next, and so on.
 *                      Windows do not overlap. A window without records, or beyond the last whole one, is an error.
 *
 * The trace is the part in its "window". With none it begins at its first record: a circle of blocks then ends one
 * mean gap behind the last record, and a window is whole if a record lies behind it. Inside a "window", a window is
 * whole if a record lies behind it or if it ends with the "window".
 * A block as long as the trace is an error, since all seeds would give that trace turned. So are more than ten million
 * blocks, of which nearly all would be empty. The note "few-blocks" warns of fewer than ten blocks.
 * Left out: a bootstrap breaks the order of hours and days, and repeats the prompts of blocks that are drawn twice. */
#ifndef ORRERY_TRACES_REPLICATE_H
#define ORRERY_TRACES_REPLICATE_H

#include "sim/core/config/config.h"
#include "traces/stream.h"

enum replicate_method { REPLICATE_BLOCKS, REPLICATE_WINDOWS };

struct replicate_config {
    int method;       /* enum replicate_method */
    sim_ns length_ns; /* of a block or window; 0: no replication */
};

extern const struct config_field replicate_config_fields[];

/* Opens the stage behind a stream sorted by time, of which it takes [from_ns, to_ns), or all with to_ns of SIM_NS_MAX;
 * for what follows from_ns becomes 0, and to_ns SIM_NS_MAX. `config` must outlive it. Blocks are drawn from the stream
 * "NAME.replicate". Takes ownership of `inner`, also on failure. Returns 0, SIM_E_CONFIG (no such window of this seed)
 * or SIM_E_NOMEM. Its `next` returns SIM_E_CONFIG for a window that is empty or not whole, and for too long a block.
 */
int replicate_open(const struct replicate_config *config, sim_ns from_ns, sim_ns to_ns,
                   const struct source_options *options, bool requests, struct stream *inner, struct stream **stream,
                   struct diag *diag);

#endif
