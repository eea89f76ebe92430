/* Words for random worlds: what may stand at a key that takes a text, or as the name of a member of a map.
 *
 * The words of a key are those that the shipped scenarios have there. Where one of them is the name of a file in a
 * folder of configs, such as a GPU, all files of that folder are words of the key. A new key is known as soon as a
 * scenario uses it. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_WORDS_H
#define ORRERY_TESTS_SUPPORT_WORLDS_WORDS_H

#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <stdbool.h>
#include <stddef.h>

struct word {
    const char *key, *text;
};

struct words {
    struct arena arena;
    struct word *items;
    size_t n, capacity;
};

/* Keys of words that do not come from scenarios: LLMs of which a replica fits on one large GPU, and GPUs of which the
 * power is measured. */
#define WORDS_SMALL_LLM "llm that fits"
#define WORDS_POWERED_GPU "gpu with power"

/* Reads the folder `configs` below the current directory. Returns 0 or a negative code. */
int words_load(struct words *words);
void words_fini(struct words *words);

/* One of the words of a key, or NULL. */
const char *words_draw(const struct words *words, const char *key, struct rng *rng);

/* The same for the names of the members of the map at a key. */
const char *words_draw_name(const struct words *words, const char *map_key, struct rng *rng);

#endif
