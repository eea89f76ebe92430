/* Random worlds: scenarios as JSON, drawn from the tables of fields.
 *
 * A world begins as a skeleton (skeleton.h), whose parts fit together. The tables then complete it: keys that the
 * skeleton leaves to them, required keys, and a random selection of all other keys. A value is drawn within the limits
 * of its row, near its default, or in a range that is usual for its unit. No key and no policy is named here. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_DRAW_H
#define ORRERY_TESTS_SUPPORT_WORLDS_DRAW_H

#include "sim/core/config/config.h"
#include "sim/core/rng.h"
#include "tests/support/worlds/reach.h"
#include "tests/support/worlds/words.h"

#include <cjson/cJSON.h>

enum { DRAWING_MAX_USED = 64 };

struct drawing {
    struct rng rng;
    const struct config_families *families;
    const struct words *words;
    struct reach_world *reached;
    unsigned scalar_percent, section_percent; /* of the optional keys, how many are drawn */
    bool has_round_numbers;                   /* 1, 2 or 5 of a decimal unit, which meet in ties and at limits */
    int depth;
    size_t n_used; /* texts of this world, by key: others refer to them */
    struct word used[DRAWING_MAX_USED];
};

/* The world of a number under a seed, always the same one, to be deleted with cJSON_Delete. */
cJSON *draw_world(uint64_t seed, uint64_t number, const struct config_families *families, const struct words *words,
                  struct reach_world *reached);

/* For skeletons. */
bool drawing_chance(struct drawing *drawing, unsigned percent);
int64_t drawing_between(struct drawing *drawing, int64_t least, int64_t most);

/* Remembers a text of this world; one of those at a key, or NULL. */
void drawing_use(struct drawing *drawing, const char *key, const char *text);
const char *drawing_used(struct drawing *drawing, const char *key);

/* Draws the members of an object by their fields. A member "?" is one that must be there; "?3" has three items. */
void drawing_complete(struct drawing *drawing, const struct config_field *fields, cJSON *object);

/* Whether jobs of the default type have a plan of training. */
bool drawing_trains(const cJSON *world);

#endif
