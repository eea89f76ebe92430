/* Node types on which nothing of a scenario can run. */
#ifndef ORRERY_WORLD_IDLE_TYPES_H
#define ORRERY_WORLD_IDLE_TYPES_H

#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stddef.h>

struct scenario;

/* Writes a warning with the names of the further node types that the scheduler ignores and no service uses. The
 * scenario decides, not the run: a node type may be idle in a run although something could use it. Returns whether
 * there are any. */
bool idle_types_find(const struct scenario *scenario, char *text, size_t text_bytes);

/* Emits the warning `idle-node-types`, if there are any. Returns 0 or what the sink returned. */
int idle_types_warn(const struct scenario *scenario, const struct sink *sink);

#endif
