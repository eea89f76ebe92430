/* Keys within keys: "a.b" is within "a". Settings of both affect each other. For sim/study alone. */
#ifndef ORRERY_STUDY_NEST_H
#define ORRERY_STUDY_NEST_H

#include "sim/core/json_doc.h"
#include "sim/core/mem.h"

#include <stdbool.h>

/* Whether the text is a key for --set: names between dots, none of them empty. */
bool nest_is_key(const char *key);

/* Whether `inner` lies below `outer`. */
bool nest_within(const char *outer, const char *inner);

/* Whether the object is a variant: it names a policy, format, process, kind or distribution, and its other members
 * are parameters of that. */
bool nest_is_variant(const struct json_node *node);

/* Whether a value for --set replaces an object: it is no object, or a variant. It is parsed in the arena. */
bool nest_replaces(const char *value, struct arena *arena);

/* Whether an object has a value at `path`, or a non-object above it. */
bool nest_has(const char *value, const char *path, struct arena *arena);

#endif
