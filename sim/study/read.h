/* Readers for members of a study's JSON, where field tables do not fit because keys of a scenario stand for
 * themselves. For sim/study alone. */
#ifndef ORRERY_STUDY_READ_H
#define ORRERY_STUDY_READ_H

#include "sim/core/config/config_report.h"

/* Checks that the value is an object, and reports it if not. `what` names it in messages: "an axis". */
bool read_object(struct config_reading *reading, const struct json_node *node, const char *what);

/* Reports members that are not among the known keys (ended by NULL). */
void read_keys(struct config_reading *reading, const struct json_node *object, const char *what,
               const char *const *known);

/* A member that exists and is not null; else NULL, which is reported if `what` (of the object) is given. */
const struct json_node *read_member(struct config_reading *reading, const struct json_node *object, const char *key,
                                    const char *what);

/* Scalars: the default if the member is absent, or wrong and reported. Texts are in the reading's arena. */
const char *read_text(struct config_reading *reading, const struct json_node *object, const char *key,
                      const char *value);
int64_t read_integer(struct config_reading *reading, const struct json_node *object, const char *key, double min,
                     double max, int64_t value);
int64_t read_integer_value(struct config_reading *reading, const struct json_node *node, const char *name, double min,
                           double max); /* reads `node` itself; 0 if wrong */
double read_real(struct config_reading *reading, const struct json_node *object, const char *key, double min,
                 double max, double value);
int read_choice(struct config_reading *reading, const struct json_node *object, const char *key,
                const char *const *choices); /* the first one is the default */

/* Allocates in the reading's arena; reports when out of memory. */
void *read_alloc(struct config_reading *reading, size_t count, size_t bytes_each);

/* Copies `text` to the reading's arena and frees it; NULL when out of memory. */
const char *read_keep(struct config_reading *reading, struct text *text);

/* Writes a value as JSON in one line. */
void read_write_json(const struct json_node *node, struct text *text);

/* The value as text for --set: a bare word if it stands for itself, else JSON. */
const char *read_setting_value(struct config_reading *reading, const struct json_node *node);

/* Whether a text, as the value behind --set, is JSON. */
bool read_is_json(struct arena *arena, const char *text);

#endif
