/* Keys within keys: "a.b" is within "a". What is set under the one meets what is set under the other. */
#ifndef ORRERY_STUDY_NEST_H
#define ORRERY_STUDY_NEST_H

#include "sim/core/json_doc.h"

/* Whether it is a key as --set takes it: names between dots, none of them empty. */
bool nest_is_key(const char *key);

/* Whether `inner` lies below `outer`. */
bool nest_within(const char *outer, const char *inner);

/* An object that names a policy, format, process, kind or distribution: its parameters go with it. */
bool nest_is_variant(const struct json_node *node);

/* Whether a value, as --set takes it, takes the place of an object that was there: it is none, or a variant. The arena is
 * for reading it. */
bool nest_replaces(const char *value, struct arena *arena);

/* Whether an object says something at `path`, or above it what is no object. */
bool nest_has(const char *value, const char *path, struct arena *arena);

#endif
