/* The differences between two resolved scenarios, as parts that can be taken one by one. */
#ifndef ORRERY_ANALYSIS_GATE_SINGLE_CHANGE_H
#define ORRERY_ANALYSIS_GATE_SINGLE_CHANGE_H

#include "sim/core/json_doc.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <stddef.h>

/* A part that differs. A list is one part. So is an object whose name (json_name_member) differs, such as a policy with
 * its parameters, since other members go with another name. */
struct single_change {
    const char *key; /* "services.chat.routing" */
    const struct json_node *before, *now; /* NULL: absent */
};

/* Lists the parts that differ, in the order of `before`, then those that are new. All live in the arena. Returns 0 or
 * SIM_E_NOMEM. */
int single_changes(const struct json_node *before, const struct json_node *now, struct arena *arena,
                   struct single_change **changes, size_t *n_changes);

/* Writes `before` with one of its single_changes to `now`; NULL: with none. Errors stay in the text. */
void single_change_write(const struct json_node *before, const struct json_node *now,
                         const struct single_change *change, struct text *json);

#endif
