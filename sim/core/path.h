/* File paths as text: nothing here looks at the file system. Results are in the arena, NULL when out of memory. */
#ifndef ORRERY_CORE_PATH_H
#define ORRERY_CORE_PATH_H

#include "sim/core/mem.h"

#include <stdbool.h>

/* Removes ".", "name/.." and doubled slashes: "configs/scenarios/../../traces/x" becomes "traces/x", nothing ".".
 * A ".." that leaves the start stays; above the root directory it is dropped. */
char *path_normalise(struct arena *arena, const char *path);

/* A path as seen from `directory`, normalised; an absolute one stays absolute. */
char *path_join(struct arena *arena, const char *directory, const char *path);

/* The same, but files of public data may lie elsewhere: a relative path to "shared/data/REST" through any number of
 * ".." becomes DATA/REST. data: NULL for none. */
char *path_join_data(struct arena *arena, const char *directory, const char *path, const char *data);

/* Whether it names a file of public data, which are no part of Orrery: "../shared/data/REST". */
bool path_is_public(const char *path);

/* The directory part: "configs" of "configs/a.json", "." of "a.json", "/" of "/a.json". */
char *path_directory(struct arena *arena, const char *path);

/* The last part: "a.json" of "configs/a.json". It points into `path`. */
const char *path_name(const char *path);

/* Whether it ends in `end`, ".csv", with something before that. */
bool path_ends_in(const char *path, const char *end);

/* Whether it names a JSON file: it ends in ".json", with something before that. */
bool path_is_json(const char *path);

#endif
