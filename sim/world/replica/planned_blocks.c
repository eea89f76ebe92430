#include "sim/world/replica/planned_blocks.h"

#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"

#include <stdbool.h>

enum { FIRST_PLACES = 64 };

void planned_blocks_fini(struct planned_blocks *blocks)
{
    mem_free(blocks->places);
    *blocks = (struct planned_blocks){0};
}

void planned_blocks_empty(struct planned_blocks *blocks)
{
    blocks->base += blocks->n_prefills + 1;
    blocks->n_prefills = 0;
    blocks->n = 0;
}

static bool is_taken(const struct planned_blocks *blocks, size_t place)
{
    return blocks->places[place].stamp > blocks->base;
}

/* The place of a key, or the empty one where it would go (linear probing; Knuth, TAOCP 3, 6.4 L). */
static size_t place_of(const struct planned_blocks *blocks, uint64_t key)
{
    const size_t mask = blocks->n_places - 1;
    size_t place = (size_t)hash_mix(key) & mask;
    while (is_taken(blocks, place) && blocks->places[place].key != key) place = (place + 1) & mask;
    return place;
}

int32_t planned_blocks_find(const struct planned_blocks *blocks, uint64_t key)
{
    if (blocks->n == 0) return -1;
    const size_t place = place_of(blocks, key);
    return is_taken(blocks, place) ? (int32_t)(blocks->places[place].stamp - blocks->base - 1) : -1;
}

static int grow(struct planned_blocks *blocks)
{
    struct planned_blocks larger = *blocks;
    larger.n_places = blocks->n_places == 0 ? FIRST_PLACES : 2 * blocks->n_places;
    larger.places = mem_zalloc(larger.n_places, sizeof *larger.places);
    if (larger.places == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < blocks->n_places; i++)
        if (is_taken(blocks, i)) larger.places[place_of(&larger, blocks->places[i].key)] = blocks->places[i];
    mem_free(blocks->places);
    *blocks = larger;
    return 0;
}

int planned_blocks_add(struct planned_blocks *blocks, uint64_t key)
{
    if (2 * (blocks->n + 1) > blocks->n_places && grow(blocks) != 0) return SIM_E_NOMEM;
    const size_t place = place_of(blocks, key);
    if (is_taken(blocks, place)) return 0;
    blocks->places[place] = (struct planned_block){key, blocks->base + 1 + blocks->n_prefills};
    blocks->n++;
    return 0;
}
