/* A map from 64-bit keys to numbers >= 0: open addressing, so that an entry costs tens of bytes and no allocation of
 * its own. It is looked up by key only; there is no order to go through it in. */
#ifndef ORRERY_CORE_KEY_MAP_H
#define ORRERY_CORE_KEY_MAP_H

#include <stddef.h>
#include <stdint.h>

struct key_entry {
    uint64_t key;
    int64_t value; /* negative: an empty place */
};

/* Zeroed, it is the empty map. */
struct key_map {
    struct key_entry *entries;
    size_t n, n_places; /* n_places: 0 or a power of two */
};

void key_map_fini(struct key_map *map);

/* The value of a key, or -1. */
int64_t key_map_find(const struct key_map *map, uint64_t key);

/* Sets the value (>= 0) of a key. Returns 0, or SIM_E_NOMEM with the map as it was. */
int key_map_set(struct key_map *map, uint64_t key, int64_t value);

/* Takes a key out; one that is not there may be. */
void key_map_remove(struct key_map *map, uint64_t key);

#endif
