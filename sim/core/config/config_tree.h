/* The merged document behind a `struct config`: shared by the parts of config, of no use to others. */
#ifndef ORRERY_CORE_CONFIG_CONFIG_TREE_H
#define ORRERY_CORE_CONFIG_CONFIG_TREE_H

#include "sim/core/config/config.h"
#include "sim/core/json_doc.h"

struct config_file {
    const char *path;
    struct config_file *next;
};

struct config {
    struct arena arena;
    struct hash_sum files;  /* the bytes of all that were loaded */
    struct config_file *first_file, *last_file; /* these, in their order */
    struct json_node *root; /* an object; a null below it says that nothing is set there */
};

/* Lays `over` on `base`, in place: objects merge member by member, everything else is replaced. `base` keeps its key
 * and its place among its siblings, and takes the position of `over`. An object laid on a string keeps that string in
 * `text`: it may be the short form of a variant. A null laid on something `removes` it, whatever its name. */
void config_merge(struct json_node *base, struct json_node *over);

/* Follows a dotted path as far as the document goes. Returns the last node reached; `rest` gets what is left of the
 * path, "" when all of it was found. Keys may hold dots themselves: the longest that fits is taken. */
struct json_node *config_find(const struct config *config, const char *dotted_path, const char **rest);

#endif
