/* Reading the members of a study's JSON by hand, where no table of fields fits: keys of a scenario stand for themselves. Shared
 * by the parts of the study, of no use to others. */
#ifndef ORRERY_STUDY_READ_H
#define ORRERY_STUDY_READ_H

#include "sim/core/config/config_report.h"

/* Whether the value is an object; reports it if not. `what` is what messages call it: "an axis". */
bool read_object(struct config_reading *reading, const struct json_node *node, const char *what);

/* Reports members that are not among the known keys (ended by NULL). */
void read_keys(struct config_reading *reading, const struct json_node *object, const char *what,
               const char *const *known);

/* A member that is there and not null; NULL where it is not, reported if `what` (of the object) is given. */
const struct json_node *read_member(struct config_reading *reading, const struct json_node *object, const char *key,
                                    const char *what);

/* Scalars: the default where the member is absent, or wrong and reported. Texts are in the reading's arena. */
const char *read_text(struct config_reading *reading, const struct json_node *object, const char *key,
                      const char *value);
int64_t read_integer(struct config_reading *reading, const struct json_node *object, const char *key, double min,
                     double max, int64_t value);
int64_t read_integer_value(struct config_reading *reading, const struct json_node *node, const char *name, double min,
                           double max); /* of the value itself; 0 where it is wrong */
double read_real(struct config_reading *reading, const struct json_node *object, const char *key, double min,
                 double max, double value);
int read_choice(struct config_reading *reading, const struct json_node *object, const char *key,
                const char *const *choices, const char *value);

/* Memory of the reading, which reports when there is none. */
void *read_alloc(struct config_reading *reading, size_t count, size_t bytes_each);

/* A copy in the reading's arena of what was written to `text`, which is ended; NULL when out of memory. */
const char *read_keep(struct config_reading *reading, struct text *text);

/* Writes a value as JSON in one line. */
void read_write_json(const struct json_node *node, struct text *text);

/* The value as --set takes it: a bare word where that stands for itself, else JSON. */
const char *read_setting_value(struct config_reading *reading, const struct json_node *node);

/* Whether a text is JSON as it stands, as the value behind --set. */
bool read_is_json(struct arena *arena, const char *text);

/* --- Keys within keys: "a.b" is within "a". What is set under the one meets what is set under the other. --- */

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
