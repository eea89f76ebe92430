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

/* --- Keys within keys: "a.b" is within "a". Settings of both affect each other. --- */

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

/* MERGED Ranges of numbers and quantities: { "from": "1/s", "to": "9/s" }. Values in between have the unit of the
 * ends. Ends that are integers ("from": 1, not 1.0) give integers. */
struct range {
    double from, to; /* SI */
    enum unit_dim dim;
    const char *like; /* values are shown in the unit of this text; NULL: in the one that is shortest */
    bool is_whole, is_log;
};

/* Reads both ends from JSON values. Returns false if they are wrong, which it reports at their places. */
bool range_read(struct config_reading *reading, const struct json_node *from, const struct json_node *to, bool is_log,
                struct range *range);

/* The value at a share (0 .. 1) of the way, rounded to 12 significant digits or to an integer; the ends are exact. */
double range_at(const struct range *range, double share);

/* The value as text for --set. NULL when out of memory. */
const char *range_show(const struct range *range, double value, struct arena *arena);

/* Points drawn from ranges at random, or evenly by the sequence of Sobol (1967; GSL's gsl_qrng_sobol). */
struct sampling {
    bool is_sobol;
    size_t n;
    int64_t seed; /* of random points */
    size_t axis;  /* number of the axis, which selects the random stream */
};

/* Fills values[row * ranges->n + column] from an object of ranges or lists, one member per column. Reports findings
 * to the reading. */
void sample_fill(struct config_reading *reading, const struct sampling *sampling, const struct json_node *ranges,
                 const char **values);

#endif
