/* What differs between the resolved scenario of a baseline and that of a run. */
#ifndef ORRERY_ANALYSIS_GATE_SCENARIO_CHANGE_H
#define ORRERY_ANALYSIS_GATE_SCENARIO_CHANGE_H

#include "sim/core/json_doc.h"
#include "sim/core/json_write.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>

/* A value that differs, as a message shows it: 80, "fast", an object. NULL: absent. */
struct scenario_change {
    const char *key; /* "services.chat.replicas"; items of lists are numbered from 0 */
    const char *before, *now;
};

/* Lists the values that differ, in the order of the baseline, then those that are new. A value that only one scenario
 * has is listed as a whole. All live in the arena. Returns 0 or SIM_E_NOMEM. */
int scenario_changes(const struct json_node *before, const struct json_node *now, struct arena *arena,
                     struct scenario_change **changes, size_t *n_changes);

/* A member of two objects: "services.chat.replicas" with its values; NULL: absent. */
typedef void (*scenario_member_fn)(void *context, const char *key, const struct json_node *before,
                                   const struct json_node *now);

/* Visits the members of two objects at `key` ("": the root): those of `before`, then those that are new. Keys live in
 * the arena. Returns 0 or SIM_E_NOMEM. */
int scenario_each_member(const char *key, const struct json_node *before, const struct json_node *now,
                         struct arena *arena, scenario_member_fn visit, void *context);

enum { TIME_CHARS = 64 };

/* If the value is a time, writes it as people write times, "30min" for "0.5h", and returns true. */
bool scenario_shows_time(const struct json_node *node, char time[TIME_CHARS]);

/* Writes a value and all that is in it, in one line. */
void scenario_write(struct json_writer *writer, const char *key, const struct json_node *value);

#endif
