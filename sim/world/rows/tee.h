/* One stream of rows to several sinks: each gets the rows that it wants, in the order in which the sinks were added. */
#ifndef ORRERY_WORLD_ROWS_TEE_H
#define ORRERY_WORLD_ROWS_TEE_H

#include "sim/world/rows/sink.h"

#include <stddef.h>

enum { TEE_MAX_SINKS = 4 };

struct tee {
    size_t n;
    struct sink sinks[TEE_MAX_SINKS];
};

/* Adds a sink, whose context must outlive the tee. At most TEE_MAX_SINKS. */
void tee_add(struct tee *tee, struct sink sink);

/* Where the rows go; rows that no sink wants have NULL members. The first negative code of a sink
 * ends the delivery of a row. While rows come, the tee must stay at its address and take no more sinks. */
struct sink tee_sink(struct tee *tee);

#endif
