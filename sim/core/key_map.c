#include "sim/core/key_map.h"

#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"

#include <stdbool.h>

void key_map_fini(struct key_map *map)
{
    mem_free(map->entries);
    *map = (struct key_map){0};
}

/* Where the search for a key begins. */
static size_t home(const struct key_map *map, uint64_t key)
{
    return (size_t)hash_mix(key) & (map->n_places - 1);
}

/* The place of a key, or the empty one where it would go. There are always empty ones. */
static size_t place_of(const struct key_map *map, uint64_t key)
{
    size_t place = home(map, key);
    while (map->entries[place].value >= 0 && map->entries[place].key != key) place = (place + 1) & (map->n_places - 1);
    return place;
}

int64_t key_map_find(const struct key_map *map, uint64_t key)
{
    return map->n == 0 ? -1 : map->entries[place_of(map, key)].value;
}

static int grow(struct key_map *map)
{
    struct key_map larger = {.n = map->n, .n_places = map->n_places == 0 ? 64 : 2 * map->n_places};
    if (larger.n_places > SIZE_MAX / sizeof *larger.entries) return SIM_E_NOMEM;
    larger.entries = mem_alloc(larger.n_places * sizeof *larger.entries);
    if (larger.entries == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < larger.n_places; i++) larger.entries[i].value = -1;
    for (size_t i = 0; i < map->n_places; i++)
        if (map->entries[i].value >= 0) larger.entries[place_of(&larger, map->entries[i].key)] = map->entries[i];
    mem_free(map->entries);
    *map = larger;
    return 0;
}

int key_map_set(struct key_map *map, uint64_t key, int64_t value)
{
    size_t place = map->n_places > 0 ? place_of(map, key) : 0;
    bool is_new = map->n_places == 0 || map->entries[place].value < 0;
    if (is_new && 4 * (map->n + 1) > 3 * map->n_places) {
        if (grow(map) != 0) return SIM_E_NOMEM;
        place = place_of(map, key);
    }
    map->entries[place] = (struct key_entry){key, value};
    map->n += is_new;
    return 0;
}

/* Moves back what lies behind the gap, where its search would otherwise end too early (Knuth, TAOCP 3, 6.4 R). */
void key_map_remove(struct key_map *map, uint64_t key)
{
    if (map->n == 0) return;
    size_t mask = map->n_places - 1, gap = place_of(map, key);
    if (map->entries[gap].value < 0) return;
    for (size_t place = (gap + 1) & mask; map->entries[place].value >= 0; place = (place + 1) & mask) {
        size_t from_home = (place - home(map, map->entries[place].key)) & mask;
        if (from_home < ((place - gap) & mask)) continue;
        map->entries[gap] = map->entries[place];
        gap = place;
    }
    map->entries[gap].value = -1;
    map->n--;
}
