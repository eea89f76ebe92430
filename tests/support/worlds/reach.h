/* What random worlds can reach: every key of the tables of fields, those of all alternatives included, and every
 * alternative of a family. A thing is known by the address that the tables have for it. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_REACH_H
#define ORRERY_TESTS_SUPPORT_WORLDS_REACH_H

#include "sim/core/config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REACH_LABEL_CHARS = 96, REACH_MAX = 2048 };

struct reach_item {
    const void *thing;             /* struct config_field, or the entry of an alternative */
    char label[REACH_LABEL_CHARS]; /* "cost.affine.decode.fixed"; "routing=random" */
    bool is_alternative;
    uint32_t n_drawn, n_valid; /* worlds, and those of them that are valid */
};

struct reach {
    size_t n;
    struct reach_item items[REACH_MAX];
};

/* Collects what lies below the fields. Alternatives that need a file are left out. */
void reach_init(struct reach *reach, const struct config_field *fields, const struct config_families *families);

/* The things of one world; a thing that is there twice counts once. */
struct reach_world {
    size_t n;
    const void *things[REACH_MAX];
};

/* The thing that an alternative is. */
const void *reach_thing(const struct config_alternative *alternative);

void reach_note(struct reach_world *world, const void *thing);

/* Counts a world, from several processes at once. */
void reach_count(struct reach *reach, const struct reach_world *world, bool is_valid);

/* The number of alternatives, or of keys, and of those in at least one valid world. */
void reach_sum(const struct reach *reach, bool of_alternatives, size_t *n, size_t *n_valid);

/* Whether a table requires a file, which random worlds do not have. */
bool reach_needs_file(const struct config_field *fields);

#endif
