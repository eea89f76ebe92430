/* The axes of a study. However an axis is written, it becomes a table: a row per step, a column per key that it sets.
 *
 *   { "key": "a.b", "values": [...] }                                  list; values may be objects
 *   { "key": "a.b", "linear": { "from": 1, "to": 9, "n": 5 } }         and "log"
 *   { "grid": { "a.b": [...], "c.d": [...] } }                         one axis each, the last one fastest
 *   { "zip":  { "a.b": [...], "c.d": [...] } }                         together: lists of one length
 *   { "sample": "sobol", "n": 64, "ranges": { "a.b": { "from": 1, "to": 9, "scale": "log" }, "c.d": [...] } }
 *
 * A sample is "random", from a stream of the study's own with the "seed" of the axis, or the Sobol sequence. */
#ifndef ORRERY_STUDY_AXES_H
#define ORRERY_STUDY_AXES_H

#include "sim/core/config/config_report.h"
#include "sim/store/results.h"

struct axis {
    size_t n_rows, n_keys;
    const char *const *keys;
    const char *const *values; /* [row * n_keys + column], as --set takes them */
    const char *const *places; /* [row * n_keys + column], where each is written: "study.json:3:9" */
};

struct study_axes {
    size_t n;
    struct axis *axes;
    const size_t *order; /* key numbers: a key within another follows it, else as written */
    const char *const *names; /* [axes_keys()] that the study gives; NULL: none, also of a single key */
};

enum { STUDY_MAX_RUNS = 100 * 1000 * 1000 };

/* Reads a list of axes (NULL: none). Reports findings to the reading. */
void axes_read(struct config_reading *reading, const struct json_node *list, struct study_axes *axes);

/* Reads the names of keys, { "services.chat.routing": "router" } (NULL: none), after the axes. */
void axes_read_names(struct config_reading *reading, const struct json_node *names, struct study_axes *axes);

/* The number of points of the product; STUDY_MAX_RUNS + 1 if above STUDY_MAX_RUNS. */
size_t axes_points(const struct study_axes *axes);

/* The number of keys that a point sets. */
size_t axes_keys(const struct study_axes *axes);

/* Key and value number `i`, below axes_keys(), at a point. */
struct run_param axes_param(const struct study_axes *axes, size_t point, size_t i);

/* The name of key number `i`: that of the study, else the shortest end of the key that no other key ends with, as
 * "routing" of "services.chat.routing". */
const char *axes_name(const struct study_axes *axes, size_t i);

/* The place of this value: "study.json:3:9". */
const char *axes_place(const struct study_axes *axes, size_t point, size_t i);

/* The number of rows of all axes, plus one. */
size_t axes_rows(const struct study_axes *axes);

/* Marks the rows of a point in seen[axes_rows()]. Returns whether one was unmarked. */
bool axes_mark(const struct study_axes *axes, size_t point, bool *seen);

/* Whether an axis sets this key. */
bool axes_vary(const struct study_axes *axes, const char *key);

/* An axis key whose value sets something under `key`, or, with `or_replaces`, replaces it; NULL: none. Values are
 * parsed in the arena. */
const char *axes_overrule(const struct study_axes *axes, const char *key, bool or_replaces, struct arena *arena);

/* An axis key within `key`; NULL: none. */
const char *axes_within(const struct study_axes *axes, const char *key);

#endif
