/* Logs that a site replays together, each from its own first record. */
#ifndef ORRERY_WORLD_ORIGINS_H
#define ORRERY_WORLD_ORIGINS_H

#include "sim/world/rows/sink.h"

#include <stddef.h>

struct jobs;
struct scenario;
struct service;

/* Warns if time 0 of one trace is over a minute from that of another, of the two that differ most. Call
 * it at the end of a run, when all have read a record. `jobs` may be NULL. Returns 0 or what the sink returned. */
int origins_warn(const struct scenario *scenario, struct service *const *services, size_t n_services,
                 const struct jobs *jobs, const struct sink *sink);

#endif
